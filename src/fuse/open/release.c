/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "fuse/open/open_request.h"

#include <string.h>

#include "base/log.h"
#include "fuse/local/backing_ids.h"
#include "fuse/local/granted_file.h"
#include "fuse/local/server_refresh.h"
#include "fuse/locks/locks.h"
#include "fuse/names/silly_removal.h"
#include "fuse/open/handlers.h"

/* Pages of a mapping come after the last FLUSH: nobody else would have them committed. */
static void last_committed(struct stable_wait *w, int error)
{
	/* -ENOTCONN: the mount ends, and the server has the data and will write it. */
	if (error < 0 && error != -ENOTCONN)
		log_warning("data written through a mapping of a file of %s was lost: %s", w->fs->spec,
			strerror(-error));
	(void)inode_unref(w->fs->inodes, w->inode);
	free(w);
}

static void commit_rest(struct fs *fs, struct inode *i, const struct nfs_cred *cred)
{
	struct stable_wait *w;

	if (!write_log_dirty(&i->writes))
		return;
	w = calloc(1, sizeof(*w));
	if (!w)
		return;
	w->done = last_committed;
	write_behind_commit(fs, inode_ref(i), cred, w);
}

void op_release(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	struct fs *fs = fuse_req_userdata(req);
	struct file *f = file_of(fi);
	struct inode *i = f->inode;
	struct granted_file *writer = NULL;
	int close_id = 0;
	bool last;

	if (f->write && !f->told && open_mode_is_registered(f->path))
		server_refresh_changed(i);
	locks_released(fs->locks, &i->fh, fi->fh);
	{
		LOCKED(&i->lock);
		list_remove(&f->opened.node);
		/* An id of an ended session is no good for the next open. */
		if (open_mode_uncount(&i->mode, f->path) && i->mode.generation != fs_generation(fs))
			close_id = open_mode_take_id(&i->mode);
		open_mode_changed(fs, i);
		if (f->write)
			writer = open_writer_gone(i, f);
		last = !inode_is_open(i);
	}
	fs->open_files--;
	(void)granted_file_unref(writer);
	backing_ids_close(fs->ids, close_id);
	backing_ids_trim(fs->ids);
	if (f->write) {
		commit_rest(fs, i, &f->cred);
		/* Written by a mapping after the close, or by who was killed and did not wait for that in close. */
		if (server_refresh_owed(fs, i))
			(void)server_refresh_unwaited(fs, i, &f->cred);
		data_write_trim();
	}
	if (last)
		silly_last_close(fs, i);
	(void)inode_unref(fs->inodes, i);
	free(f);
	(void)fuse_reply_err(req, 0);
}
