/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "fuse/shortcut/change.h"

static struct doubt *doubt_of(struct nfs_call *step)
{
	return CONTAINER_OF(step, struct doubt, step);
}

/* What the change did to the directories is not known. */
static void end(struct doubt *d, int error)
{
	struct nfs_call *call = d->call;

	call->dir = call->dir2 = (struct nfs_wcc){0};
	call->has_attr = error == 0 && call->proc == NFS_LINK && d->step.has_attr;
	if (call->has_attr)
		call->attr = d->step.attr;
	call->by_sidecar = false;
	call->error = error;
	d->ended(d);
	call->done(call);
}

static void repeat(struct doubt *d)
{
	struct nfs_call *call = d->call;
	struct memory *memory = d->memory;

	d->ended(d);
	to_server(memory, call);
}

static bool on_given_up(struct nfs_call *step)
{
	struct nfs_call *call = doubt_of(step)->call;

	return call->given_up && call->given_up(call);
}

static void look_up(struct doubt *d, const struct nfs_fh *fh, const char *name, void (*done)(struct nfs_call *step))
{
	d->step = (struct nfs_call){.proc = NFS_LOOKUP,
		.cred = d->call->cred,
		.fh = *fh,
		.name = name,
		.given_up = on_given_up,
		.done = done};
	to_server(d->memory, &d->step);
}

/* True if the NFS server has answered whether the name is there; otherwise the doubt has ended. */
static bool is_answered(struct doubt *d)
{
	if (d->step.error == 0 || d->step.error == -ENOENT)
		return true;
	end(d, d->step.error);
	return false;
}

static bool is(const struct doubt *d, const struct nfs_fh *fh)
{
	return d->step.error == 0 && nfs_fh_equal(&d->step.new_fh, fh);
}

static void on_removed_looked_up(struct nfs_call *step)
{
	struct doubt *d = doubt_of(step);

	if (!is_answered(d))
		return;
	if (is(d, &d->child))
		repeat(d);
	else
		end(d, 0);
}

static void on_link_looked_up(struct nfs_call *step)
{
	struct doubt *d = doubt_of(step);

	if (!is_answered(d))
		return;
	if (is(d, &d->call->fh))
		end(d, 0);
	else
		repeat(d);
}

static void on_old_looked_up(struct nfs_call *step)
{
	struct doubt *d = doubt_of(step);

	if (!is_answered(d))
		return;
	if (is(d, &d->child))
		repeat(d);
	else
		end(d, -ENOENT);
}

static void on_new_looked_up(struct nfs_call *step)
{
	struct doubt *d = doubt_of(step);

	if (!is_answered(d))
		return;
	if (is(d, &d->child))
		end(d, 0);
	else
		look_up(d, &d->call->fh, d->call->name, on_old_looked_up);
}

void doubt_begin(struct doubt *d)
{
	const struct nfs_call *call = d->call;

	switch (call->proc) {
	case NFS_REMOVE:
	case NFS_RMDIR:
		look_up(d, &call->fh, call->name, on_removed_looked_up);
		break;
	case NFS_RENAME:
		look_up(d, &call->fh2, call->name2, on_new_looked_up);
		break;
	case NFS_LINK:
		look_up(d, &call->fh2, call->name, on_link_looked_up);
		break;
	default:
		repeat(d);
		break;
	}
}
