/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * An open file, from OPEN to RELEASE. The kernel has its number, fi->fh, a slot of fs.opened: a process that takes the
 * mount over can give its open files the same numbers. An open file owns one reference to the inode. Its members are
 * constant, except those whose comment says what guards them.
 */
#pragma once

#include "fuse/fs/fs.h"

struct file {
	struct opened opened; /* in the inode's list */
	struct inode *inode;
	struct opened_as as;
	enum open_path path;
	bool write;
	bool quiet; /* close(2) sends no FLUSH (FOPEN_NOFLUSH); RELEASE alone tells of the close */
	bool append;
	uint64_t session;          /* probe_generation() of the session that granted the open; 0: the server did */
	bool writes_locally;       /* while that session lasts, writes go to the backing file */
	bool root;                 /* with session: the server treats the opener as root */
	struct errors_heard heard; /* errors reported to this open file (write_log_tell()); the log's lock guards it */
	atomic_bool told;          /* FLUSH has told the server of local writes (server_refresh.h) */
};

/* A zeroed open file that has its number. NULL: there is no memory. */
struct file *file_new(struct fs *fs);

/* Gives the number up, and frees the memory. Takes NULL. */
void file_free(struct fs *fs, struct file *f);

/* The open file of a request: the kernel has not released it. */
static inline struct file *file_of(const struct fs *fs, const struct fuse_file_info *fi)
{
	return CONTAINER_OF(fs_opened(fs, fi), struct file, opened);
}

/* Counts a READ or WRITE request of an open file. On the passthrough path the daemon should see no such request. */
static inline void file_count_request(struct fs *fs, atomic_uint_fast64_t *kind, const struct fuse_file_info *fi)
{
	(*kind)++;
	fs->counters.requests_astray += file_of(fs, fi)->path == OPEN_PATH_PASSTHROUGH;
}
