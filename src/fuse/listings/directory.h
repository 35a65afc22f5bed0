/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Open directories. The offset of an entry is the server's cookie of the entry before it, so telldir(3) and seekdir(3)
 * work without a stored list. The daemon keeps only one batch of entries, and uses it as long as the kernel's next
 * request continues within it.
 *
 * The lock guards what follows it, so that nothing depends on the kernel's order, which is one READDIR per open
 * directory at a time. Handlers run on any of libfuse's threads, and no handler waits.
 */
#pragma once

#include <pthread.h>

#include "fuse/fs/fs.h"
#include "fuse/listings/batch.h"
#include "fuse/listings/circle.h"
#include "fuse/listings/listing.h"
#include "fuse/request/request.h"

struct directory {
	struct opened opened; /* in the inode's list */
	struct inode *inode;  /* no reference: the kernel remembers the inode while the directory is open */
	atomic_uint refs;     /* one of the open directory, and one per request: after its reply the kernel may close */
	struct opened_as as;  /* constant */
	bool fills;           /* the kernel copies the answers into its listing; constant */
	pthread_mutex_t lock;
	struct batch batch;
	bool ready;           /* the batch is the whole directory, from before the first READDIR */
	struct nfs_verf verf; /* of the server's last reply */
	struct circle circle;
	bool plain;             /* this listing uses READDIR: the server's READDIRPLUS has failed */
	struct listing_sum sum; /* if the directory fills */
};

struct directory *directory_of(const struct fs *fs, const struct fuse_file_info *fi);

void directory_unref(struct directory *d);

/*
 * Asks the sidecar for the digest of the request's directory, as the request's caller. b->done() gets the reply, as for
 * shortcut_digest(), and hands it to directory_digest_told(), which is true if the reply has a digest, and remembers
 * the directory's attributes that came with it.
 */
void directory_ask_digest(struct request *r, struct broker_call *b);
bool directory_digest_told(struct request *r, int error, const struct broker_digested *reply);

/* These put the handlers of directory.c and of readdir.c into libfuse's table. */
void directory_set_operations(struct fuse_lowlevel_ops *ops);
void readdir_set_operations(struct fuse_lowlevel_ops *ops);
