/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The TCP sockets for probes: they listen on probeport=, at exactly the addresses on which the NFS server listens.
 *
 * Two kinds of sockets are possible. Sockets from systemd (a .socket unit, sd_listen_fds(3)) outlive the sidecar, so
 * that no other process takes the port during a restart; the unit chooses their addresses, and rpc_server refuses
 * connections to other addresses than the NFS server's. Without such sockets the sidecar makes its own. If another
 * process has taken the port, any free port replaces it: clients learn the port from the reply to ANNOUNCE.
 *
 * Belongs to the RPC thread; the main thread initialises it.
 */
#pragma once

#include "sidecar/host/nfs_server.h"

struct probe_listener {
	struct nfs_listener at; /* unset for an inherited socket */
	int fd;                 /* non-blocking */
};

struct probe_listeners {
	uint16_t wanted; /* probeport= */
	uint16_t port;   /* the port of the sockets; 0 without sockets, and while the NFS server does not listen */
	bool inherited;  /* the sockets are from systemd */
	struct probe_listener list[NFS_SERVER_MAX_LISTENERS];
	unsigned count;
	struct nfs_listener server[NFS_SERVER_MAX_LISTENERS]; /* the NFS server's listeners */
	unsigned nserver;
	int last_error; /* the last error, so that the log has each error once, not every second */
};

/* Takes over the sockets that systemd passed to this process, if any. wanted: the port for own sockets. */
void probe_listeners_init(struct probe_listeners *l, uint16_t wanted);
void probe_listeners_done(struct probe_listeners *l);

/* Opens and closes own sockets, so that they follow the listeners of the NFS server on nfs_port. */
void probe_listeners_follow(struct probe_listeners *l, uint16_t nfs_port);
