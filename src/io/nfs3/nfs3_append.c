/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "io/nfs3/nfs3_sequences.h"

struct appending {
	struct nfs_call end; /* GETATTR */
	struct nfs_call *call;
	struct server *server;
};

static bool on_given_up(struct nfs_call *end)
{
	struct nfs_call *call = CONTAINER_OF(end, struct appending, end)->call;

	return call->given_up && call->given_up(call);
}

static void on_end_known(struct nfs_call *end)
{
	struct appending a = *CONTAINER_OF(end, struct appending, end);

	free(CONTAINER_OF(end, struct appending, end));
	if (a.end.error < 0) {
		a.call->error = a.end.error;
		a.call->done(a.call);
		return;
	}
	a.call->args.io.offset = a.end.attr.size;
	a.call->args.io.append = false;
	server_submit(a.server, a.call);
}

void nfs3_append(struct server *server, struct nfs_call *call)
{
	struct appending *a = malloc(sizeof(*a));

	if (!a) {
		call->error = -ENOMEM;
		call->done(call);
		return;
	}
	*a = (struct appending){.call = call, .server = server};
	a->end = (struct nfs_call){.proc = NFS_GETATTR,
		.cred = call->cred,
		.fh = call->fh,
		.patience_ms = call->patience_ms,
		.given_up = on_given_up,
		.done = on_end_known};
	server_submit(server, &a->end);
}
