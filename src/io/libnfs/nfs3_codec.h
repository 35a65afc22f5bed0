/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Between struct nfs_call and libnfs: nfs3_encode.c sends a call on a context, nfs3_decode.c takes a
 * result apart. Only these know libnfs's argument structures, and that its functions are called *_async
 * (4, 5) or *_task (6 and later). Loop thread only.
 */
#pragma once

#include "io/server.h"

struct rpc_context;

/*
 * One sending of a call: libnfs's private data, from nfs3_encode() until libnfs has called back,
 * which it does for the last time when its context is destroyed. The call may end before.
 */
struct nfs3_ticket {
	struct list node;      /* in the call's list */
	struct nfs_call *call; /* NULL: nobody waits for this answer any more */
	struct connection *connection;
	void *buffer; /* what libnfs 6 and later read into or write from */
};

/*
 * Encodes the ticket's call with its credential and xid and queues it on the context; cb gets the
 * ticket as its private data. Equal calls become equal bytes. What the call points to is not needed
 * any more afterwards. -ENOMEM when libnfs could not queue it, -ENAMETOOLONG for what no server
 * takes, -ENOSPC for ACLs of more than NFS_ACL_SETTABLE entries; then cb is not called.
 */
int nfs3_encode(struct rpc_context *rpc, struct nfs3_ticket *ticket,
	void (*cb)(struct rpc_context *rpc, int status, void *data, void *private_data));

/*
 * Fills the call's results from what libnfs decoded, and error from the NFS status; what cannot be
 * is -EIO. Returns true when the status is JUKEBOX: the call is to be sent again later. Results may
 * point into data and into the ticket's buffer. *ret_allocation is to be freed after done().
 */
bool nfs3_decode(struct nfs_call *call, void *data, void *buffer, void **ret_allocation);

/*
 * A failed RPC as the errno that the kernel's client has for it (net/sunrpc/clnt.c
 * rpc_decode_header), from what libnfs says of it; 0 when the server has not answered.
 */
int nfs3_denial(const char *text);
