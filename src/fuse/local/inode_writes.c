/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "fuse/local/inode_writes.h"

#include <string.h>

#include "base/log.h"
#include "fuse/local/granted_file.h"

static void keep_inode(const struct behind_file *f)
{
	(void)inode_ref(f->file);
}

static void give_inode_back(const struct behind_file *f)
{
	const struct fs *fs = f->mount;

	(void)inode_unref(fs->inodes, f->file);
}

static int choose(const struct behind_file *f, uint64_t session, uint64_t *ret_session)
{
	uint64_t generation = fs_generation(f->mount);
	const struct inode *i = f->file;
	bool writes_locally = granted_file_writes(i->granted, generation);

	if (open_mode_seen_locally(&i->mode) || (writes_locally && session != generation))
		return -EBUSY;
	*ret_session = writes_locally ? generation : 0;
	return 0;
}

static bool begin_local_write(const struct behind_file *f, uint64_t session, struct uring_io *io)
{
	const struct fs *fs = f->mount;
	struct granted_file *granted = granted_file_to_write(fs, f->file, session);

	if (!granted)
		return false;
	io->file = &granted->file;
	uring_write(fs->uring, io);
	return true;
}

static void end_local_write(const struct behind_file *f, struct uring_io *io)
{
	if (io->have > 0)
		granted_file_changed(f->file);
	(void)granted_file_unref(CONTAINER_OF(io->file, struct granted_file, file));
}

static void make_pause(const struct behind_file *f, struct uring_io *io)
{
	const struct fs *fs = f->mount;

	uring_pause(fs->uring, io);
}

static void count_written(const struct behind_file *f, size_t bytes)
{
	struct fs *fs = f->mount;

	fs->counters.bytes_written += bytes;
}

static const struct behind_file_ops inode_ops = {
	.ref = keep_inode,
	.unref = give_inode_back,
	.choose = choose,
	.begin_local_write = begin_local_write,
	.end_local_write = end_local_write,
	.pause = make_pause,
	.on_written = count_written,
};

static struct behind_file behind_file_of(struct fs *fs, struct inode *i)
{
	return (struct behind_file){.ops = &inode_ops,
		.mount = fs,
		.file = i,
		.behind = &i->behind,
		.log = &i->writes,
		.fh = &i->fh,
		.server = fs->server,
		.wsize = fs->wsize};
}

int inode_writes_add(struct fs *fs, struct inode *i, const struct nfs_cred *cred, uint64_t offset, const void *data,
	size_t size, struct behind_writer *w)
{
	struct behind_file f = behind_file_of(fs, i);

	return write_behind_add(&f, cred, offset, data, size, w);
}

void inode_writes_commit(struct fs *fs, struct inode *i, const struct nfs_cred *cred, struct stable_wait *w)
{
	struct behind_file f = behind_file_of(fs, i);

	write_behind_commit(&f, cred, w);
}

static void on_unwaited(struct stable_wait *w, int error)
{
	const struct fs *fs = w->file.mount;

	/* -ENOTCONN: the mount ends, and the server has the data and will write it. */
	if (error < 0 && error != -ENOTCONN)
		log_error_limited("data written through a mapping of a file of %s was lost: %s", fs->spec,
			strerror(-error));
	(void)inode_unref(fs->inodes, w->file.file);
	free(w);
}

void inode_writes_commit_unwaited(struct fs *fs, struct inode *i, const struct nfs_cred *cred)
{
	struct stable_wait *w;

	if (!write_log_dirty(&i->writes))
		return;
	w = calloc(1, sizeof(*w));
	if (!w)
		return;
	w->done = on_unwaited;
	inode_writes_commit(fs, inode_ref(i), cred, w);
}
