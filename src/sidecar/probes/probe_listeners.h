/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Where probes come in: TCP sockets that listen on probeport=, at exactly the addresses that the NFS server listens on.
 *
 * Two kinds. Sockets that systemd made (a .socket unit, sd_listen_fds(3)) outlive the sidecar, so that nobody takes the
 * port while the sidecar is away; they listen at addresses of the unit's choice, and what comes in at another one
 * than the NFS server's is refused. Otherwise the sidecar makes the sockets itself. Where another process has
 * taken the port, any free one replaces it: clients learn the port from the answer to ANNOUNCE.
 *
 * The RPC thread's own, but for its start.
 */
#pragma once

#include "sidecar/host/nfs_server.h"

struct probe_listener {
	struct nfs_listener at; /* not of an inherited socket */
	int fd;                 /* non-blocking */
};

struct probe_listeners {
	uint16_t wanted; /* probeport= */
	uint16_t port;   /* the port of the sockets below; 0 while there is none or the NFS server does not listen */
	bool inherited;
	struct probe_listener list[NFS_SERVER_MAX_LISTENERS];
	unsigned count;
	struct nfs_listener server[NFS_SERVER_MAX_LISTENERS]; /* where the NFS server listens */
	unsigned nserver;
	int last_error; /* said once, not every second */
};

/* Takes over what systemd passed to this process, if anything. */
void probe_listeners_init(struct probe_listeners *l, uint16_t wanted);
void probe_listeners_done(struct probe_listeners *l);

/* Brings the sockets in line with the NFS server's, whose port this is. */
void probe_listeners_follow(struct probe_listeners *l, uint16_t nfs_port);
