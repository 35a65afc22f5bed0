/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The fsyncs of one session, done by a few worker threads so that its other requests go on
 * meanwhile. The workers share the session's descriptor table; each job owns a duplicate of the
 * descriptor (errors are remembered per open file, which duplicates share) and is answered on the
 * session's socket. The threads are made when the first COMMIT comes.
 *
 * Guarded by its own mutex, never held across a system call on a file.
 */
#pragma once

#include <stdint.h>

#include "util.h"

#define COMMIT_WORKERS 4
#define COMMIT_PENDING 256

struct commit_job {
	uint64_t request;
	int fd;
};

struct commit_queue {
	pthread_mutex_t lock;
	pthread_cond_t wake;
	pthread_t workers[COMMIT_WORKERS];
	unsigned nworkers;
	struct commit_job jobs[COMMIT_PENDING]; /* a ring */
	unsigned first, pending;
	bool stopping;
	int socket;
};

void commit_queue_init(struct commit_queue *q, int socket);
/* Waits for the jobs under way, drops the others. */
void commit_queue_done(struct commit_queue *q);
/* fsyncs a duplicate of fd and answers request; -EAGAIN when too many are pending. */
int commit_queue_add(struct commit_queue *q, uint64_t request, int fd);
