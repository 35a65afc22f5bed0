/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The names by which the kernel may open a file, and the rule that detects that the file has lost such a name.
 *
 * OPEN carries no name, and the kernel walks names that it believes without asking the daemon. Close-to-open
 * consistency is promised all the same: when another client or a process on the server has given the name to another
 * file, open must open that other file. So each open that the sidecar allows compares the file's present attributes
 * with the remembered ones:
 *
 *	no link left                     -> the file has lost the name (fs/nfs/dir.c nfs_lookup_verify_inode)
 *	the ctime is the same as when    -> the file has lost no name: rename, unlink and link set the file's ctime
 *	the server told the name            on every filesystem that this mount can reach
 *	another ctime, but the directory -> the change was another one, and the name is still the file's
 *	has not changed
 *	another ctime, and the directory -> the file may have lost the name: the kernel walks again, and the daemon asks
 *	has changed                         the server
 *
 * So a hot open costs one question to the sidecar (for the file's attributes), and none if the daemon has a descriptor.
 * The resolution of the filesystem's clock limits the second rule: before Linux 6.13 the rule misses a rename within
 * the same tick (4 ms) as the change before, unless the rename takes the last link.
 *
 * A set of names is a number with one bit per name; a keyed hash chooses the bit. A name is mistaken for another name
 * with the same bit. That matters only to a file with several names that the kernel was told at different times. The
 * hash is keyed because the server and other clients choose handles and names, and could otherwise choose names that
 * share a bit.
 *
 * struct named is a plain value in the inode; the inode's lock guards it.
 *
 * With the verdict NAMED_LOST the open fails with ESTALE once: the kernel walks again, and only the last step asks the
 * server. Before that step the daemon sends COMMIT of the directory, because NFS-Ganesha remembers names and looks at
 * the directory again for COMMIT. While the mount is remote an open asks only for the file's attributes, as the
 * kernel's NFS client does: the name of a file with several links may be believed for as long as the directory's
 * attributes.
 */
#pragma once

#include "io/server.h"

struct named {
	struct nfs_fh dir; /* the directory of the name that was looked up last; length 0: no name was looked up */
	uint64_t epoch;    /* the epoch of that directory (known.h) */
	uint64_t found;    /* attr_clock() of that lookup */
	struct timespec ctime;
	uint64_t told;     /* set of names that the kernel may believe */
	uint64_t at_ctime; /* the names in told that the server told together with this ctime */
	uint64_t in_epoch; /* the names in told that the server told in this epoch of this directory */
};

enum named_verdict {
	NAMED_HOLDS,
	NAMED_ASK_DIRECTORY, /* the directory's attributes decide: named_directory_is() */
	NAMED_LOST,
};

/* The bit of a name in a directory. */
uint64_t named_bit(const struct nfs_fh *dir, const char *name);

/*
 * The server said that the name is the file's, and that the file has this ctime. epoch: the directory's epoch in which
 * the name is remembered, 0 if the name is not remembered. alone: the kernel believes no name of the file that it was
 * told earlier.
 */
void named_found(struct named *n, const struct nfs_fh *dir, uint64_t epoch, uint64_t bit, const struct timespec *ctime,
	bool alone);

/* The kernel is told a remembered name, without a new answer of the server. */
void named_told(struct named *n, uint64_t bit);

/*
 * The verdict on the file's names. now: the file's present attributes. moved: attr_clock() when this mount last moved a
 * name to another directory.
 */
enum named_verdict named_judge(const struct named *n, const struct nfs_attr *now, uint64_t moved);

/*
 * The directory has not changed since this epoch began, and the file had this ctime before that was checked. True if
 * this proves that all names are still the file's; the ctime then counts for all of them.
 */
bool named_directory_is(struct named *n, const struct nfs_fh *dir, uint64_t epoch, const struct timespec *ctime);
