/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The inode table: all files of this mount that the kernel knows, found by NFS file handle.
 *
 * A FUSE node id is the number of an inode: a slot of a table, not an address. So a process that takes the mount over
 * can give its inodes the same numbers. The first inode of a table gets number 1, FUSE_ROOT_ID, so the caller adds the
 * root first. The kernel uses a number until it has forgotten as many lookups as the daemon counted. An inode has
 *   - a lookup count: how often the daemon gave the inode's entry to the kernel, less the lookups that the kernel has
 *     forgotten;
 *   - references of the daemon: those of requests and of open files.
 * The inode is freed when both are zero.
 *
 * The table's lock guards the hash and the lookup counts. A thread that holds it takes no other lock, except the lock
 * of the numbers (table/slots.h). Each inode's own lock guards the inode's other members (inode.h). Any thread may call
 * the functions.
 *
 * A decoy replaces a special file for one user who may not open that file (fuse/request/special_file.h). A decoy has
 * the handle and the attributes of the special file, and is found by handle and user together.
 *
 * A retired inode (open_mode.h) is not in the hash: the next lookup of its handle makes a fresh inode. The retired
 * inode lives on for the files that are open on it.
 */
#pragma once

#include "fuse/node/inode.h"

struct inode_table;

int inode_table_new(struct inode_table **ret);

/* Frees the table and every inode in it; the connection to the kernel must have ended. Takes NULL, returns NULL. */
struct inode_table *inode_table_free(struct inode_table *t);

/*
 * Finds or makes the inode of a handle, with a reference for the caller. When the file id or the type differs from the
 * inode's, the server has reused the handle for another file: the handle gets a fresh inode. -ENOMEM.
 */
int inode_table_get(struct inode_table *t, const struct nfs_fh *fh, const struct nfs_attr *attr, struct inode **ret);

/* Finds or makes the decoy that this user gets in place of a special file, with a reference for the caller. -ENOMEM. */
int inode_table_get_decoy(struct inode_table *t, const struct nfs_fh *fh, const struct nfs_attr *attr, uint32_t uid,
	struct inode **ret);

/* The inode of a handle, with a reference for the caller; NULL if the table has none. Never a decoy. */
struct inode *inode_table_find(struct inode_table *t, const struct nfs_fh *fh);

/*
 * The inode with this number, without a reference: for requests of the kernel, because the kernel has not forgotten
 * the inode. Takes no lock.
 */
struct inode *inode_table_numbered(const struct inode_table *t, uint64_t number);

/* Counts one lookup; called before the kernel gets the entry. */
void inode_table_looked_up(struct inode_table *t, struct inode *i);

/* Subtracts n lookups, at most as many as were counted. May free the inode. */
void inode_table_forget(struct inode_table *t, struct inode *i, uint64_t n);

/* The next lookup of this handle gets a fresh inode. */
void inode_table_retire(struct inode_table *t, struct inode *i);

struct inode *inode_ref(struct inode *i);

/* True, with a reference taken, unless the inode is being freed. For a caller that found the inode in another list. */
bool inode_ref_unless_freed(struct inode *i);

/* Gives a reference back; the last one frees the inode. Takes NULL; returns NULL. */
struct inode *inode_unref(struct inode_table *t, struct inode *i);

/* Calls fn for every inode of the table, with the table's lock held. For rare events: requests wait. */
void inode_table_foreach(struct inode_table *t, void (*fn)(void *arg, struct inode *i), void *arg);

/* The number of inodes, retired ones and decoys included. */
size_t inode_table_count(struct inode_table *t);

/* Sets the function that is called, without locks, for each inode that is about to be freed. */
void inode_table_on_free(struct inode_table *t, void (*fn)(void *arg, struct inode *i), void *arg);
