/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * An open file, from OPEN to RELEASE. The kernel has its number, fi->fh, a slot of fs.opened: a process that takes the
 * mount over can give its open files the same numbers. The open file is constant but for what is atomic, and has one
 * reference to the inode.
 */
#pragma once

#include "fuse/fs/fs.h"

struct file {
	struct opened opened; /* in the inode's list */
	struct inode *inode;
	struct nfs_cred cred; /* the opener's: reads and writes use it */
	bool has_groups;      /* it is whole; not where they do not matter to who reads locally */
	enum open_path path;
	bool write;
	bool quiet; /* close(2) does not tell (FOPEN_NOFLUSH), RELEASE does */
	bool append;
	uint64_t session;          /* in which the open was granted (probe_generation()); 0: the server allowed it */
	bool writes_locally;       /* while that session lasts its writes go to the backing file */
	bool root;                 /* with session: the opener is the server's root */
	struct errors_heard heard; /* write_log_tell(); the log's lock */
	atomic_bool told;          /* the server was, when it was closed or made stable (server_refresh.h) */
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

/* A READ or a WRITE of one: of those on the passthrough path the daemon should see none. */
static inline void file_count_request(struct fs *fs, atomic_uint_fast64_t *kind, const struct fuse_file_info *fi)
{
	(*kind)++;
	fs->counters.requests_astray += file_of(fs, fi)->path == OPEN_PATH_PASSTHROUGH;
}
