/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The write log of one file: the data of UNSTABLE writes that the server has acknowledged and not yet committed, RFC
 * 1813 4.8. A commit asks the server for COMMIT and compares the answer's write verifier with the verifier of each
 * write. Data that a restarted server may have lost is sent again as FILE_SYNC before any caller is told that the data
 * is stable.
 *
 * Old data that is sent late must not cover newer data. So no other data of the file is written while data is sent
 * again: the commit waits for writes that are on their way, and holds writes that come meanwhile. Newer data that
 * overlaps the old data, of whatever kind and even if it is stable already, is sent once more behind the old data.
 *
 * The log has a lock of its own, held only to move list items. Callbacks come on the server's loop thread, or on the
 * caller's thread when there is no answer to wait for.
 */
#pragma once

#include "fuse/writes/data_write.h"
#include "fuse/writes/write_errors.h"

struct write_log {
	pthread_mutex_t lock;
	struct list kept;    /* struct data_write.kept */
	size_t bytes;        /* of the kept writes */
	struct list waiting; /* struct commit_wait.node: arrived while a commit runs */
	struct commit *running;
	struct list held;      /* struct data_write.kept: sent when no data is sent again any more */
	struct server *server; /* of the held writes */
	bool resending;
	unsigned flying;     /* writes on the wire */
	unsigned unanswered; /* writes on the wire, and writes that will be */
	struct write_errors errors;
};

/* given_up: true if the caller does not wait any more, asked as nfs_call.given_up. NULL: the caller waits. */
struct patience {
	bool (*given_up)(void *arg);
	void *arg;
};

static inline bool patience_ended(const struct patience *p)
{
	return p->given_up && p->given_up(p->arg);
}

/* A caller that waits until all writes that were answered so far are stable. */
struct commit_wait {
	struct list node;
	void (*done)(struct commit_wait *w, int error);
	struct patience patience; /* when it ends done() comes with -EINTR, and the commit goes on */
};

void write_log_init(struct write_log *log);
void write_log_done(struct write_log *log);

/* Counts a write that will go on the wire. */
void write_log_started(struct write_log *log);

/* Hands a write, or the rest that an answer left of it, to the server as soon as it may go. */
void write_log_send(struct write_log *log, struct server *t, struct data_write *w);

enum write_result {
	WRITE_FAILED, /* or the write was never sent */
	WRITE_STABLE,
	WRITE_UNSTABLE,
};

/*
 * The write is answered, with w->verf. Keeps the write when it was answered UNSTABLE, or follows a write that was;
 * frees it otherwise. True if the log must be committed before this writer goes on: the process keeps more than
 * WRITE_LOG_LIMIT bytes, or the log keeps more than WRITE_LOG_COMMIT and no commit runs.
 */
bool write_log_answered(struct write_log *log, struct data_write *w, enum write_result result);

/* A write was lost: every open file will hear of the error. */
void write_log_fail(struct write_log *log, int error);

/* The losses that a new open has heard of, and the result of its fsync or close: write_errors.h. */
struct errors_heard write_log_open(struct write_log *log);
int write_log_tell(struct write_log *log, struct errors_heard *heard, bool closes);

/* The number of losses so far. */
unsigned write_log_errors(struct write_log *log);

#define WRITE_LOG_LIMIT  (64U << 20) /* bytes that all logs of the process keep, records included */
#define WRITE_LOG_COMMIT (16U << 20) /* so that a fast writer need not wait for all of WRITE_LOG_LIMIT at once */

/* True if a commit would have work to do. */
bool write_log_dirty(struct write_log *log);

/*
 * Makes all writes that were answered so far stable, then calls done() with 0 or the first error. The file handle and
 * credential are those of any opener. A log is never freed while a commit runs.
 */
void write_log_commit(struct write_log *log, struct server *t, const struct nfs_fh *fh, const struct nfs_cred *cred,
	struct commit_wait *w);
