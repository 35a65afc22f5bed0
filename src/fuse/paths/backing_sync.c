/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "fuse/paths/backing_sync.h"

#include "fuse/local/granted_file.h"

/* One for all who wait, and then the next. */
struct backing_sync {
	struct fs *fs;
	struct inode *inode;             /* a reference */
	struct list waiting;             /* struct backing_sync_wait.node */
	struct list next;                /* came since it began */
	struct backing_sync_wait *asker; /* who waits and whose credential the server is shown; NULL: he was killed */
	struct broker_call broker;
	struct uring_io local;
	struct granted_file *granted; /* a reference while the local sync is under way */
	struct nfs_call call;
	uint32_t written_locally; /* the inode's, before */
};

static struct backing_sync_wait *wait_of(struct list *pos)
{
	return CONTAINER_OF(pos, struct backing_sync_wait, node);
}

/* True if the transport or the rings have stopped. */
static bool is_end_of_mount(int error)
{
	return error == -ENOTCONN || error == -ECANCELED;
}

static void tell(struct list *told, int error)
{
	LIST_FOREACH (pos, told) {
		list_remove(pos);
		wait_of(pos)->done(wait_of(pos), error);
	}
}

static void start(struct backing_sync *b);

/* Tells these the answer, and goes on with those who wait still. */
static void finish(struct backing_sync *b, struct list *told, int error)
{
	struct inode *i = b->inode;
	bool again;

	{
		LOCKED(&i->lock);
		b->asker = NULL;
		list_splice(&b->waiting, &b->next);
		again = !list_empty(&b->waiting);
		if (!again)
			i->syncing = NULL;
	}
	tell(told, error);
	if (again) {
		start(b);
		return;
	}
	(void)inode_unref(b->fs->inodes, i);
	free(b);
}

/* The answer for all who waited when it was asked for. */
static void end(struct backing_sync *b, int error)
{
	struct inode *i = b->inode;
	struct list told;

	list_init(&told);
	if (error < 0 && !is_end_of_mount(error)) {
		write_log_fail(&i->writes, error);
		error = 0; /* who waits finds it there */
	} else if (error == 0) {
		LOCKED(&i->lock);
		if ((int32_t)(b->written_locally - i->synced_locally) > 0)
			i->synced_locally = b->written_locally;
	}
	{
		LOCKED(&i->lock);
		list_splice(&told, &b->waiting);
	}
	finish(b, &told, error);
}

/* The server does not let this credential do it. Where a reader asked only readers wait, who have written nothing. */
static void refused(struct backing_sync *b, int error)
{
	struct list told;

	list_init(&told);
	{
		LOCKED(&b->inode->lock);
		if (b->asker && !b->asker->writer) {
			list_splice(&told, &b->waiting);
			error = 0;
		} else if (b->asker) {
			list_remove(&b->asker->node);
			list_append(&told, &b->asker->node);
		}
	}
	finish(b, &told, error);
}

static void rpc_done(struct nfs_call *call)
{
	struct backing_sync *b = CONTAINER_OF(call, struct backing_sync, call);

	if (call->error == -EACCES || call->error == -EPERM)
		refused(b, call->error);
	else
		end(b, call->error);
}

/* With the inode's lock. */
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

/* Those who wait may go. COMMIT may not: the server's descriptor tells of a loss once. */
static bool rpc_given_up(struct nfs_call *call)
{
	struct backing_sync *b = CONTAINER_OF(call, struct backing_sync, call);
	struct list gone;

	list_init(&gone);
	{
		LOCKED(&b->inode->lock);
		take_given_up(b, &b->waiting, &gone);
		take_given_up(b, &b->next, &gone);
	}
	tell(&gone, -EINTR);
	return false;
}

/* With the inode's lock: a writer, as the server may refuse COMMIT to a reader. */
static struct backing_sync_wait *choose_asker(const struct backing_sync *b)
{
	LIST_FOREACH (pos, &b->waiting) {
		if (wait_of(pos)->writer)
			return wait_of(pos);
	}
	return wait_of(b->waiting.next);
}

static void sync_by_rpc(struct backing_sync *b)
{
	b->call = (struct nfs_call){.fh = b->inode->fh, .proc = NFS_COMMIT, .done = rpc_done, .given_up = rpc_given_up};
	{
		LOCKED(&b->inode->lock);
		granted_file_take_error(b->inode->granted, b->inode);
		b->asker = choose_asker(b);
		b->call.cred = *b->asker->cred;
	}
	transport_submit(b->fs->transport, &b->call);
}

static void on_local_sync(struct uring_io *io, ssize_t result)
{
	struct backing_sync *b = CONTAINER_OF(io, struct backing_sync, local);

	b->granted = granted_file_unref(b->granted);
	end(b, (int)result);
}

static void broker_done(struct broker_call *call, int error, const void *body)
{
	struct backing_sync *b = CONTAINER_OF(call, struct backing_sync, broker);
	const struct broker_status *status = body;

	/* The session ended, this id belongs to an earlier one, or too many commits wait there. */
	if (error < 0 || status->error == -ENOENT || status->error == -EAGAIN)
		sync_by_rpc(b);
	else
		end(b, status->error);
}

static void start(struct backing_sync *b)
{
	struct broker_commit body = {0};
	struct inode *i = b->inode;

	{
		LOCKED(&i->lock);
		if (open_mode_registered(&i->mode) > 0)
			body.backing_id = i->mode.backing_id;
		b->written_locally = i->written_locally;
	}
	if (body.backing_id != 0) {
		b->broker.done = broker_done;
		probe_send(b->fs->probe, &b->broker, BROKER_COMMIT, &body, sizeof(body));
		return;
	}
	b->granted = granted_file_of(b->fs, i);
	if (!b->granted) {
		sync_by_rpc(b);
		return;
	}
	b->local = (struct uring_io){.file = &b->granted->file, .done = on_local_sync};
	uring_sync(b->fs->uring, &b->local);
}

void backing_sync(struct fs *fs, struct inode *i, struct backing_sync_wait *w)
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
			b->fs = fs;
			b->inode = inode_ref(i);
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
