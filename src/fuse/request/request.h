/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * One FUSE request on its way through the daemon: the handler makes it and returns; the rest
 * happens in done() callbacks on struct server's loop thread. It is answered exactly once, by the
 * function that ends it.
 */
#pragma once

#include "fuse/fs/fs.h"
#include "fuse/known/known.h"

struct request {
	struct nfs_call call; /* the RPC under way; used again for the next one */
	struct fs *fs;
	fuse_req_t req;         /* NULL once answered */
	struct inode *inode;    /* what the request is about; a reference */
	struct inode *inode2;   /* RENAME, LINK: the directory of the new name; a reference */
	bool unannounced;       /* no FUSE_INTERRUPT comes for it: FLUSH at exit, asynchronous READ and WRITE */
	uint64_t unknown_since; /* ms: a signal came for a caller that cannot be seen; 0: none */
	char *name, *name2;
	void (*then)(struct request *r); /* after request_find_entry() */
	struct inode *removing; /* UNLINK, RENAME: loses a name, and its OPENs wait (open_hold.h); a reference */
	struct inode *replaced; /* RENAME: an open file that got a .nfs name beside its own; a reference */
	/* The entry that was found: its handle and attributes. */
	struct nfs_fh entry_fh;
	struct nfs_attr entry_attr;
	bool decoy;     /* the caller gets a decoy of it */
	uint64_t asked; /* attr_clock() when the call was sent, or could have been */
	bool changes;   /* the call under way changes an inode, and known.h was told */
	bool changed; /* a call of the request did, or the sidecar: its answer is to be believed no more than at once */
	bool looked;  /* the server was made to look at the entry's file */
	struct broker_call broker;               /* about the entry's file */
	void (*answered)(struct nfs_call *call); /* request_send() */
	struct behind_wait settled;
};

/*
 * Fills a zeroed request that may be the first member of something bigger (freed with free()).
 * Copies the names (NULL for none). Returns -ENOMEM after answering with it and freeing r.
 */
int request_init(struct request *r, fuse_req_t req, fuse_ino_t ino, const char *name, const char *name2);

/* The same without names, with an open file's credential in place of the caller's; cannot fail. */
void request_init_open(struct request *r, fuse_req_t req, fuse_ino_t ino, const struct nfs_cred *cred);

/* The same for an open file. When its opener's groups were not read, the caller's are the server's to judge. */
struct file;
void request_init_file(struct request *r, fuse_req_t req, fuse_ino_t ino, const struct file *f);

/* The same with the caller's uid and gid, and no groups yet: for those /proc is read. */
void request_init_ids(struct request *r, fuse_req_t req, fuse_ino_t ino);

/* Up to 16 groups of the caller, which complete his AUTH_UNIX credential. */
void request_groups(struct request *r);

/* calloc() of a plain request and request_init(); NULL after answering. */
struct request *request_new(fuse_req_t req, fuse_ino_t ino, const char *name, const char *name2);

/*
 * Whether nobody wants the answer any more: the caller was killed, or exits and only closes its files
 * now. For nfs_call.given_up of what the request waits for.
 */
bool request_given_up(struct request *r);

/* The same, for what waits for the write log. */
struct patience request_patience(struct request *r);

/* Sets the directory of the new name. */
void request_set_directory2(struct request *r, fuse_ino_t dir);

/*
 * Sends r->call to the procedure, about the handle that is set already. What the answer says of the
 * request's inodes is known (known.h) before done() runs.
 */
void request_send(struct request *r, enum nfs_proc proc, void (*done)(struct nfs_call *call));

/* Answers with an error (0 or a negative errno) and ends the request. */
void request_end_error(struct request *r, int error);

/* Ends a request that has been answered. */
void request_end(struct request *r);
