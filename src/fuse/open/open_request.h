/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * One OPEN or CREATE on its way: may the caller open the file, and which path will its bytes take?
 *
 * May the caller? The answer is that of NFSv3 ACCESS for the caller's credential. The sidecar gives it while the mount
 * is local (open_local.c), the server otherwise (open.c). Does the name still lead to the file? open_name.c. Which
 * path? The inode's open_mode knows: choosing, counting and replying are one step under the inode's lock
 * (open_finish.c).
 *
 * The request owns all its state. Its steps follow each other on the FUSE thread, struct server's loop thread or the
 * probe's thread, never two at a time, and none of them waits. Each step ends in another step or in open_finish() or
 * open_end().
 */
#pragma once

#include "fuse/fs/file.h"
#include "fuse/fs/open_hold.h"
#include "fuse/request/request.h"

struct open_request {
	struct request r;
	struct broker_call broker;
	struct stable_wait wait;
	struct fuse_file_info fi;
	struct fuse_entry_param entry; /* CREATE */
	struct file *file;
	bool create;  /* the request is CREATE, answered with entry and open */
	bool created; /* this very open made the file: it may be opened whatever its mode */
	bool exclusive;
	bool exec;
	bool has_groups;  /* the credential is whole */
	bool has_version; /* ACCESS came with the attributes of now */
	bool wanted_id;
	bool beside_cached; /* the file was open already, cached, when this open could have been local */
	struct open_wish wish;
	void (*then)(struct open_request *o); /* after check_name() */
	struct nfs_fh dir;                    /* which it asks about */
	struct broker_open_reply reply;       /* the sidecar's to the open */
	int given;                            /* the descriptor that came with it, or -1 */
	struct open_hold hold;
	bool counted; /* open_begins() */
};

static inline struct open_request *open_request_of(struct nfs_call *call)
{
	return CONTAINER_OF(call, struct open_request, r.call);
}

/* A request without an inode. NULL after answering with ENOMEM. */
struct open_request *open_request_new(fuse_req_t req, const struct fuse_file_info *fi);

/* open.c: the inode is known. Waits for a removal of one of its names, then goes on. */
void open_start(struct open_request *o);

/* open.c: asks the server: no local path for this open. */
void open_remote(struct open_request *o);

/* open_local.c: asks the sidecar, unless the open is hot. */
void open_local(struct open_request *o);

/*
 * open_local.c: goes on without asking for a grant. False, and nothing has happened: the sidecar must be asked. Needs
 * no groups of the caller where they do not matter.
 */
bool open_hot(struct open_request *o);

/* open_local.c: true if writes of this open may go to the backing file, when there is a descriptor for writing. */
bool open_may_write_locally(const struct open_request *o);

/* The same with the inode's lock held: true if there is a descriptor by which the daemon can write, or read, the file.
 */
bool open_writes_by_descriptor(const struct open_request *o);
bool open_reads_by_descriptor(const struct open_request *o);

/*
 * open_name.c: r.call.attr has the file's present attributes. Goes on with then() if the name that led to the file
 * still leads to it (fuse/node/named.h), else answers ESTALE, once.
 */
void open_check_name(struct open_request *o, void (*then)(struct open_request *o));

/* open_name.c: the two outcomes of that, for open.c, which learns of them from the server. o->then is set. */
void open_name_holds(struct open_request *o);
void open_name_lost(struct open_request *o);

/*
 * open_name.c: close-to-open. When the present attributes differ from those that the kernel was told, the kernel asks
 * for size and times before it shows them next.
 */
void open_know_version(struct open_request *o);

/* open_name.c: the kernel forgets the attributes that it was told until "tellings" was read (known.h). */
void open_take_back_attributes(struct fs *fs, struct inode *i, uint64_t tellings);

/* open_name.c: asks the sidecar for the attributes of a file of which the mount has the handle. */
void open_ask_attributes(struct open_request *o, const struct nfs_fh *fh,
	void (*done)(struct broker_call *call, int error, const void *body));

/* open_finish.c: 0 if these ACCESS bits allow the open, or -EACCES. */
int open_permission(const struct open_request *o, uint32_t access);

/* open_finish.c: the decision is made: chooses the path, counts the open file and replies. */
void open_finish(struct open_request *o);

/* open_finish.c: answers with an error, and takes back what CREATE has counted. */
void open_end(struct open_request *o, int error);

/* open_finish.c: the open modes have no answer: the kernel walks again, and finds a fresh inode. */
void open_retire(struct fs *fs, struct inode *i);

/* open_finish.c, with the inode's lock held: an id or a descriptor without open files waits for the next open. */
void open_mode_changed(struct fs *fs, struct inode *i);

/*
 * open_finish.c, with the inode's lock held: a file that was open for writing is closed. Returns the descriptor that is
 * to be given up without the lock, or NULL.
 */
struct granted_file *open_writer_gone(struct inode *i, const struct file *f);
