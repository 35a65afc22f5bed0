/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The NFS server's sockets in this network namespace: the listeners, and the connected clients. The kernel lists them
 * by netlink (sock_diag(7)), so the functions work with any server.
 *
 * Any thread may call the functions: each call makes and closes its own netlink socket.
 */
#pragma once

#include "net/ip_address.h"
#include "base/util.h"

#define NFS_DEFAULT_PORT         2049
#define NFS_SERVER_MAX_LISTENERS 16

struct nfs_listener {
	struct ip_address address; /* all bits are zero for a wildcard */
	bool ipv4;                 /* the socket's family */
	bool v6only;
};

/* The number of TCP sockets that listen on port (at most NFS_SERVER_MAX_LISTENERS), or a negative errno. */
int nfs_server_listeners(uint16_t port, struct nfs_listener ret[NFS_SERVER_MAX_LISTENERS]);

/*
 * True if a connection with this local address came in at one of the listeners. While a listener covers an address, no
 * other process can listen on the same port of that address.
 */
bool nfs_listeners_cover(const struct nfs_listener *list, unsigned n, const struct ip_address *own);

/* The peers of established TCP connections: each address once, in the order of the bytes. */
struct nfs_clients {
	struct ip_address *list;
	size_t count;
};

/*
 * Sets *c to the clients that are connected to these listeners on port. On failure *c is unchanged. The uid of a
 * connection is ignored: an accepted socket of knfsd has the uid of the user whose request the nfsd thread handled
 * before (nfsd_setuser(), sock_alloc()).
 */
int nfs_clients_look(struct nfs_clients *c, uint16_t port, const struct nfs_listener *list, unsigned n);
/* True if peer is one of the clients. */
bool nfs_clients_have(const struct nfs_clients *c, const struct ip_address *peer);
void nfs_clients_done(struct nfs_clients *c);

/* 1 if peer is a client of the server on that port, 0 if not, or a negative errno. */
int nfs_server_has_client(uint16_t port, const struct ip_address *peer);
