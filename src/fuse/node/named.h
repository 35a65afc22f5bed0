/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * By which names the kernel may open a file, and how it is found out that one of them is the file's no more.
 *
 * OPEN comes without a name, and the kernel walks names that it believes without asking. Close-to-open is promised all
 * the same: a name that another mount or the server's side has given to another file opens that one. So each open that
 * the sidecar allows looks at the file as it is now:
 *
 *	no link left                                     -> it has lost the name (fs/nfs/dir.c nfs_lookup_verify_inode)
 *	the ctime with which the server told the name    -> nobody has taken a name from it: rename, unlink and link set
 *	                                                    the file's ctime, on every filesystem that is exported here
 *	another ctime, the directory is what is known    -> something else was changed, and the name holds
 *	another ctime and another directory              -> it may have lost the name: the kernel walks again and asks
 *
 * A hot open so costs one question to the sidecar (for the file's attributes), and none where the daemon has a
 * descriptor. Of a ctime that is the same the filesystem's clock is the measure: before Linux 6.13 a rename within the
 * same tick (4 ms) as the change before it is not seen, unless it takes the last link.
 *
 * A set of names is a number with one bit per name, chosen by a keyed hash. A name that shares the bit of another name
 * is taken for that name, which matters only to a file with several names that are told at different times. The hash is
 * keyed because server and other clients choose handles and names, and could otherwise choose names that share a bit.
 *
 * A value; the inode's lock guards it.
 *
 * With a verdict of NAMED_LOST the open fails with ESTALE, once: the kernel walks again, and only the last step asks
 * the server. Before that, COMMIT of the directory makes NFS-Ganesha look again, because it remembers names. While the
 * mount is remote an open asks for the attributes of the file alone, as the kernel's client does: a name of a file with
 * several links may be believed for as long as the directory's attributes.
 */
#pragma once

#include "io/server.h"

struct named {
	struct nfs_fh dir; /* where it was found last; length 0: nowhere, or it was not found by a name */
	uint64_t epoch;    /* known.h: of that directory */
	uint64_t found;    /* attr_clock() */
	struct timespec ctime;
	uint64_t told;     /* names that the kernel may believe */
	uint64_t at_ctime; /* of these, which the server has told with that ctime */
	uint64_t in_epoch; /* and which in that directory's epoch */
};

enum named_verdict {
	NAMED_HOLDS,
	NAMED_ASK_DIRECTORY, /* and then named_directory_is() */
	NAMED_LOST,
};

/* Which bit a name in a directory has. */
uint64_t named_bit(const struct nfs_fh *dir, const char *name);

/*
 * The server said that the name is the file's, with this ctime. epoch: in which the name is known, 0 when it is not.
 * alone: the kernel believes no name that it was told before.
 */
void named_found(struct named *n, const struct nfs_fh *dir, uint64_t epoch, uint64_t bit, const struct timespec *ctime,
	bool alone);

/* The kernel is told a name that was found earlier. */
void named_told(struct named *n, uint64_t bit);

/* The file is like this now. moved: attr_clock() when this mount last moved a name to another directory. */
enum named_verdict named_judge(const struct named *n, const struct nfs_attr *now, uint64_t moved);

/*
 * Since this epoch of the directory began nothing has happened to it, and the file had this ctime before: true if that
 * proves all names.
 */
bool named_directory_is(struct named *n, const struct nfs_fh *dir, uint64_t epoch, const struct timespec *ctime);
