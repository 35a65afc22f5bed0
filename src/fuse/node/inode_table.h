/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The inode table: every file that the kernel knows of this mount, found by NFS file handle.
 *
 * A FUSE node id is the address of its struct inode; the kernel uses it until it has forgotten as
 * many lookups as it was told. Each inode holds
 *   - a lookup count: how often its entry was given to the kernel and not yet forgotten;
 *   - references of the daemon: requests and open files that outlive a FUSE request.
 * It is freed when both are zero. The table's lock guards the hash and the lookup counts; it is
 * never held while another lock is taken. Each inode's own lock guards its mode and its writes.
 *
 * A decoy is a special file that one user may not open, in place of the true one (special_file.h). It has the
 * true one's handle and attributes, and is found by handle and user only.
 *
 * A retired inode (see open_mode.h) is out of the hash, so that the next lookup of its handle
 * makes a fresh one, and lives on for the opens it has.
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
