/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The entry that a request found or made: its handle and attributes are completed, its inode is made, and the request
 * is answered with it.
 *
 * The request has all state. Handlers and done() callbacks call these functions without locks; a function that answers
 * also ends the request.
 */
#pragma once

#include "fuse/request/request.h"

/*
 * After LOOKUP, CREATE, MKDIR and similar calls: completes entry_fh and entry_attr, by further calls where the answer
 * has left them out, then calls then(). On failure the request is answered with the error.
 */
void request_find_entry(struct request *r, void (*then)(struct request *r));

/*
 * Makes the inode of the found entry, which has this name, and counts the lookup. 0, the entry to reply with, and a
 * reference to the inode. When the reply does not arrive the caller takes the lookup back (inode_table_forget()).
 */
int request_make_entry(struct request *r, const char *name, struct fuse_entry_param *ret, struct inode **ret_inode);

/* then() of a request that replies with the found entry. */
void request_reply_entry(struct request *r);

/* Replies that the directory does not have the name. */
void request_reply_absent(struct request *r);

/* Replies with a file whose attributes the kernel may believe for so many seconds. */
void request_reply_known(struct request *r, struct inode *i, const struct nfs_attr *attr, double seconds);

/*
 * True if the server's attributes, asked for at r->asked, may be older than the size and times that the kernel knows by
 * its own writes.
 */
bool request_is_outdated(const struct request *r, struct inode *i);

/* True if the session has registered the inode's backing id: the server's attributes may be old. */
bool request_has_id(const struct fs *fs, struct inode *i);

/* Fills *ret with what the kernel is told of the inode. Returns for how many seconds the kernel may believe that. */
double request_tell_attributes(struct request *r, struct inode *i, const struct nfs_attr *attr, struct stat *ret);
