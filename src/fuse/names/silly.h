/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Silly rename: NFSv3 has no open files, so a file that is removed or renamed over while this mount
 * has it open is renamed to .nfs<fileid><count> in its directory instead, and removed at the last
 * close (fs/nfs/unlink.c nfs_sillyrename).
 *
 * An OPEN on its way counts as open. One that comes while a name of the file is being taken away waits for that:
 * otherwise the server could allow the open first and remove the file behind it.
 */
#pragma once

#include "fuse/request/request.h"

/*
 * Before r->call removes name in fh: when that name is an open file, renames it and answers the
 * request, otherwise calls go_on.
 */
void silly_remove_name(struct request *r, void (*go_on)(struct request *r));

/* The same before r->call renames something to name2 in fh2: goes on once the open file is away. */
void silly_replace_name(struct request *r, void (*go_on)(struct request *r));

/* An OPEN on its way. */
struct silly_hold {
	struct list node;                               /* in inode.held, under the inode's lock */
	void (*go_on)(struct silly_hold *h, int error); /* 0, or -EINTR when its caller was killed */
	bool (*given_up)(struct silly_hold *h);
};

/* True: it may go on at once. False: go_on() is called. In either case silly_open_ends() ends it. */
bool silly_open_begins(struct fs *fs, struct inode *i, struct silly_hold *h);

/* It has become an open file, or none. */
void silly_open_ends(struct fs *fs, struct inode *i);

/* True if this mount has taken its name away, or is about to: it lies, or will, under a .nfs name. */
bool silly_has_name(struct inode *i);

/* Lets those OPENs go that wait and whose callers were killed. */
void silly_opens_given_up(struct inode *i);

/* The request is answered: OPENs that waited for it go on. */
void silly_removal_ended(struct request *r);

/* With the inode's lock: true if somebody has it open, or is about to. */
static inline bool silly_is_open(const struct inode *i)
{
	return open_mode_total(&i->mode) > 0 || i->opening > 0;
}

/*
 * When that rename failed: the open file has its own name still and needs no other. Answers with
 * the error once the .nfs name is gone.
 */
void silly_rename_failed(struct request *r, int error);

/* After the last close: removes the file under its silly name, in the background. */
void silly_last_close(struct fs *fs, struct inode *i);

/*
 * RMDIR, which does not fail over a .nfs name that is just being removed: whoever closed the file
 * need not know of it.
 */
void silly_remove_directory(fuse_req_t req, fuse_ino_t parent, const char *name);

/* At the end of the mount: removes what no RELEASE came for. Blocks for at most timeout_ms. */
void silly_remove_all(struct fs *fs, unsigned timeout_ms);
