/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Makes the data of a file's backing file stable, whether the kernel, the daemon or a mapping has written it: by the
 * path that data_path_choose() says. The daemon's own descriptor comes before COMMIT: the server may refuse COMMIT
 * because the file's mode has changed since the open.
 *
 * Each path has one descriptor of the file, and a descriptor tells of a loss once. Of two requests under way together
 * one would succeed, maybe before the other reports the loss. So one request per file is under way at a time, for all
 * callers that wait. A caller that comes meanwhile waits for the next request. A request goes on when no caller waits
 * for it any more. Its error goes to the write log, which tells it to every open file.
 *
 * The inode's lock guards the lists. done() is called without the lock, on any thread.
 */
#pragma once

#include "fuse/fs/fs.h"
#include "fuse/operations/operations.h"

struct backing_sync;

struct backing_sync_wait {
	struct list node;
	const struct nfs_cred *cred; /* valid until done() */
	enum operation_path counted; /* set before done() */
	bool writer;                 /* has the file open for writing */
	bool data_only;              /* fdatasync(2) */
	struct patience patience;
	/*
	 * 0: all data is stable, or the write log has the error. Else the caller's own error: -EINTR, -EACCES,
	 * -ENOTCONN ...
	 */
	void (*done)(struct backing_sync_wait *w, int error);
};

/* The caller keeps a reference to the inode until done(). */
void backing_sync_request(struct fs *fs, struct inode *i, struct backing_sync_wait *w);
