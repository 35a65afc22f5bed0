/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "fuse/paths/backing_sync.h"

#include "fuse/paths/path_request.h"

/* One fsync for all callers that wait for it, and then the next. */
struct backing_sync {
	struct path_sync sync;           /* with a reference to the inode */
	struct list waiting;             /* struct backing_sync_wait.node */
	struct list next;                /* came since the fsync began */
	struct backing_sync_wait *asker; /* the caller whose credential the server sees; NULL: none, or it was killed */
	uint32_t written_locally;        /* the inode's, before the fsync */
};

static struct backing_sync *of(struct path_sync *p)
{
	return CONTAINER_OF(p, struct backing_sync, sync);
}

static struct backing_sync_wait *wait_of(struct list *pos)
{
	return CONTAINER_OF(pos, struct backing_sync_wait, node);
}

/* True if the connection to the server or the rings have stopped. */
static bool is_end_of_mount(int error)
{
	return error == -ENOTCONN || error == -ECANCELED;
}

static void answer(const struct backing_sync *b, struct list *answered, int error)
{
	LIST_FOREACH (pos, answered) {
		list_remove(pos);
		wait_of(pos)->counted = b->sync.way.path->counted;
		wait_of(pos)->done(wait_of(pos), error);
	}
}

static void start(struct backing_sync *b);

/* Answers these callers, and goes on for those that still wait. */
static void finish(struct backing_sync *b, struct list *answered, int error)
{
	struct inode *i = b->sync.inode;
	bool again;

	{
		LOCKED(&i->lock);
		b->asker = NULL;
		list_splice(&b->waiting, &b->next);
		again = !list_empty(&b->waiting);
		if (!again)
			i->syncing = NULL;
	}
	answer(b, answered, error);
	if (again) {
		start(b);
		return;
	}
	(void)inode_unref(b->sync.fs->inodes, i);
	free(b);
}

/* The answer for all callers that waited when the fsync began. */
static void on_sync(struct path_sync *p, int error)
{
	struct backing_sync *b = of(p);
	struct inode *i = p->inode;
	struct list answered;

	list_init(&answered);
	if (error < 0 && !is_end_of_mount(error)) {
		write_log_fail(&i->writes, error);
		error = 0; /* the callers find the error in the log */
	} else if (error == 0 && !p->data_only) {
		LOCKED(&i->lock);
		if ((int32_t)(b->written_locally - i->synced_locally) > 0)
			i->synced_locally = b->written_locally;
	}
	{
		LOCKED(&i->lock);
		list_splice(&answered, &b->waiting);
	}
	finish(b, &answered, error);
}

/*
 * The server does not let this credential commit. Where a reader was the asker only readers wait, which have written
 * nothing.
 */
static void on_refusal(struct path_sync *p, int error)
{
	struct backing_sync *b = of(p);
	struct list answered;

	list_init(&answered);
	{
		LOCKED(&p->inode->lock);
		if (b->asker && !b->asker->writer) {
			list_splice(&answered, &b->waiting);
			error = 0;
		} else if (b->asker) {
			list_remove(&b->asker->node);
			list_append(&answered, &b->asker->node);
		}
	}
	finish(b, &answered, error);
}

/* The caller holds the inode's lock. */
static void take_given_up(struct backing_sync *b, const struct list *from, struct list *gone)
{
	LIST_FOREACH (pos, from) {
		if (!patience_ended(&wait_of(pos)->patience))
			continue;
		if (b->asker == wait_of(pos))
			b->asker = NULL;
		list_remove(pos);
		list_append(gone, pos);
	}
}

/* The callers may go. COMMIT may not: the server's descriptor tells of a loss once. */
static bool commit_given_up(struct nfs_call *call)
{
	struct backing_sync *b = CONTAINER_OF(call, struct backing_sync, sync.call);
	struct list gone;

	list_init(&gone);
	{
		LOCKED(&b->sync.inode->lock);
		take_given_up(b, &b->waiting, &gone);
		take_given_up(b, &b->next, &gone);
	}
	answer(b, &gone, -EINTR);
	return false;
}

/* A writer, as the server may refuse COMMIT to a reader. The caller holds the inode's lock. */
static const struct nfs_cred *choose_asker(struct path_sync *p)
{
	struct backing_sync *b = of(p);

	b->asker = wait_of(b->waiting.next);
	LIST_FOREACH (pos, &b->waiting) {
		if (wait_of(pos)->writer) {
			b->asker = wait_of(pos);
			break;
		}
	}
	return b->asker->cred;
}

/* True if no caller that waits has called fsync(2). The caller holds the inode's lock. */
static bool all_want_data_only(const struct backing_sync *b)
{
	LIST_FOREACH (pos, &b->waiting)
		if (!wait_of(pos)->data_only)
			return false;
	return true;
}

static void start(struct backing_sync *b)
{
	struct inode *i = b->sync.inode;

	{
		LOCKED(&i->lock);
		b->written_locally = i->written_locally;
		b->sync.data_only = all_want_data_only(b);
	}
	b->sync.way = data_path_choose(b->sync.fs, i, NULL, DATA_SYNC);
	b->sync.way.path->sync(&b->sync);
}

void backing_sync_request(struct fs *fs, struct inode *i, struct backing_sync_wait *w)
{
	struct backing_sync *b;

	{
		LOCKED(&i->lock);
		if (i->syncing) {
			list_append(&i->syncing->next, &w->node);
			return;
		}
		b = calloc(1, sizeof(*b));
		if (b) {
			b->sync = (struct path_sync){.fs = fs,
				.inode = inode_ref(i),
				.given_up = commit_given_up,
				.choose_asker = choose_asker,
				.done = on_sync,
				.refused = on_refusal};
			list_init(&b->waiting);
			list_init(&b->next);
			list_append(&b->waiting, &w->node);
			i->syncing = b;
		}
	}
	if (b)
		start(b);
	else
		w->done(w, -ENOMEM);
}
