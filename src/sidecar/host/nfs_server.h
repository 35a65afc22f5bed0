/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The NFS server as this network namespace sees it: where it listens, and who is connected to it.
 * Asked of the kernel by netlink (sock_diag(7)), so it holds for any server.
 *
 * Any thread: a socket is made and closed inside each call.
 */
#pragma once

#include "net/ip_address.h"
#include "base/util.h"

#define NFS_DEFAULT_PORT         2049
#define NFS_SERVER_MAX_LISTENERS 16

struct nfs_listener {
	struct ip_address address; /* all zero bits for a wildcard */
	bool ipv4;                 /* the socket's family */
	bool v6only;
};

/* The number of TCP sockets that listen on port (at most NFS_SERVER_MAX_LISTENERS), or an errno. */
int nfs_server_listeners(uint16_t port, struct nfs_listener ret[NFS_SERVER_MAX_LISTENERS]);

/*
 * True if a connection that came in at this address of ours came in at one of the listeners. No other process listens
 * on the same port of such an address meanwhile.
 */
bool nfs_listeners_cover(const struct nfs_listener *list, unsigned n, const struct ip_address *own);

/* The peers of established TCP connections, each address one time, in the order of the bytes. */
struct nfs_clients {
	struct ip_address *list;
	size_t count;
};

/*
 * Sets *c to the clients that came in at these listeners, on their port. On failure *c is as before. The uid that the
 * kernel shows of such a connection says nothing: an accepted socket of knfsd has that of the user whose request the
 * thread carried out before (nfsd_setuser(), sock_alloc()).
 */
int nfs_clients_look(struct nfs_clients *c, uint16_t port, const struct nfs_listener *list, unsigned n);
bool nfs_clients_have(const struct nfs_clients *c, const struct ip_address *peer);
void nfs_clients_done(struct nfs_clients *c);

/* 1 when peer is among the clients of the server on that port, 0 when not, or an errno. */
int nfs_server_has_client(uint16_t port, const struct ip_address *peer);
