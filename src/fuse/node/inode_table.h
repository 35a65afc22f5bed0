/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The inode table: every file that the kernel knows of this mount, found by NFS file handle.
 *
 * A FUSE node id is the number of an inode, a slot of a table, not an address: a process that takes the mount over can
 * give its inodes the same numbers. The first inode of a table has number 1, FUSE_ROOT_ID, so the first is the root's.
 * The kernel uses a number until it has forgotten as many lookups as it was told. Each inode holds
 *   - a lookup count: how often the inode's entry was given to the kernel and not yet forgotten;
 *   - references of the daemon: requests and open files that outlive a FUSE request.
 * The inode is freed when both are zero.
 *
 * The table's lock guards the hash and the lookup counts. While it is held no other lock is taken but that of the
 * numbers (table/slots.h). Each inode's own lock guards the inode's mode and writes.
 *
 * A decoy stands in place of a special file that one user may not open (fuse/request/special_file.h). It has the handle
 * and attributes of the special file, and is found by handle and user only.
 *
 * A retired inode (open_mode.h) is out of the hash: the next lookup of its handle makes a fresh inode. The retired
 * inode lives on for the files that are open on it.
 */
#pragma once

#include "fuse/node/inode.h"

struct inode_table;

int inode_table_new(struct inode_table **ret);

/* Frees the table and every inode in it; the kernel connection must be gone. Takes NULL. */
struct inode_table *inode_table_free(struct inode_table *t);

/*
 * The inode of a handle, made when there is none, with a reference for the caller. A handle whose
 * file changed its id or type is another file behind a reused handle: it gets a fresh inode.
 */
int inode_table_get(struct inode_table *t, const struct nfs_fh *fh, const struct nfs_attr *attr, struct inode **ret);

/* The same of the decoy that this user gets of a special file. */
int inode_table_get_decoy(struct inode_table *t, const struct nfs_fh *fh, const struct nfs_attr *attr, uint32_t uid,
	struct inode **ret);

/* The inode of a handle, not a decoy, if the table has it, with a reference; NULL otherwise. */
struct inode *inode_table_find(struct inode_table *t, const struct nfs_fh *fh);

/*
 * The inode that has this number, without a reference: for requests of the kernel, which has not forgotten the inode.
 * Takes no lock.
 */
struct inode *inode_table_numbered(const struct inode_table *t, uint64_t number);

/* Counts one lookup: before the entry is given to the kernel. */
void inode_table_looked_up(struct inode_table *t, struct inode *i);

/* Takes n lookups back, which may free the inode. Never more than were counted. */
void inode_table_forget(struct inode_table *t, struct inode *i, uint64_t n);

/* The next lookup of this handle gets a fresh inode. */
void inode_table_retire(struct inode_table *t, struct inode *i);

struct inode *inode_ref(struct inode *i);

/* A reference unless the inode is being freed: for who found it through a list of its own. */
bool inode_ref_unless_freed(struct inode *i);

/* Takes NULL; returns NULL. */
struct inode *inode_unref(struct inode_table *t, struct inode *i);

/* Calls fn for every inode there is, under the table's lock: at the end of the mount. */
void inode_table_foreach(struct inode_table *t, void (*fn)(void *arg, struct inode *i), void *arg);

/* How many inodes there are. */
size_t inode_table_count(struct inode_table *t);

/* Called for an inode that is about to be freed, without locks held. */
void inode_table_on_free(struct inode_table *t, void (*fn)(void *arg, struct inode *i), void *arg);
