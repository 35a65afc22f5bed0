/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The writes of an inode: write_behind.h with the inode as its file. Write-behind sends the data to the backing file by
 * the inode's granted file, or to the server.
 *
 * No state of its own: the inode's lock guards its write-behind, which holds a reference to the inode per request.
 * Any thread.
 */
#pragma once

#include "fuse/fs/fs.h"

/* write_behind_add() */
int inode_writes_add(struct fs *fs, struct inode *i, const struct nfs_cred *cred, uint64_t offset, const void *data,
	size_t size, struct behind_writer *w);

/* write_behind_commit(); the caller keeps a reference to the inode until done() */
void inode_writes_commit(struct fs *fs, struct inode *i, const struct nfs_cred *cred, struct stable_wait *w);

/* The same for data that no caller waits for. The log tells of an error. */
void inode_writes_commit_unwaited(struct fs *fs, struct inode *i, const struct nfs_cred *cred);
