/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The NFS server as this network namespace sees it: where it listens, and who is connected to it.
 * Asked of the kernel by netlink (sock_diag(7)), so it holds for any server.
 *
 * Any thread: a socket is made and closed inside each call.
 */
#pragma once

#include "sidecar/ip_address.h"
#include "util.h"

#define NFS_DEFAULT_PORT         2049
#define NFS_SERVER_MAX_LISTENERS 16

struct nfs_listener {
	struct ip_address address; /* all zero bits for a wildcard */
	bool ipv4;                 /* the socket's family */
	bool v6only;
};

/* The number of TCP sockets that listen on port (at most NFS_SERVER_MAX_LISTENERS), or an errno. */
int nfs_server_listeners(uint16_t port, struct nfs_listener ret[NFS_SERVER_MAX_LISTENERS]);

/* 1 when peer holds an established TCP connection to the server's port, 0 when not, or an errno. */
int nfs_server_has_client(uint16_t port, const struct ip_address *peer);
