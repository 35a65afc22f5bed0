/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Between struct nfs_call and libnfs: sends a call on a context and takes a result apart. The only
 * file that knows libnfs's argument structures, and that its functions are called *_async (4, 5)
 * or *_task (6 and later). Loop thread only.
 */
#pragma once

#include "io/transport.h"

struct rpc_context;

/*
 * Encodes the call with its credential and queues it on the context; cb gets the call as its
 * private data. The call's memory must outlive the reply. -ENOMEM when libnfs could not queue it.
 */
int nfs3_encode(struct rpc_context *rpc, struct nfs_call *call,
	void (*cb)(struct rpc_context *rpc, int status, void *data, void *private_data));

/*
 * Fills the call's results from what libnfs decoded, and error from the NFS status. Returns true
 * when the status is JUKEBOX: the call is to be sent again later. Results may point into data.
 */
bool nfs3_decode(struct nfs_call *call, void *data);

/* Frees what encoding made for a reply that did not come, or is not to be used. */
void nfs3_discard(struct nfs_call *call);

/* What a decoded call's results hold allocated, NULL for most: to be freed after done(). */
void *nfs3_allocation(const struct nfs_call *call);
