/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What one session has to do with its files that may take long: fsync, fallocate, seek, copy, truncate. A few worker
 * threads do it, so that the session's other requests go on meanwhile. The workers share the session's
 * descriptor table; each job owns duplicates of the descriptors (errors are remembered per open file, which
 * duplicates share) and is answered on the session's socket. The threads are made when the first job comes.
 *
 * What changes a file is done with the credential that its id was registered with, as the kernel's writes to it
 * are: set-id bits are cleared, reserved blocks and quotas are that user's. A truncation is its caller's own.
 *
 * Guarded by its own mutex, never held across a system call on a file.
 *
 * Answers of a session leave in the order of its requests, except answers of file_jobs. A descriptor's number serves in
 * these requests as an id does. A change of a file is refused after a REVOKE, although the kernel's own writes go on.
 * When rights are taken away, waiting jobs are refused. When the sidecar stops, its clients hear of that after the jobs
 * that are under way.
 *
 * TRUNCATE carries a handle and a credential instead of an id: the caller's right to write counts, not an id's. It does
 * the work of ACCESS and SETATTR for a caller who may write; the server decides for an owner without that right and for
 * files with set-id bits. The daemon sends TRUNCATE only while the file is open locally for writing, and not with the
 * mount option sync: the writer's close makes the new size stable, while SETATTR is stable when it is answered.
 */
#pragma once

#include <stdint.h>

#include "localiofs/broker_protocol.h"
#include "base/util.h"

#define FILE_JOBS_WORKERS 4
#define FILE_JOBS_PENDING 256

struct file_job {
	uint32_t type; /* BROKER_COMMIT, FALLOCATE, SEEK, COPY, TRUNCATE, SYNC_DIR */
	uint64_t request;
	int fd;                  /* what is asked about; of COPY the source */
	int target;              /* what is changed: FALLOCATE, COPY, TRUNCATE; else -1 */
	struct broker_cred cred; /* for that */
	union {
		struct broker_range range;
		struct broker_copy copy;
		uint64_t size; /* TRUNCATE */
	};
};

struct file_jobs {
	pthread_mutex_t lock;
	pthread_cond_t wake;
	pthread_t workers[FILE_JOBS_WORKERS];
	unsigned nworkers;
	struct file_job jobs[FILE_JOBS_PENDING]; /* a ring */
	unsigned first, pending;
	bool stopping;
	int socket;
};

void file_jobs_init(struct file_jobs *q, int socket);
/* Waits for the jobs under way, drops the others. */
void file_jobs_done(struct file_jobs *q);
/* Rights were taken away: the jobs that change a file, and wait still, are answered -EBADF. */
int file_jobs_withdraw(struct file_jobs *q);
/* Does the job with duplicates of its descriptors, which may be -1, and answers; -EAGAIN when too many are pending. */
int file_jobs_add(struct file_jobs *q, const struct file_job *job);
/* Answers, with a negative errno, what is not to be done. */
int file_jobs_refuse(const struct file_jobs *q, const struct file_job *job, int error);
