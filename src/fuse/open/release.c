/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "fuse/open/open_request.h"

#include "fuse/local/backing_ids.h"
#include "fuse/local/granted_file.h"
#include "fuse/local/idle_ids.h"
#include "fuse/local/server_refresh.h"
#include "fuse/locks/locks.h"
#include "fuse/names/silly_removal.h"
#include "fuse/open/handlers.h"
#include "fuse/local/inode_writes.h"
#include "fuse/shortcut/shortcut.h"

void op_release(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	struct fs *fs = fuse_req_userdata(req);
	struct file *f = file_of(fs, fi);
	struct inode *i = f->inode;
	struct granted_file *writer = NULL, *looker = NULL;
	int close_id = 0;
	bool last;

	if (f->write && !f->told && open_mode_is_registered(f->path))
		server_refresh_changed(i);
	locks_released(fs->locks, &i->fh, fi->fh);
	{
		LOCKED(&i->lock);
		list_remove(&f->opened.node);
		/* The next open cannot use a backing id of an ended session. */
		if (open_mode_uncount(&i->mode, f->path) && i->mode.generation != fs_generation(fs)) {
			close_id = open_mode_take_id(&i->mode);
			looker = granted_file_take_looker(i);
		}
		idle_ids_opens_changed(fs->idle, i);
		if (f->write)
			writer = open_writer_gone(i, f);
		last = !inode_is_open(i);
	}
	fs->open_files--;
	(void)granted_file_unref(writer);
	(void)granted_file_unref(looker);
	backing_ids_close(fs->ids, close_id);
	idle_ids_trim(fs->idle);
	if (f->write) {
		/* Pages of a mapping are written after the last FLUSH, so only RELEASE can commit them. */
		inode_writes_commit_unwaited(fs, i, &f->as.cred);
		/*
		 * Nobody waits for the server's look: close(2) sent no FLUSH, a mapping wrote after close(2), or the
		 * closing process was killed before the server had looked.
		 */
		if (server_refresh_owed(fs, i))
			shortcut_written(fs->shortcut, &i->fh);
		data_write_trim();
	}
	if (last)
		silly_last_close(fs, i);
	(void)inode_unref(fs->inodes, i);
	file_free(fs, f);
	(void)fuse_reply_err(req, 0);
}
