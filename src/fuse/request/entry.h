/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The directory entry that a request found or made. The functions complete the entry's handle and attributes, make its
 * inode, and answer the request with the entry.
 *
 * The request owns all state. Handlers and done() callbacks call these functions without locks, on any thread. A
 * function that answers the request also ends it.
 */
#pragma once

#include "fuse/request/request.h"

/*
 * Completes entry_fh and entry_attr after LOOKUP, CREATE, MKDIR and similar calls, by further calls if the server's
 * answer lacks the handle or the attributes. Then calls then(). On failure answers the request with the error.
 */
void request_find_entry(struct request *r, void (*then)(struct request *r));

/*
 * Makes the inode of the found entry, which has this name, and counts the lookup. Returns 0, the entry for the reply,
 * and a reference to the inode; or a negative errno. If the reply does not reach the kernel, the caller uncounts the
 * lookup (inode_table_forget()).
 */
int request_make_entry(struct request *r, const char *name, struct fuse_entry_param *ret, struct inode **ret_inode);

/* Replies with the found entry; used as then(). */
void request_reply_entry(struct request *r);

/* Replies that the directory does not have the name. */
void request_reply_absent(struct request *r);

/*
 * Replies with an inode that was known without a question to the server. The kernel may cache attr for so many seconds.
 */
void request_reply_known(struct request *r, struct inode *i, const struct nfs_attr *attr, double seconds);

/*
 * True if the server's attributes, requested at r->asked, may be older than the size and times that the kernel knows
 * from its own writes.
 */
bool request_is_outdated(const struct request *r, struct inode *i);

/* True if the present session has registered the inode's backing id. The server's attributes may be old then. */
bool request_has_id(const struct fs *fs, struct inode *i);

/* Fills *ret with the attributes for the kernel. Returns for how many seconds the kernel may cache them. */
double request_tell_attributes(struct request *r, struct inode *i, const struct nfs_attr *attr, struct stat *ret);
