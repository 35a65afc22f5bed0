/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "fuse/shortcut/change.h"

#include "fuse/known/known.h"

#define SIGHT_TOUCHES 64 /* of one directory for one change; another client may change it all the time */

/* A change that is made, and is answered when the server has seen it. Freed by the answer. */
struct sight {
	struct changes *changes;
	struct nfs_call *call;
	struct nfs_call step; /* the sight's own, under way */
	struct nfs_fh child;
	struct timespec mtimes[2];
	unsigned place; /* 0: call->fh and name; 1: call->fh2 and name2 */
	unsigned touches;
};

/* A touch that nobody waits for. Freed by its answer. */
struct touch {
	struct changes *changes;
	struct nfs_call call;
};

static void look_up(struct sight *s);

static struct sight *sight_of(struct nfs_call *step)
{
	return CONTAINER_OF(step, struct sight, step);
}

static void end(struct sight *s)
{
	struct nfs_call *call = s->call;

	free(s);
	call->done(call);
}

static bool on_given_up(struct nfs_call *step)
{
	struct nfs_call *call = sight_of(step)->call;

	return call->given_up && call->given_up(call);
}

/* A call that gives the directory the present time as its mtime: who may change its names may do that. */
static struct nfs_call touching(const struct nfs_fh *dir, const struct nfs_cred *taker,
	void (*done)(struct nfs_call *call))
{
	return (struct nfs_call){.proc = NFS_SETATTR,
		.fh = *dir,
		.cred = *taker,
		.args.sattr = {.set_atime = true, .set_mtime = true, .atime_now = true, .mtime_now = true},
		.done = done};
}

/* Sends a touch. False without a session: the NFS server's own touch would change nothing in its memory. */
static bool send_touch(struct changes *cs, struct nfs_call *call)
{
	uint64_t generation = fs_generation(cs->fs);

	return generation != 0 && changes_take(cs, call, generation);
}

/* The directory's remembered attributes are from before the touch. */
static void touched(struct changes *cs, const struct nfs_fh *dir)
{
	struct inode *i = inode_table_find(cs->fs->inodes, dir);

	cs->fs->counters.refreshes_touched++;
	if (i)
		known_doubt(i);
	(void)inode_unref(cs->fs->inodes, i);
}

/* ---- changes whose answer waits ---- */

static const struct nfs_fh *directory_of(const struct sight *s)
{
	return s->place == 0 ? &s->call->fh : &s->call->fh2;
}

/* The name is as it should be, or the server cannot be made to see more. */
static void go_on(struct sight *s)
{
	s->place++;
	s->touches = 0;
	if (s->place == 1 && s->call->proc == NFS_RENAME)
		look_up(s);
	else
		end(s);
}

static void on_touched(struct nfs_call *step)
{
	struct sight *s = sight_of(step);

	touched(s->changes, &step->fh);
	if (step->error < 0)
		go_on(s);
	else
		look_up(s);
}

static void on_looked_up(struct nfs_call *step)
{
	struct sight *s = sight_of(step);

	if (step->error < 0 && step->error != -ENOENT) {
		end(s);
		return;
	}
	if (step->error == -ENOENT || nfs_fh_equal(&step->new_fh, &s->child) == (s->place == 1) ||
		s->touches == SIGHT_TOUCHES) {
		go_on(s);
		return;
	}
	s->touches++;
	s->step = touching(directory_of(s), &s->call->cred, on_touched);
	s->step.given_up = on_given_up;
	if (!send_touch(s->changes, &s->step))
		go_on(s);
}

/* A memory_submit_fn: the server has looked at the directory. */
static void ask(struct server *nfs, struct nfs_call *step)
{
	struct sight *s = sight_of(step);
	struct changes *cs = s->changes;

	if (s->touches == 0 && known_company(cs->fs, &step->fh) == COMPANY_NONE &&
		memory_has_seen(cs->memory, &step->fh, &s->mtimes[s->place]))
		go_on(s);
	else
		server_submit(nfs, step);
}

static void look_up(struct sight *s)
{
	const struct nfs_call *call = s->call;

	s->step = (struct nfs_call){.proc = NFS_LOOKUP,
		.cred = call->cred,
		.fh = *directory_of(s),
		.name = s->place == 0 ? call->name : call->name2,
		.patience_ms = call->patience_ms,
		.given_up = on_given_up,
		.done = on_looked_up};
	memory_submit(s->changes->memory, &s->step, ask);
}

bool sight_begin(struct changes *cs, struct nfs_call *call, const struct nfs_fh *child, const struct timespec mtimes[2])
{
	struct sight *s = calloc(1, sizeof(*s));

	if (!s)
		return false;
	s->changes = cs;
	s->call = call;
	s->child = *child;
	s->mtimes[0] = mtimes[0];
	s->mtimes[1] = mtimes[1];
	look_up(s);
	return true;
}

/* ---- touches that nobody waits for ---- */

static void on_touch_answered(struct nfs_call *call)
{
	struct touch *t = CONTAINER_OF(call, struct touch, call);

	touched(t->changes, &call->fh);
	free(t);
}

bool sight_touch(void *changes, const struct nfs_fh *dir, const struct nfs_cred *taker)
{
	struct changes *cs = changes;
	struct touch *t;

	/* That change tells the directory's mtime, and the server looks once more. */
	if (changes_are_under_way(cs, dir))
		return false;
	t = calloc(1, sizeof(*t));
	if (!t)
		return false;
	t->changes = cs;
	t->call = touching(dir, taker, on_touch_answered);
	if (send_touch(cs, &t->call))
		return true;
	free(t);
	return false;
}
