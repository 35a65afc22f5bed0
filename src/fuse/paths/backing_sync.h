/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Makes stable what a file's backing file holds: what the kernel, the daemon or a mapping wrote to it. For a file that
 * is open by an id the sidecar does it, else the daemon by the descriptor that it was sent, else the server, by COMMIT.
 *
 * Each of these has one descriptor, and a descriptor tells of a loss once. Of two requests that are under way together
 * one would say that all is well, maybe before the other says that it is not. So one request of a file is under way at
 * a time, for all who wait; who comes meanwhile waits for the next one. A request goes on when nobody waits for it any
 * more, and its error goes to the write log, which tells it to every open file.
 *
 * The inode's lock guards its lists; done() is called without it, on any thread.
 *
 * The daemon's own descriptor comes before COMMIT: the server may refuse COMMIT because the file's mode has changed
 * since the open.
 */
#pragma once

#include "fuse/fs/fs.h"

struct backing_sync;

struct backing_sync_wait {
	struct list node;
	const struct nfs_cred *cred; /* valid until done() */
	bool writer;                 /* has the file open for writing */
	struct patience patience;
	/* 0: all is stable, or the write log has the error. Else this one's own: -EINTR, -EACCES, -ENOTCONN ... */
	void (*done)(struct backing_sync_wait *w, int error);
};

/* The caller keeps a reference to the inode until done(). */
void backing_sync_request(struct fs *fs, struct inode *i, struct backing_sync_wait *w);
