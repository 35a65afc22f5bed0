/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The translation between struct nfs_call and libnfs's structures: nfs3_encode.c queues a call on a context,
 * nfs3_decode.c reads a result; nfs4_looks.c does both for NFSv4. Only these files know libnfs's argument structures,
 * and that libnfs's functions are called *_async (4, 5) or *_task (6 and later). Loop thread only.
 */
#pragma once

#include "io/server.h"

struct rpc_context;

/*
 * One sending of a call, and libnfs's private data for this sending. It lives from nfs3_encode() until libnfs calls
 * back, at the latest when the context is destroyed. The call may end earlier.
 */
struct nfs3_ticket {
	struct list node;      /* in nfs_call.wire.tickets */
	struct nfs_call *call; /* NULL if the call has ended */
	struct connection *connection;
	void *buffer; /* for the data of READ and WRITE; libnfs 6 and later */
};

/*
 * Encodes the ticket's call with the call's credential and xid, and queues the bytes on the context. cb gets the ticket
 * as its private data. Equal calls become equal bytes. The names and data of the call are copied. Returns -ENOMEM if
 * libnfs could not queue the call, -ENAMETOOLONG for names that no server accepts, -ENOSPC for ACLs of more than
 * NFS_ACL_SETTABLE entries; after an error cb is not called.
 */
int nfs3_encode(struct rpc_context *rpc, struct nfs3_ticket *ticket,
	void (*cb)(struct rpc_context *rpc, int status, void *data, void *private_data));

/*
 * Sets the call's results from the data that libnfs decoded, and the call's error from the NFS status; an impossible
 * result is -EIO. True if the status is JUKEBOX: then the call must be sent again later. Results may point into data
 * and into the ticket's buffer. The caller frees *ret_allocation after done().
 */
bool nfs3_decode(struct nfs_call *call, void *data, void *buffer, void **ret_allocation);

/* nfs4_looks.c: the same for COMPOUND, of NFSv4. A COMPOUND that is answered has no error; its looks have theirs. */
int nfs4_encode_looks(struct rpc_context *rpc, struct nfs3_ticket *ticket,
	void (*cb)(struct rpc_context *rpc, int status, void *data, void *private_data));
void nfs4_decode_looks(struct nfs_call *call, const void *data);

/*
 * Translates libnfs's text about a failed RPC into the errno of the kernel's client (net/sunrpc/clnt.c
 * rpc_decode_header). Returns 0 if the text says that the server has not answered.
 */
int nfs3_denial(const char *text);
