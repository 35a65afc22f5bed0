/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * OPENs and removals of names that wait for each other. NFSv3 has no open files: if the server allowed an OPEN first
 * and then removed the file's last name, the open file would be ESTALE. So an OPEN on its way counts as an open file,
 * and an OPEN that arrives while a request takes a name from the file waits until that request is answered.
 *
 * The inode's lock guards the counts and the list of waiting OPENs; all functions take that lock, except where their
 * comment says that the caller holds it. go_on() runs without locks, on the thread that ended the removal.
 */
#pragma once

#include "fuse/fs/fs.h"

/* An OPEN on its way; the caller keeps the memory until go_on(). */
struct open_hold {
	struct list node;                              /* in inode.held */
	void (*go_on)(struct open_hold *h, int error); /* 0, or -EINTR when the opener was killed */
	bool (*given_up)(struct open_hold *h); /* true if the opener was killed; called with the inode's lock held */
};

/*
 * An OPEN begins. True: the OPEN may go on at once. False: a removal is under way, and go_on() will be called. In both
 * cases open_becomes_file() or open_ends() ends the OPEN.
 */
bool open_begins(struct fs *fs, struct inode *i, struct open_hold *h);

/*
 * The caller holds the inode's lock, and has counted the open file. Before the reply: who has closed the file must find
 * that nobody has it open, although this OPEN's thread may not have run since. The second takes that back, if the
 * kernel did not take the reply.
 */
void open_becomes_file(struct fs *fs, struct inode *i);
void open_becomes_none(struct fs *fs, struct inode *i);

/*
 * The OPEN has failed. True if the file lies under a .nfs name that nobody needs any more: the caller removes that name
 * (silly_last_close()).
 */
bool open_ends(struct fs *fs, struct inode *i);

/* The caller holds the inode's lock. True if the file is open, or an OPEN is on its way. */
static inline bool inode_is_open(const struct inode *i)
{
	return open_mode_total(&i->mode) > 0 || i->opening > 0;
}

/* True if this mount has renamed the file to a .nfs name, or is about to. */
bool inode_loses_name(struct inode *i);

/*
 * The caller holds the inode's lock. A request takes a name from the file: OPENs wait from now on. *removing, NULL
 * before, gets a reference to the inode. The request holds the OPENs of one file at most: a second call changes
 * nothing.
 */
void removal_holds_opens(struct inode **removing, struct inode *i);

/* The request is answered: OPENs that waited for it go on. *removing is NULL afterwards; it may be NULL before. */
void removal_ended(struct fs *fs, struct inode **removing);

/* The same for a caller that counted inode.removing itself, without a reference. */
void removal_lets_opens_go(struct inode *i);

/* Ends the waiting OPENs whose callers were killed. */
void held_opens_given_up(struct inode *i);
