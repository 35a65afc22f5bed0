/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Write-behind of one file: writes that were answered to their writer, and that go to the server, or to the backing
 * file, a little later, gathered into larger requests. Only for opens whose writes the kernel also keeps as pages, and
 * that did not ask to be synchronous.
 *
 * Write-behind sets its own pace: data that comes while no request is on its way is sent at once. Data that comes while
 * a request is on its way is gathered until that request is answered or the gathered request is full. So no data lies
 * still. A short local write takes less time than its writer needs for the next one. So a pause follows the local
 * write, and data that comes during the pause is gathered as if the request were still on its way. A writer that is too
 * fast waits: its reply does. No two requests that overlap are ever on their way together, since a server may answer,
 * and do, requests in any order.
 *
 * Reads, GETATTR, SETATTR and commits wait until the writes that came before them are answered. From its answer on a
 * write belongs to the write log. The log keeps an error for the FLUSH and FSYNC of every open file.
 *
 * Write-behind knows the file only by a table of functions, struct behind_file_ops. The lock of the file guards struct
 * write_behind. Calls are submitted and callbacks run without the lock, on the thread of the caller, of the server
 * or of a ring.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fuse/writes/write_log.h"

struct gathered;
struct uring_io;

struct write_behind {
	pthread_mutex_t *lock;      /* the file's; constant */
	struct gathered *gathering; /* may still grow */
	struct list full;           /* struct gathered.node: wait for their turn */
	struct list sent;
	unsigned flying; /* number of sent requests */
	bool pausing;
	uint64_t last;     /* number of the newest request */
	uint64_t answered; /* attr_clock() at the last answer */
	struct list writers, waits;
};

void write_behind_init(struct write_behind *b, pthread_mutex_t *lock);

struct behind_file;

/* What write-behind asks of its file. None of the functions waits. The lock is not held unless the comment says so. */
struct behind_file_ops {
	/* A request or a pause keeps the file until its end. */
	void (*ref)(const struct behind_file *f);
	void (*unref)(const struct behind_file *f);

	/*
	 * Chooses where the data of a writer goes that may write locally in that session: 0 and *ret_session as in
	 * struct behind_writer. -EBUSY: the data must not be gathered, since an open of another kind sees the backing
	 * file. The caller holds the lock, under which opens choose their path: so an open finds this write, or this
	 * write finds the open.
	 */
	int (*choose)(const struct behind_file *f, uint64_t session, uint64_t *ret_session);

	/*
	 * Begins to write *io to the backing file by a descriptor of that session. False: the server must write it.
	 * io->done() comes on any thread, maybe before this function returns, and calls end_local_write().
	 */
	bool (*begin_local_write)(const struct behind_file *f, uint64_t session, struct uring_io *io);
	void (*end_local_write)(const struct behind_file *f, struct uring_io *io);

	/* Calls io->done() after the pause that uring_pause() makes. */
	void (*pause)(const struct behind_file *f, struct uring_io *io);

	/* All bytes of one request are written. */
	void (*on_written)(const struct behind_file *f, size_t bytes);
};

/* A file and its mount as write-behind sees them. Constant. Each request keeps a copy. */
struct behind_file {
	const struct behind_file_ops *ops;
	void *mount, *file; /* for the functions of the table */
	struct write_behind *behind;
	struct write_log *log;
	const struct nfs_fh *fh;
	struct server *server;
	uint32_t wsize; /* bytes of one WRITE */
};

/* A writer whose reply waits for room. done(): -EINTR when the writer's patience has ended. Any thread. */
struct behind_writer {
	struct list node;
	struct patience patience;
	uint64_t session; /* the session in which the writer may write locally; 0: its data goes to the server */
	bool as_root;     /* with a session: the writer is the server's root */
	void (*done)(struct behind_writer *w, int error);
};

/*
 * Takes a copy of the data. 0: the writer may be answered. 1: the writer may be answered when w->done() says so.
 * -EBUSY: an open of another kind sees the backing file, or the data overlaps a request that is gathered or on its way.
 * Then, and after -ENOMEM, the caller settles and writes in the ordinary way.
 */
int write_behind_add(const struct behind_file *f, const struct nfs_cred *cred, uint64_t offset, const void *data,
	size_t size, struct behind_writer *w);

/*
 * True if attributes that were asked for at that time (attr_clock()) may be older than data that the kernel has. The
 * caller holds the lock.
 */
bool write_behind_outdates(const struct write_behind *b, uint64_t asked);

/* A caller that waits until every write that came before is answered. done(): 0, or -EINTR as above. */
struct behind_wait {
	struct list node;
	struct patience patience;
	uint64_t last;
	unsigned left;
	void (*done)(struct behind_wait *w, int error);
};

/* Sends all gathered data and calls done() when it is answered: at once when there is none. */
void write_behind_settle(struct write_behind *b, struct behind_wait *w);

/* A caller that waits for stable data. */
struct stable_wait {
	struct behind_wait behind;
	struct commit_wait commit;
	struct behind_file file; /* the caller keeps a reference until done() */
	struct nfs_cred cred;
	struct patience patience;
	void (*done)(struct stable_wait *w, int error);
};

/* Settles, and then commits: done() comes with 0 or the first error when all data is stable. */
void write_behind_commit(const struct behind_file *f, const struct nfs_cred *cred, struct stable_wait *w);
