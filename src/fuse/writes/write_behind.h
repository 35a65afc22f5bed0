/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Write-behind of one file: writes that were answered to their writer and go to the server, or to the backing file, a
 * little later, gathered into bigger ones. Only for opens whose writes the kernel keeps as pages, too, and
 * that did not ask to be synchronous.
 *
 * It keeps its own time: what comes while nothing is on its way is sent at once, what comes
 * meanwhile is gathered until an answer is there or a request is full. So nothing lies still. The backing
 * file takes little data in less time than its writer needs for more, so a pause follows it, which for what
 * comes is as if it were on its way still. A writer who is too fast waits (its reply does). No two requests
 * that overlap are ever on their way together, since a server answers them in any order.
 *
 * Reads, GETATTR, SETATTR and commits wait until what came before them is answered. From its answer
 * on a write is the write log's. An error is kept there for the FLUSH and FSYNC of every open file.
 *
 * The inode's lock guards it; calls are submitted and callbacks run without it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fuse/writes/write_log.h"

struct fs;
struct inode;
struct gathered;

struct write_behind {
	struct gathered *gathering; /* may still grow */
	struct list full;           /* struct gathered.node: wait for their turn */
	struct list sent;
	unsigned flying; /* how many those are */
	bool pausing;
	uint64_t last;     /* number of the newest */
	uint64_t answered; /* attr_clock() when the last one was */
	struct list writers, waits;
};

void write_behind_init(struct write_behind *b);

/* A writer whose reply waits for room: -EINTR when it did not want to any longer. Any thread. */
struct behind_writer {
	struct list node;
	struct patience patience;
	uint64_t session; /* in which it may go to the backing file, granted_file_to_write(); 0: to the server */
	bool root;        /* with that: the writer is the server's root */
	void (*done)(struct behind_writer *w, int error);
};

/*
 * Takes a copy of the data. 0: the writer may be answered. 1: when w->done() says so. -EBUSY: not
 * now, since a local open is there, of another kind than this one, or it overlaps what is on its way; then the caller
 * settles and writes in the ordinary way. -ENOMEM: the same.
 */
int write_behind_add(struct fs *fs, struct inode *i, const struct nfs_cred *cred, uint64_t offset, const void *data,
	size_t size, struct behind_writer *w);

/*
 * With the inode's lock: whether attributes that were asked for at that time (attr_clock()) may be
 * older than data that the kernel has.
 */
bool write_behind_outdates(const struct write_behind *b, uint64_t asked);

/* Somebody who waits until every write that came before is answered: 0, or -EINTR as above. */
struct behind_wait {
	struct list node;
	struct patience patience;
	uint64_t last;
	unsigned left;
	void (*done)(struct behind_wait *w, int error);
};

/* Sends all there is and calls done() when it is answered: at once when there is nothing. */
void write_behind_settle(struct inode *i, struct behind_wait *w);

/* The same, and then COMMIT: done() with 0 or the first error when all of it is stable. */
struct stable_wait {
	struct behind_wait behind;
	struct commit_wait commit;
	struct fs *fs;
	struct inode *inode; /* the caller keeps a reference until done() */
	struct nfs_cred cred;
	struct patience patience;
	void (*done)(struct stable_wait *w, int error);
};

void write_behind_commit(struct fs *fs, struct inode *i, const struct nfs_cred *cred, struct stable_wait *w);
