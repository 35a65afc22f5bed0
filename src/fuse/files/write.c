/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Data that is written through the daemon, and made stable: WRITE, FLUSH, FSYNC. A file on the passthrough
 * path reaches here only for the latter. Where the sidecar sent a descriptor for that (granted_file.h), data goes to
 * the backing file, and to the server when that fails: it says what is wrong.
 *
 * A WRITE to the server ends without its writer when the writer was killed: a server that carried it out late could
 * overwrite newer data.
 */
#include "fuse/files/handlers.h"
#include "fuse/request/request.h"

#include <fcntl.h>
#include <string.h>

#include "fuse/paths/backing_sync.h"
#include "fuse/fs/file.h"
#include "fuse/local/granted_file.h"
#include "fuse/local/server_refresh.h"
#include "fuse/paths/inode_writes.h"
#include "base/log.h"
#include "fuse/locks/locks.h"

/*
 * One FUSE WRITE that is answered when it is done. The RPC and its data are a data_write of their own, which the write
 * log keeps until the data is stable, when the server said UNSTABLE.
 */
struct write_request {
	struct request r;
	struct uring_io here;
	struct granted_file *granted; /* what it is written by here */
	char *copy;                   /* of the data, unless the ring that brought it keeps it: */
	struct iovec payload;
	struct stable_wait wait;
	struct behind_writer writer;
	struct list append_node;
	struct data_write *w;
	uint64_t offset;
	size_t size;
	size_t done;
	bool unstable; /* some of it */
	bool mixed;    /* parts were answered with different verifiers */
	bool appends;
	bool of_mapping; /* a page that the kernel writes back */
	bool to_disk;    /* before it is answered */
};

static struct write_request *from_write(struct nfs_call *call)
{
	return CONTAINER_OF(call, struct data_write, call)->owner;
}

static void append_next(struct inode *i);

static void end_write(struct write_request *q, int error)
{
	struct fs *fs = q->r.fs;
	struct inode *i = q->appends ? inode_ref(q->r.inode) : NULL;

	if (q->r.req && error < 0)
		(void)fuse_reply_err(q->r.req, -error);
	else if (q->r.req) {
		if (!q->of_mapping)
			known_attributes_written(q->r.inode);
		(void)fuse_reply_write(q->r.req, q->size);
	}
	request_end(&q->r);
	if (i) {
		append_next(i);
		(void)inode_unref(fs->inodes, i);
	}
}

static void write_committed(struct stable_wait *wait, int error)
{
	end_write(CONTAINER_OF(wait, struct write_request, wait), error);
}

/* Appends that wait for their turn have nothing with the transport that it could ask for them. */
static void end_given_up_appends(struct inode *i)
{
	struct list gone;

	list_init(&gone);
	{
		LOCKED(&i->lock);
		LIST_FOREACH (pos, &i->appends) {
			struct write_request *q = CONTAINER_OF(pos, struct write_request, append_node);

			if (!request_given_up(&q->r))
				continue;
			list_remove(pos);
			list_append(&gone, pos);
		}
	}
	LIST_FOREACH (pos, &gone) {
		struct write_request *q = CONTAINER_OF(pos, struct write_request, append_node);

		list_remove(pos);
		q->appends = false; /* it had no turn that the next one waits for */
		(void)write_log_answered(&i->writes, q->w, WRITE_FAILED);
		end_write(q, -EINTR);
	}
}

/*
 * The writer may go, the WRITE may not: the server could do it after something newer that nobody
 * then knows must wait for it.
 */
static bool write_given_up(struct nfs_call *call)
{
	struct write_request *q = from_write(call);

	end_given_up_appends(q->r.inode);
	if (request_given_up(&q->r)) {
		(void)fuse_reply_err(q->r.req, EINTR);
		q->r.req = NULL;
	}
	return false;
}

static void write_done(struct nfs_call *call);

static void send_write(struct write_request *q)
{
	struct nfs_call *call = &q->w->call;

	call->args.io.offset = q->offset + q->done;
	call->args.io.count = (uint32_t)MIN(q->size - q->done, q->r.fs->wsize);
	call->args.io.data = q->w->data + q->done;
	call->proc = NFS_WRITE;
	call->done = write_done;
	call->given_up = write_given_up;
	write_log_send(&q->r.inode->writes, q->r.fs->transport, q->w);
}

static void write_done(struct nfs_call *call)
{
	struct write_request *q = from_write(call);
	struct data_write *w = q->w;
	struct write_log *log = &q->r.inode->writes;
	int error = call->error;
	bool full;

	if (error == 0 && call->res.io.count == 0)
		error = -EIO;
	if (error < 0) {
		(void)write_log_answered(log, w, WRITE_FAILED);
		end_write(q, error);
		return;
	}
	if (call->res.io.committed == NFS_UNSTABLE) {
		q->mixed |= q->unstable && memcmp(w->verf.data, call->res.io.verf.data, sizeof(w->verf.data)) != 0;
		q->unstable = true;
		w->verf = call->res.io.verf;
	} else if (!q->unstable) {
		w->verf = call->res.io.verf;
	}
	q->done += call->res.io.count;
	if (q->done < q->size) {
		send_write(q);
		return;
	}
	q->r.fs->counters.bytes_written += q->size;
	call->args.io.offset = q->offset;
	call->args.io.count = (uint32_t)q->size;
	/* A verifier that no commit will answer with: all of it is sent again. */
	if (q->mixed)
		memset(w->verf.data, 0xff, sizeof(w->verf.data));
	full = write_log_answered(log, w, q->unstable ? WRITE_UNSTABLE : WRITE_STABLE);
	if (!full) {
		end_write(q, 0);
		return;
	}
	q->wait.done = write_committed;
	q->wait.patience = request_patience(&q->r);
	inode_writes_commit(q->r.fs, q->r.inode, &q->r.call.cred, &q->wait);
}

/* O_APPEND: the kernel's idea of the end may be old; the server knows. One at a time per file. */
static void append_size_known(struct nfs_call *call)
{
	struct write_request *q = CONTAINER_OF(call, struct write_request, r.call);

	if (call->error < 0) {
		(void)write_log_answered(&q->r.inode->writes, q->w, WRITE_FAILED);
		end_write(q, call->error);
		return;
	}
	q->offset = call->attr.size;
	send_write(q);
}

static bool append_given_up(struct nfs_call *call)
{
	struct write_request *q = CONTAINER_OF(call, struct write_request, r.call);

	end_given_up_appends(q->r.inode);
	return request_given_up(&q->r);
}

static void ask_for_the_end(void *arg)
{
	struct write_request *q = arg;

	q->r.call.proc = NFS_GETATTR;
	q->r.call.done = append_size_known;
	q->r.call.given_up = append_given_up;
	transport_submit(q->r.fs->transport, &q->r.call);
}

static bool follower_given_up(void *arg)
{
	struct write_request *q = arg;

	return append_given_up(&q->r.call);
}

static void start_append(struct write_request *q)
{
	struct patience patience = {.given_up = follower_given_up, .arg = q};

	server_refresh_then(q->r.fs, q->r.inode, &q->r.call.cred, patience, ask_for_the_end, q);
}

/* The append at the head of the queue is done: starts the next. */
static void append_next(struct inode *i)
{
	struct write_request *next = NULL;

	{
		LOCKED(&i->lock);
		if (list_empty(&i->appends)) {
			i->appending = false;
		} else {
			next = CONTAINER_OF(i->appends.next, struct write_request, append_node);
			list_remove(&next->append_node);
		}
	}
	if (next)
		start_append(next);
}

static void queue_append(struct write_request *q)
{
	struct inode *i = q->r.inode;

	{
		LOCKED(&i->lock);
		if (i->appending) {
			list_append(&i->appends, &q->append_node);
			return;
		}
		i->appending = true;
	}
	start_append(q);
}

/* What came before is answered: now this one, and the writer waits for it. */
static void write_settled(struct behind_wait *w, int error)
{
	struct stable_wait *stable = CONTAINER_OF(w, struct stable_wait, behind);
	struct write_request *q = CONTAINER_OF(stable, struct write_request, wait);

	if (error < 0) {
		(void)write_log_answered(&q->r.inode->writes, q->w, WRITE_FAILED);
		q->appends = false; /* it had no turn */
		end_write(q, error);
		return;
	}
	if (q->appends)
		queue_append(q);
	else
		send_write(q);
}

static void write_taken(struct behind_writer *w, int error)
{
	end_write(CONTAINER_OF(w, struct write_request, writer), error);
}

/* Through to the server before the writer is answered. */
static void write_through(struct write_request *q, const void *buf)
{
	struct inode *i = q->r.inode;
	bool beside_local;

	q->w = data_write_new(q->size);
	if (!q->w) {
		end_write(q, -ENOMEM);
		return;
	}
	q->w->owner = q;
	q->w->call.fh = i->fh;
	q->w->call.cred = q->r.call.cred;
	memcpy(q->w->data, buf, q->size);
	{
		LOCKED(&i->lock);
		/* One step, as finish_open() looks at both: a WRITE is known or knows of local opens. */
		beside_local =
			open_mode_written_locally(&i->mode) || granted_file_writes(i->granted, fs_generation(q->r.fs));
		write_log_started(&i->writes);
	}
	/* Beside local writes nothing may be kept for resending: it could overwrite newer data. */
	q->w->call.args.io.stable = beside_local || q->to_disk ? NFS_FILE_SYNC : NFS_UNSTABLE;
	q->wait.behind.done = write_settled;
	q->wait.behind.patience = request_patience(&q->r);
	write_behind_settle(&i->behind, &q->wait.behind);
}

static void written_here(struct uring_io *io, ssize_t result)
{
	struct write_request *q = CONTAINER_OF(io, struct write_request, here);
	struct granted_file *granted = q->granted;
	char *copy = q->copy;

	if (io->have > 0 && (!q->to_disk || io->have < q->size))
		granted_file_changed(q->r.inode);
	else if (io->have > 0)
		server_refresh_changed(q->r.inode);
	/* What was appended in part is not appended again. */
	if (io->have == q->size || (q->appends && io->have > 0)) {
		q->r.fs->counters.bytes_written += io->have;
		q->size = io->have;
		q->appends = false; /* it had no turn */
		end_write(q, 0);
	} else {
		log_debug("a write here: %s", strerror(result < 0 ? (int)-result : EIO));
		write_through(q, io->buf);
	}
	free(copy);
	(void)granted_file_unref(granted);
}

/* Whether the data stays until the answer, as the ring that brought the request keeps it. */
static bool keep(struct write_request *q, const char **buf)
{
	char *payload;
	size_t room;

	if (fuse_req_get_payload(q->r.req, &payload, &room, NULL) == 0 && *buf >= payload &&
		*buf + q->size <= payload + room) {
		q->payload = (struct iovec){.iov_base = payload, .iov_len = room};
		return true;
	}
	q->copy = malloc(q->size);
	if (q->copy)
		*buf = memcpy(q->copy, *buf, q->size);
	return q->copy;
}

/* Behind what was gathered before. */
static void here_settled(struct behind_wait *w, int error)
{
	struct stable_wait *stable = CONTAINER_OF(w, struct stable_wait, behind);
	struct write_request *q = CONTAINER_OF(stable, struct write_request, wait);

	if (error == 0) {
		uring_write(q->r.fs->uring, &q->here);
		return;
	}
	(void)granted_file_unref(q->granted);
	free(q->copy);
	q->appends = false; /* it had no turn */
	end_write(q, error);
}

/* To the backing file; false when it cannot be. */
static bool write_here(struct write_request *q, const char *buf, const struct file *f)
{
	q->granted = f->writes_locally ? granted_file_to_write(q->r.fs, q->r.inode, f->session) : NULL;
	if (!q->granted)
		return false;
	if (!keep(q, &buf)) {
		q->granted = granted_file_unref(q->granted);
		return false;
	}
	q->here = (struct uring_io){.file = &q->granted->file,
		.payload = q->payload,
		.buf = (uint8_t *)(uintptr_t)buf,
		.size = q->size,
		.offset = q->offset,
		.how = (q->appends ? RWF_APPEND : 0) | (q->to_disk ? RWF_SYNC : 0),
		.as_root = f->root,
		.done = written_here};
	q->wait.behind.done = here_settled;
	q->wait.behind.patience = request_patience(&q->r);
	write_behind_settle(&q->r.inode->behind, &q->wait.behind);
	return true;
}

/* Whether the writer may be answered before the server has: close and fsync tell of errors. */
static bool may_be_behind(struct write_request *q, const struct fuse_file_info *fi)
{
	const struct file *f = file_of(fi);

	return f->path == OPEN_PATH_CACHED && !q->of_mapping && !q->to_disk && q->r.fs->options->write != WRITE_WAIT &&
	       f->heard.by_close == write_log_errors(&q->r.inode->writes);
}

static void op_write(fuse_req_t req, fuse_ino_t ino, const char *buf, size_t size, off_t offset,
	struct fuse_file_info *fi)
{
	struct fs *fs = fuse_req_userdata(req);
	struct write_request *q = calloc(1, sizeof(*q));
	int r = -EBUSY;

	file_count_request(fs, &fs->counters.requests_write, fi);
	/* Not as late as the server would: knfsd takes any failed WRITE for lost data of everybody's. */
	if ((uint64_t)offset + size > fs->max_file_size) {
		free(q);
		(void)fuse_reply_err(req, EFBIG);
		return;
	}
	if (!q) {
		(void)fuse_reply_err(req, ENOMEM);
		return;
	}
	request_init_file(&q->r, req, ino, file_of(fi));
	q->offset = (uint64_t)offset;
	q->size = size;
	q->r.unannounced = true;
	q->of_mapping = fi->writepage;
	/* A page of a mapping has its place in the file, whatever the open's flags. */
	q->appends = (fi->flags & O_APPEND) && file_of(fi)->path != OPEN_PATH_CACHED && !q->of_mapping;
	/* The kernel sends no FSYNC after a direct write to an O_SYNC or O_DSYNC file. */
	q->to_disk = (fi->flags & (O_SYNC | O_DSYNC)) || fs_is_sync(fs);
	q->writer.session = file_of(fi)->writes_locally ? file_of(fi)->session : 0;
	q->writer.as_root = file_of(fi)->root;
	q->writer.done = write_taken;
	q->writer.patience = request_patience(&q->r);
	if (may_be_behind(q, fi))
		r = inode_writes_add(fs, q->r.inode, &q->r.call.cred, q->offset, buf, size, &q->writer);
	if (r == 0)
		end_write(q, 0);
	else if (r < 0 && !write_here(q, buf, file_of(fi)))
		write_through(q, buf);
}

/* FLUSH and FSYNC: everything written through this mount becomes stable, by whatever path. */
struct sync_request {
	struct request r;
	struct stable_wait wait;
	struct backing_sync_wait backing;
	struct file *file;
	bool closes; /* FLUSH */
	struct server_refresh refresh;
	atomic_uint left; /* of both: the data is stable, the server has looked */
	int error;
};

/* Either part may have found that data was lost. */
static void end_part(struct sync_request *s)
{
	int lost = 0;

	if (atomic_fetch_sub(&s->left, 1) > 1)
		return;
	/* Whoever was killed has not learned of it. */
	if (s->error != -EINTR)
		lost = write_log_tell(&s->r.inode->writes, &s->file->heard, s->closes);
	request_end_error(&s->r, lost < 0 ? lost : s->error);
}

static void server_looked(struct server_refresh *refresh)
{
	end_part(CONTAINER_OF(refresh, struct sync_request, refresh));
}

/*
 * Other clients are to see what was written by the time that close or fsync is answered. It is in the backing file, so
 * the server looks while the data is made stable.
 */
static void tell_server(struct sync_request *s, bool waits)
{
	struct fs *fs = s->r.fs;
	struct inode *i = s->r.inode;

	s->file->told = true;
	if (!server_refresh_needed(fs, i) || (!waits && server_refresh_unwaited(fs, i, &s->r.call.cred)))
		return;
	(void)atomic_fetch_add(&s->left, 1);
	s->refresh.patience = request_patience(&s->r);
	s->refresh.done = server_looked;
	server_refresh_start(&s->refresh, fs, i, &s->r.call.cred);
}

static void end_sync(struct sync_request *s, int error)
{
	s->error = error;
	end_part(s);
}

static void backing_synced(struct backing_sync_wait *wait, int error)
{
	end_sync(CONTAINER_OF(wait, struct sync_request, backing), error);
}

static void sync_log_done(struct stable_wait *wait, int error)
{
	struct sync_request *s = CONTAINER_OF(wait, struct sync_request, wait);
	bool waits = !s->closes || s->r.fs->options->commit != COMMIT_FSYNC;
	struct inode *i = s->r.inode;
	bool map_written, is_dirty, by_kernel;

	s->left = 1;
	if (error < 0) {
		end_sync(s, error);
		return;
	}
	{
		LOCKED(&i->lock);
		map_written = i->mode.map_written;
		by_kernel = map_written || (open_mode_registered(&i->mode) > 0 && i->known.writers > 0);
		is_dirty =
			open_mode_registered(&i->mode) > 0
				? waits
				: (map_written && s->file->write) || (i->written_locally != i->synced_locally && waits);
	}
	/* The kernel does not know that a write through a mapping has changed the backing file's times. */
	if (map_written)
		fs_invalidate_attributes(s->r.fs, i);
	if (by_kernel)
		server_refresh_changed(i);
	tell_server(s, waits);
	if (!is_dirty) {
		end_sync(s, 0);
		return;
	}
	s->backing.cred = &s->r.call.cred;
	s->backing.writer = s->file->write;
	s->backing.patience = request_patience(&s->r);
	s->backing.done = backing_synced;
	backing_sync(s->r.fs, i, &s->backing);
}

static void make_stable(fuse_req_t req, fuse_ino_t ino, struct file *f, bool closes)
{
	struct sync_request *s = calloc(1, sizeof(*s));

	if (!s) {
		(void)fuse_reply_err(req, ENOMEM);
		return;
	}
	request_init_file(&s->r, req, ino, f);
	s->r.unannounced = closes;
	s->closes = closes;
	s->file = f;
	s->wait.done = sync_log_done;
	s->wait.patience = request_patience(&s->r);
	inode_writes_commit(s->r.fs, s->r.inode, &s->r.call.cred, &s->wait);
}

/* close(2): NFS's promise is that what was written is stable then. A reader has written nothing. */
static void op_flush(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	struct fs *fs = fuse_req_userdata(req);

	fs->counters.requests_flush++;
	/* Now, so that a server that is away keeps nobody from what a dead process had locked. */
	locks_closed(fs->locks, &fs_inode(fs, ino)->fh, fi->lock_owner, fi->fh);
	if (file_of(fi)->write)
		make_stable(req, ino, file_of(fi), true);
	else
		(void)fuse_reply_err(req, 0);
}

static void op_fsync(fuse_req_t req, fuse_ino_t ino, int datasync, struct fuse_file_info *fi)
{
	make_stable(req, ino, file_of(fi), false);
}

void write_set_operations(struct fuse_lowlevel_ops *ops)
{
	ops->write = op_write;
	ops->flush = op_flush;
	ops->fsync = op_fsync;
}
