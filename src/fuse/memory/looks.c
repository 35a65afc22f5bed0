/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "fuse/memory/looks.h"

#include "base/log.h"
#include "fuse/local/server_refresh.h"

/* Looks that travel in one COMPOUND. Freed by its answer. */
struct batch {
	struct nfs_call call;
	struct looks *looks;
	struct nfs_call *members[NFS_LOOKS_MAX];
	struct nfs_look asked[NFS_LOOKS_MAX]; /* of the members */
};

/* Judges the answer to one look, and sets its error. False if it must be sent again, alone. */
static bool is_answered(struct looks *looks, struct nfs_call *call)
{
	int r = server_looked(looks->fs, call);

	if (r == -EAGAIN)
		return false;
	call->error = r;
	return true;
}

static void on_single(struct nfs_call *call)
{
	struct looks *looks = CONTAINER_OF(call, struct look_request, call)->looks;
	struct list answered;

	if (!is_answered(looks, call)) {
		server_submit(looks->nfs, call);
		return;
	}
	list_init(&answered);
	list_append(&answered, &call->node);
	looks->answered(looks, &answered);
}

void looks_prepare(struct looks *looks, struct look_request *r)
{
	r->looks = looks;
	r->together = false;
	r->call.done = on_single;
	server_look(looks->fs, &r->call);
}

/* ---- COMPOUND ---- */

static struct batch *batch_of(struct nfs_call *call)
{
	return CONTAINER_OF(call, struct batch, call);
}

/* Each member is asked: the question has effects (memory.c). */
static bool batch_given_up(struct nfs_call *call)
{
	struct batch *b = batch_of(call);
	bool given_up = false;

	for (unsigned n = 0; n < call->args.looks.count; n++)
		given_up |= b->members[n]->given_up(b->members[n]);
	return given_up;
}

/* True if the error is the server's word on COMPOUND, not on the looks. */
static bool is_refusal(int error)
{
	return error < 0 && error != -EINTR && error != -ETIMEDOUT && error != -ENOTCONN;
}

static void take_answer(struct nfs_call *member, const struct nfs_look *answer)
{
	CONTAINER_OF(member, struct look_request, call)->together = answer->error == 0;
	member->error = answer->error;
	member->res.acl = (struct nfs_acls){.access_count = answer->has_acl};
	member->has_attr = answer->has_mtime;
	member->attr.mtime = answer->mtime;
}

void looks_distrust(struct looks *looks)
{
	looks->refusals = LOOKS_REFUSALS;
	log_debug("%s: the NFS server answers requests about several files from its memory", looks->fs->spec);
}

static void count_refusals(struct looks *looks, bool refused)
{
	if (looks->refusals >= LOOKS_REFUSALS)
		return;
	if (!refused)
		looks->refusals = 0;
	else if (++looks->refusals == LOOKS_REFUSALS)
		log_debug("%s: the NFS server does not look at several files by one request", looks->fs->spec);
}

static void on_batch(struct nfs_call *call)
{
	struct batch *b = batch_of(call);
	struct looks *looks = b->looks;
	struct list answered, again;
	bool refused = is_refusal(call->error), any = false;

	list_init(&answered);
	list_init(&again);
	for (unsigned n = 0; n < call->args.looks.count; n++) {
		struct nfs_call *member = b->members[n];

		if (call->error < 0)
			b->asked[n] = (struct nfs_look){.error = refused ? -EAGAIN : call->error};
		any |= b->asked[n].error != -EAGAIN;
		take_answer(member, &b->asked[n]);
		if (b->asked[n].error != -EAGAIN && is_answered(looks, member))
			list_append(&answered, &member->node);
		else
			list_append(&again, &member->node);
	}
	free(b);
	count_refusals(looks, !any);
	server_submit_all(looks->nfs, &again);
	if (!list_empty(&answered))
		looks->answered(looks, &answered);
}

static bool may_batch(const struct looks *looks)
{
	return looks->nfs->abilities.looks && looks->refusals < LOOKS_REFUSALS && !looks->fs->has_acls &&
	       !looks->fs->looks_by_commit;
}

/* Moves calls into one COMPOUND. NULL without memory. */
static struct nfs_call *batch_new(struct looks *looks, struct list *calls)
{
	const struct nfs_call *first = CONTAINER_OF(calls->next, struct nfs_call, node);
	struct batch *b = calloc(1, sizeof(*b));
	unsigned n = 0;

	if (!b)
		return NULL;
	b->looks = looks;
	b->call = (struct nfs_call){.proc = NFS_COMPOUND,
		.cred = first->cred,
		.patience_ms = first->patience_ms,
		.may_be_gone = true,
		.given_up = batch_given_up,
		.args.looks.looks = b->asked,
		.done = on_batch};
	for (; n < NFS_LOOKS_MAX && !list_empty(calls); n++) {
		struct nfs_call *member = CONTAINER_OF(calls->next, struct nfs_call, node);

		list_remove(&member->node);
		b->members[n] = member;
		b->asked[n].fh = &member->fh;
	}
	b->call.args.looks.count = n;
	return &b->call;
}

void looks_send(struct looks *looks, struct list *calls)
{
	struct list out;

	list_init(&out);
	/* One call alone, and calls for which there is no memory, stay what they are. */
	while (may_batch(looks) && !list_empty(calls) && calls->next != calls->prev) {
		struct nfs_call *batch = batch_new(looks, calls);

		if (!batch)
			break;
		list_append(&out, &batch->node);
	}
	list_splice(&out, calls);
	server_submit_all(looks->nfs, &out);
}
