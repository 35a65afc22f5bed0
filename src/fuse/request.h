/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * One FUSE request on its way through the daemon: the handler makes it and returns; the rest
 * happens in done() callbacks on the transport's loop thread. It is answered exactly once, by the
 * function that ends it.
 */
#pragma once

#include "fuse/fs.h"

struct request {
	struct nfs_call call; /* the RPC under way; used again for the next one */
	struct fs *fs;
	fuse_req_t req;       /* NULL once answered */
	struct inode *inode;  /* what the request is about; a reference */
	char *name, *name2;
	void (*then)(struct request *r); /* after request_find_entry() */
	/* The entry that was found: its handle and attributes. */
	struct nfs_fh entry_fh;
	struct nfs_attr entry_attr;
};

/*
 * Fills a zeroed request that may be the first member of something bigger (freed with free()).
 * Copies the names (NULL for none). Returns -ENOMEM after answering with it and freeing r.
 */
int request_init(struct request *r, fuse_req_t req, fuse_ino_t ino, const char *name, const char *name2);

/* The same without names, with an open file's credential in place of the caller's; cannot fail. */
void request_init_open(
	struct request *r, fuse_req_t req, fuse_ino_t ino, const struct nfs_cred *cred);

/* calloc() of a plain request and request_init(); NULL after answering. */
struct request *request_new(fuse_req_t req, fuse_ino_t ino, const char *name, const char *name2);

/* The AUTH_UNIX credential of a request's caller: uid, gid and up to 16 groups. */
void request_cred(struct fs *fs, fuse_req_t req, struct nfs_cred *ret);

/* Sends r->call to the procedure, about the handle that is set already. */
void request_send(struct request *r, enum nfs_proc proc, void (*done)(struct nfs_call *call));

/* Answers with an error (0 or a negative errno) and ends the request. */
void request_end_error(struct request *r, int error);

/* Ends a request that has been answered. */
void request_end(struct request *r);

/*
 * After LOOKUP, CREATE, MKDIR and the like: completes entry_fh and entry_attr, asking again where
 * the server left them out, and calls then(). On failure the request ends.
 */
void request_find_entry(struct request *r, void (*then)(struct request *r));

/*
 * Makes the inode of the found entry and counts the lookup. 0 and the entry to reply with, and a
 * reference to the inode; when the reply does not arrive the lookup must be taken back.
 */
int request_make_entry(struct request *r, struct fuse_entry_param *ret, struct inode **ret_inode);

/* then() of what replies with an entry. */
void request_reply_entry(struct request *r);

void attr_to_stat(const struct nfs_attr *attr, struct stat *ret);

/* Seconds for which the kernel may believe attributes of this type. */
double attr_timeout(const struct fs *fs, uint32_t type);
