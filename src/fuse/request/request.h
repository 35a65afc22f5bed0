/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * One FUSE request on its way through the daemon. The handler makes the request and returns; the remaining steps are
 * done() callbacks, mostly on the loop thread of struct server (io/server.h). The function that ends the request
 * answers it, exactly once.
 *
 * The request owns its state, without a lock: its steps follow each other, and no two of them run at the same time.
 */
#pragma once

#include "fuse/fs/fs.h"
#include "fuse/known/known.h"
#include "fuse/operations/operations.h"

struct request {
	struct nfs_call call; /* the present RPC; each further RPC of the request uses it again */
	struct fs *fs;
	fuse_req_t req;             /* NULL once answered */
	struct operation operation; /* counted at the request's end */
	struct inode *inode;        /* the inode that the kernel named; a reference */
	struct inode *inode2;       /* RENAME, LINK: the directory of the new name; a reference */
	bool has_groups;            /* call.cred includes the groups, or they cannot be found out */
	struct caller opener;   /* of the open file whose credential call.cred is; pid 0: the caller's, or unknown */
	bool groups_later;      /* request_groups_if_needed() */
	bool unannounced;       /* the kernel sends no FUSE_INTERRUPT: FLUSH at exit, asynchronous READ and WRITE */
	uint64_t unknown_since; /* ms: when a caller that /proc does not show got a signal; 0: no signal */
	char *name, *name2;
	void (*then)(struct request *r); /* after request_find_entry() */
	struct inode *removing; /* UNLINK, RENAME: the file that loses a name; OPENs wait (open_hold.h); a reference */
	struct inode *replaced; /* RENAME: an open file that got a .nfs name as its second name; a reference */
	/* Handle and attributes of the found entry. */
	struct nfs_fh entry_fh;
	struct nfs_attr entry_attr;
	bool decoy;     /* the caller gets a decoy of the entry (special_file.h) */
	uint64_t asked; /* attr_clock() when the call was sent, or could have been sent */
	bool changes;   /* the present call changes an inode, and known_change_begin() was called */
	bool moves;     /* a RENAME of a name that is surely another file's than the new name */
	bool changed;   /* the request has changed an inode; the kernel must not cache the answer's attributes */
	bool looked;    /* the request has made the server look at the entry's file (server_refresh.h) */
	bool listed;    /* of a listing: nothing has changed the entry's file since the server told its attributes */
	struct broker_call broker;               /* a question to the sidecar about the entry's file */
	void (*answered)(struct nfs_call *call); /* done() of request_send() */
	struct behind_wait settled;
};

/*
 * Fills a zeroed request. It may be the first member of a larger struct from malloc(); the request's end frees it.
 * Copies the names (NULL for none). On -ENOMEM the request is already answered and freed.
 */
int request_init(struct request *r, fuse_req_t req, fuse_ino_t ino, const char *name, const char *name2);

/* The same without names, and with the credential of an open file or directory in place of the caller's. Cannot fail.
 */
void request_init_open(struct request *r, fuse_req_t req, fuse_ino_t ino, const struct opened_as *as);

/* What later requests about the file or directory need that this request opens. */
struct opened_as request_opened_as(const struct request *r);

/* The same with the caller's uid and gid, but without groups: request_groups() reads them from /proc. */
void request_init_ids(struct request *r, fuse_req_t req, fuse_ino_t ino);

/*
 * Completes the AUTH_UNIX credential with up to 16 groups, unless it has them already: the caller's, or those of the
 * thread that has opened the file, as long as that thread lives and has the same ids.
 */
void request_groups(struct request *r);

/*
 * The request's calls go without groups, and the answer does not depend on them unless it is a refusal, or LOOKUP's
 * directory has other rights by now (known_groups_matter()). After such an answer the call is sent again with groups.
 */
void request_groups_if_needed(struct request *r);

/*
 * For changes of names in the request's inode, and for opens of that inode. The groups decide nothing for the inode's
 * owner, nor for a root whom the server does not squash. So they are read only for the NFS server
 * (nfs_call.tell_groups), for root until the session's sidecar says that they decide. Who uses call.cred for anything
 * else calls request_groups() before.
 */
void request_groups_for_sidecar(struct request *r);

/* calloc() of a plain request and request_init(). NULL after a failure, which is already answered. */
struct request *request_new(fuse_req_t req, fuse_ino_t ino, const char *name, const char *name2);

/* Both with request_groups_for_sidecar(). */
int request_init_change(struct request *r, fuse_req_t req, fuse_ino_t ino, const char *name, const char *name2);
struct request *request_new_change(fuse_req_t req, fuse_ino_t ino, const char *name, const char *name2);

/* The same without groups, as request_init_ids(). */
struct request *request_new_ids(fuse_req_t req, fuse_ino_t ino, const char *name);

/*
 * True if no process waits for the answer any more: the caller was killed, or it exits and only closes its files. For
 * the given_up() of each call that the request waits for.
 */
bool request_given_up(struct request *r);

/* The same, for waits on the write log. */
struct patience request_patience(struct request *r);

/* Sets the directory of the new name. */
void request_set_directory2(struct request *r, fuse_ino_t dir);

/*
 * Sends r->call with this procedure; the caller has set handle and arguments. The mount's knowledge of the request's
 * inodes (known.h) is up to date with the answer before done() runs.
 */
void request_send(struct request *r, enum nfs_proc proc, void (*done)(struct nfs_call *call));

/* Counts the operation, before its reply: whoever has the reply finds the operation counted. */
void request_count(struct request *r);

/* Answers with an error (0 or a negative errno) and ends the request. */
void request_end_error(struct request *r, int error);

/* Ends an answered request: frees it and its references. */
void request_end(struct request *r);
