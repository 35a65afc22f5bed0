/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The write log of one file: the data of UNSTABLE writes that the server has acknowledged and not
 * yet committed, RFC 1813 4.8. A commit asks the server for COMMIT and compares the write verifier
 * with the one that each write was answered with; what a restarted server may have lost is sent
 * again as FILE_SYNC before anybody is told that the data is stable.
 *
 * Sent late, old data must not cover newer data. So nothing else of the file is written while data is
 * sent again: what is on its way is waited for, what comes meanwhile is held. And newer data that
 * overlaps it, of whatever kind and wherever it is stable already, is sent once more behind it.
 *
 * The log has a lock of its own, held only to move list items. Callbacks come on struct server's
 * loop thread, or on the caller's when there is nothing to wait for.
 */
#pragma once

#include "fuse/writes/data_write.h"
#include "fuse/writes/write_errors.h"

struct write_log {
	pthread_mutex_t lock;
	struct list kept;    /* struct data_write.kept */
	size_t bytes;        /* those take */
	struct list waiting; /* struct commit_wait.node: arrived while a commit runs */
	struct commit *running;
	struct list held;      /* struct data_write.kept: are sent when no data is sent again any more */
	struct server *server; /* theirs */
	bool resending;
	unsigned flying;     /* writes on the wire */
	unsigned unanswered; /* and those that will be */
	struct write_errors errors;
};

/* Whether who waits still wants to, asked as nfs_call.given_up. No function: it waits. */
struct patience {
	bool (*given_up)(void *arg);
	void *arg;
};

static inline bool patience_ended(const struct patience *p)
{
	return p->given_up && p->given_up(p->arg);
}

/* Somebody who wants to know when everything answered so far is stable. */
struct commit_wait {
	struct list node;
	void (*done)(struct commit_wait *w, int error);
	struct patience patience; /* at its end done() comes with -EINTR, and the commit goes on */
};

void write_log_init(struct write_log *log);
void write_log_done(struct write_log *log);

/* Counts a write that will go on the wire. */
void write_log_started(struct write_log *log);

/* Hands a write, or what an answer has left of it, to the server as soon as it may go. */
void write_log_send(struct write_log *log, struct server *t, struct data_write *w);

enum write_result {
	WRITE_FAILED, /* or was never sent */
	WRITE_STABLE,
	WRITE_UNSTABLE,
};

/*
 * The write is answered, with w->verf. Keeps it when it was answered UNSTABLE, or follows what was;
 * frees it otherwise. Returns true when it is time to commit before this writer goes on: the process
 * keeps more than WRITE_LOG_LIMIT bytes, or the log more than WRITE_LOG_COMMIT and nobody else sees to it.
 */
bool write_log_answered(struct write_log *log, struct data_write *w, enum write_result result);

/* A write was lost: every open file is to learn of it. */
void write_log_fail(struct write_log *log, int error);

/* What an open file knows at first, and what its fsync or close is to say: write_errors.h. */
struct errors_heard write_log_open(struct write_log *log);
int write_log_tell(struct write_log *log, struct errors_heard *heard, bool closes);

/* How often data was lost so far. */
unsigned write_log_errors(struct write_log *log);

#define WRITE_LOG_LIMIT  (64U << 20) /* bytes that all logs of the process keep, records included */
#define WRITE_LOG_COMMIT (16U << 20) /* so that a fast writer need not wait for all of that at once */

/* True when a commit would have something to do. */
bool write_log_dirty(struct write_log *log);

/*
 * Makes everything that was answered so far stable, then calls done with 0 or the first error.
 * The file handle and credential are those of any opener; a log is never freed while it runs.
 */
void write_log_commit(struct write_log *log, struct server *t, const struct nfs_fh *fh, const struct nfs_cred *cred,
	struct commit_wait *w);
