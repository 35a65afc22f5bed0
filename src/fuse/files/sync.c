/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * FLUSH and FSYNC: all data that was written through this mount becomes stable, whatever its path. A file on the
 * passthrough path reaches the daemon only for these.
 */
#include "fuse/request/request.h"

#include "fuse/files/handlers.h"
#include "fuse/fs/file.h"
#include "fuse/local/server_refresh.h"
#include "fuse/locks/locks.h"
#include "fuse/paths/backing_sync.h"
#include "fuse/local/inode_writes.h"
#include "fuse/shortcut/shortcut.h"

struct sync_request {
	struct request r;
	struct stable_wait wait;
	struct backing_sync_wait backing;
	struct file *file;
	bool closes;    /* FLUSH */
	bool data_only; /* fdatasync(2) */
	struct server_refresh refresh;
	atomic_uint left; /* of two parts: the data is stable, the server has looked */
	int error;
};

/* Either part may have found that data was lost. */
static void end_part(struct sync_request *s)
{
	int lost = 0;

	if (atomic_fetch_sub(&s->left, 1) > 1)
		return;
	/* A caller that was killed does not learn of a loss. */
	if (s->error != -EINTR)
		lost = write_log_tell(&s->r.inode->writes, &s->file->heard, s->closes);
	request_end_error(&s->r, lost < 0 ? lost : s->error);
}

static void on_look(struct server_refresh *refresh)
{
	end_part(CONTAINER_OF(refresh, struct sync_request, refresh));
}

/*
 * Other clients see the written data by the time that close or fsync is answered. True if the request has to wait for
 * the server's look, which is a part of it then.
 */
static bool must_tell_server(struct sync_request *s, bool waits)
{
	struct fs *fs = s->r.fs;
	struct inode *i = s->r.inode;

	s->file->told |= s->closes;
	if (!server_refresh_needed(fs, i))
		return false;
	if (!waits && !shortcut_is_full(fs->shortcut)) {
		shortcut_written(fs->shortcut, &i->fh);
		return false;
	}
	(void)atomic_fetch_add(&s->left, 1);
	return true;
}

static void tell_server(struct sync_request *s)
{
	s->refresh.patience = request_patience(&s->r);
	s->refresh.done = on_look;
	server_refresh_start(&s->refresh, s->r.fs, s->r.inode, &s->r.call.cred);
}

static void end_sync(struct sync_request *s, int error)
{
	s->error = error;
	end_part(s);
}

static void on_backing_sync(struct backing_sync_wait *wait, int error)
{
	struct sync_request *s = CONTAINER_OF(wait, struct sync_request, backing);

	s->r.operation.path = wait->counted;
	end_sync(s, error);
}

static void sync_backing_file(struct sync_request *s)
{
	s->backing.cred = &s->r.call.cred;
	s->backing.writer = s->file->write;
	s->backing.data_only = s->data_only;
	s->backing.patience = request_patience(&s->r);
	s->backing.done = on_backing_sync;
	backing_sync_request(s->r.fs, s->r.inode, &s->backing);
}

static void on_log_stable(struct stable_wait *wait, int error)
{
	struct sync_request *s = CONTAINER_OF(wait, struct sync_request, wait);
	bool waits = !s->closes || s->r.fs->options->commit != COMMIT_FSYNC;
	struct inode *i = s->r.inode;
	bool map_written, is_dirty, by_kernel, tells;

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
	tells = must_tell_server(s, waits);
	/* First the fsync: the server can look while the fsync waits for the disk, since the data is in the file. */
	if (is_dirty)
		sync_backing_file(s);
	else
		end_sync(s, 0);
	if (tells)
		tell_server(s);
}

static void make_stable(fuse_req_t req, fuse_ino_t ino, struct file *f, bool closes, bool data_only)
{
	struct sync_request *s = calloc(1, sizeof(*s));

	if (!s) {
		operation_refuse(req, ENOMEM);
		return;
	}
	request_init_open(&s->r, req, ino, &f->as);
	request_groups(&s->r);
	s->r.unannounced = closes;
	if (write_log_dirty(&s->r.inode->writes))
		s->r.operation.path = OPERATION_BY_SERVER;
	s->closes = closes;
	s->data_only = data_only;
	s->file = f;
	s->wait.done = on_log_stable;
	s->wait.patience = request_patience(&s->r);
	inode_writes_commit(s->r.fs, s->r.inode, &s->r.call.cred, &s->wait);
}

/* close(2): NFS promises that the written data is stable then. A reader has written nothing. */
static void op_flush(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	struct fs *fs = fuse_req_userdata(req);
	struct file *f = file_of(fs, fi);

	fs->counters.requests_flush++;
	/* At once: the locks of a dead process end, also while the server is away. */
	locks_closed(fs->locks, &fs_inode(fs, ino)->fh, fi->lock_owner, fi->fh);
	if (f->write)
		make_stable(req, ino, f, true, false);
	else
		(void)fuse_reply_err(req, 0);
}

static void op_fsync(fuse_req_t req, fuse_ino_t ino, int datasync, struct fuse_file_info *fi)
{
	make_stable(req, ino, file_of(fuse_req_userdata(req), fi), false, datasync != 0);
}

void sync_set_operations(struct fuse_lowlevel_ops *ops)
{
	ops->flush = op_flush;
	ops->fsync = op_fsync;
}
