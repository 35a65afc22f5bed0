/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * One OPEN or CREATE on its way. It has three questions:
 *
 *	May the caller open the file?            the answer of NFSv3 ACCESS for the caller's credential; the sidecar
 *	                                         gives it while the mount is local (open_local.c), otherwise the
 *	                                         server does (open.c)
 *	Does the name still lead to the file?    open_name.c
 *	Which path will the file's data take?    the inode's open_mode decides; choosing and counting are one step under
 *	                                         the inode's lock, and the reply comes after it (open_finish.c)
 *
 * The request owns all its state, without a lock. Its steps run on the FUSE thread, the loop thread of struct server or
 * the probe's thread, never two at a time, and no step waits. Each step ends in another step, in open_finish() or in
 * open_end().
 */
#pragma once

#include "fuse/fs/file.h"
#include "fuse/fs/open_hold.h"
#include "fuse/open/open_offer.h"
#include "fuse/request/request.h"
#include "fuse/shortcut/shortcut.h"

struct open_request {
	struct request r;
	struct broker_call broker;
	struct stable_wait wait;
	struct fuse_file_info fi;
	struct fuse_entry_param entry; /* CREATE: the entry for the reply */
	struct file *file;
	bool create;  /* the request is CREATE: the reply is an entry and an open file */
	bool created; /* this open has made the file: the caller may open the file whatever its mode */
	bool exclusive;
	bool exec;
	bool has_version;   /* r.call.attr has the file's present attributes */
	uint32_t wanted;    /* of the sidecar: open_offer_wants(); 0 also if it was not asked */
	bool beside_cached; /* this open could have been local, but the file already had cached opens */
	struct open_wish wish;
	struct opening opening;               /* CREATE: the sidecar's reply to the open may come with that to CREATE */
	void (*then)(struct open_request *o); /* after open_check_name() */
	struct nfs_fh dir;                    /* the directory in which open_check_name() checks the name */
	struct broker_open_reply reply;       /* the sidecar's reply to the open */
	int given;                            /* the descriptor that came with the reply, or -1 */
	struct granted_file *looker;          /* one that came, for the inode (granted_file.h), or NULL */
	struct opener known;                  /* of an open that may be hot */
	struct open_hold hold;
	bool counted; /* open_begins() has counted the open */
};

static inline struct open_request *open_request_of(struct nfs_call *call)
{
	return CONTAINER_OF(call, struct open_request, r.call);
}

/* Makes a request without an inode. NULL if there is no memory: the FUSE request is answered with ENOMEM then. */
struct open_request *open_request_new(fuse_req_t req, const struct fuse_file_info *fi);

/* open.c: starts the open of the request's inode, after a removal of one of its names that is under way. */
void open_start(struct open_request *o);

/* open.c: fills in exec and wish from the flags of the open. */
void open_wish(struct open_request *o);

/* open.c: asks the server for permission. This open gets no local path. */
void open_remote(struct open_request *o);

/* open_local.c: asks the sidecar, unless the open is hot (known.h). */
void open_local(struct open_request *o);

/*
 * open_local.c: if the open is hot, goes on without a grant, and without the caller's groups if they do not matter.
 * False if the sidecar must be asked; then nothing has happened.
 */
bool open_hot(struct open_request *o);

/*
 * open_local.c: goes on with the reply that came with the reply to CREATE. False if there is none of this session; then
 * nothing has happened.
 */
bool open_made(struct open_request *o);

/*
 * open_name.c: calls then() if the name that led to the file still leads to it (fuse/node/named.h). Otherwise answers
 * ESTALE, once per walk. r.call.attr has the file's present attributes.
 */
void open_check_name(struct open_request *o, void (*then)(struct open_request *o));

/* open_name.c: the two outcomes of that check, for open.c, which has the outcome from the server. o->then is set. */
void open_name_holds(struct open_request *o);
void open_name_lost(struct open_request *o);

/*
 * open_name.c: close-to-open. If the file's present attributes differ from those that the kernel was told, makes the
 * kernel ask for size and times before it uses them again.
 */
void open_know_version(struct open_request *o);

/* open_name.c: asks the sidecar for the attributes of the file with this handle. flags: more BROKER_OPEN_ flags. */
void open_ask_attributes(struct open_request *o, const struct nfs_fh *fh, uint32_t flags,
	void (*done)(struct broker_call *call, int error, const void *body));

/* open_finish.c: 0 if these ACCESS bits allow the open, otherwise -EACCES. */
int open_permission(const struct open_request *o, uint32_t access);

/* open_finish.c: the caller may open the file. Chooses the path, counts the open file and replies. */
void open_finish(struct open_request *o);

/* open_finish.c: answers with an error, and uncounts the lookup of a CREATE. */
void open_end(struct open_request *o, int error);

/* open_finish.c: no open mode fits this inode's opens: retires the inode, so that the next walk makes a new one. */
void open_retire(struct fs *fs, struct inode *i);

/*
 * open_finish.c: a file that was open for writing is closed. The caller holds the inode's lock. Returns the descriptor
 * that the caller must give up after it has released the lock, or NULL.
 */
struct granted_file *open_writer_gone(struct inode *i, const struct file *f);
