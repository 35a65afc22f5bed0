/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sidecar/session/file_jobs.h"

#include <fcntl.h>
#include <limits.h>
#include <linux/falloc.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "localiofs/reason.h"
#include "sidecar/grant/grant.h"
#include "sidecar/broker/packet.h"
#include "sidecar/backing/thread_cred.h"

#define COPY_MAX (64 << 20) /* bytes per job: a copy cannot be interrupted, and the client requests the rest */

/* ---- one job ---- */

/*
 * Opens a file for writing by its descriptor for reading. As root, not with the caller's credential: an owner may write
 * to his file over NFS whatever its mode, and the id says that the client may write.
 */
static int open_for_writing(int fd)
{
	char path[48];
	int r;

	(void)snprintf(path, sizeof(path), "/proc/thread-self/fd/%d", fd);
	r = open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC);
	return r < 0 ? -errno : r;
}

static int64_t change(const struct file_job *job, int target)
{
	const struct broker_range *r = &job->range;
	const struct broker_copy *c = &job->copy;
	off_t from = (off_t)c->from_offset, to = (off_t)c->to_offset;
	ssize_t n;

	if (job->type == BROKER_FALLOCATE)
		return fallocate(target, (int)r->how, (off_t)r->offset, (off_t)r->length) < 0 ? -errno : 0;
	n = copy_file_range(job->fd, &from, target, &to, MIN(c->length, COPY_MAX), 0);
	return n < 0 ? -errno : n;
}

static int64_t change_as(const struct file_job *job)
{
	_cleanup_close_ int target = open_for_writing(job->target);
	int64_t r;

	if (target < 0)
		return target;
	r = thread_cred_become_registrar(&job->cred);
	if (r >= 0)
		r = change(job, target);
	thread_cred_restore();
	return r;
}

/* Truncates with the caller's credential, so the kernel checks the permission again. */
static int64_t truncate_as(const struct file_job *job, struct broker_attr *ret_attr)
{
	_cleanup_close_ int target = -1;
	struct statx stx;
	int r = thread_cred_become(&job->cred);

	if (r >= 0)
		target = r = open_for_writing(job->target);
	if (r >= 0 && ftruncate(target, (off_t)job->size) < 0)
		r = -errno;
	thread_cred_restore();
	return r < 0 ? r : grant_attributes(target, &stx, ret_attr);
}

/* The part of a reply that the result does not tell. */
struct outcome {
	struct broker_attr attr; /* TRUNCATE, DIGEST */
	uint64_t digest;
};

static int64_t read_names(const struct file_job *job, struct outcome *ret)
{
	struct statx stx;
	int r = grant_attributes(job->fd, &stx, &ret->attr);

	return r < 0 ? r : names_directory_digest(job->fd, &job->digest.key, &ret->digest);
}

static int64_t run(const struct file_job *job, struct outcome *ret)
{
	off_t at;

	switch (job->type) {
	case BROKER_COMMIT:
		return (job->data_only ? fdatasync(job->fd) : fsync(job->fd)) < 0 ? -errno : 0;
	case BROKER_SYNC_DIR:
		return fsync(job->fd) < 0 ? -errno : 0;
	case BROKER_SEEK:
		at = lseek(job->fd, (off_t)job->range.offset, (int)job->range.how);
		return at < 0 ? -errno : at;
	case BROKER_TRUNCATE:
		return truncate_as(job, &ret->attr);
	case BROKER_DIGEST:
		return read_names(job, ret);
	default:
		return change_as(job);
	}
}

static int answer_digest(const struct file_jobs *q, const struct file_job *job, int64_t result, const struct outcome *o)
{
	struct broker_digested reply = {.error = (int32_t)result,
		.reason = result == -EAGAIN ? REASON_LIMIT : REASON_SERVER_DECIDES};

	if (result == 0)
		reply = (struct broker_digested){.watched = job->digest.watched, .digest = o->digest, .dir = o->attr};
	return packet_reply(q->socket, q->counters, job->type, job->request, &reply, -1);
}

static int answer(const struct file_jobs *q, const struct file_job *job, int64_t result, const struct outcome *o)
{
	struct broker_truncated truncated = {.error = (int32_t)result, .attr = o->attr};
	struct broker_amount amount = {.error = (int32_t)MIN(result, 0), .amount = (uint64_t)MAX(result, 0)};
	struct broker_status status = {.error = (int32_t)result,
		.reason = result == -EAGAIN ? REASON_LIMIT : REASON_NONE};
	const void *reply = &amount;

	if (job->type == BROKER_DIGEST)
		return answer_digest(q, job, result, o);
	if (job->type == BROKER_TRUNCATE)
		reply = &truncated;
	else if (job->type == BROKER_COMMIT || job->type == BROKER_FALLOCATE || job->type == BROKER_SYNC_DIR)
		reply = &status;
	return packet_reply(q->socket, q->counters, job->type, job->request, reply, -1);
}

static void drop(struct file_job *job)
{
	close_fdp(&job->fd);
	close_fdp(&job->target);
	job->names = name_change_free(job->names);
}

/* ---- the queue ---- */

static atomic_uint shared_workers; /* beyond FILE_JOBS_OWN, of all sessions */

/* Waits for a job. 0, or -ESHUTDOWN. */
static int take(struct file_jobs *q, struct file_job *ret)
{
	LOCKED(&q->lock);
	q->idle++;
	while (q->pending == 0 && !q->stopping)
		(void)pthread_cond_wait(&q->wake, &q->lock);
	q->idle--;
	if (q->stopping)
		return -ESHUTDOWN;
	*ret = q->jobs[q->first];
	q->first = (q->first + 1) % FILE_JOBS_PENDING;
	q->pending--;
	return 0;
}

static int run_and_answer(const struct file_jobs *q, struct file_job *job)
{
	struct outcome o = {0};
	int64_t r;

	if (job->names != NULL)
		return q->change(q->session, job->names, job->request);
	r = run(job, &o);
	close_fdp(&job->fd);
	close_fdp(&job->target);
	return answer(q, job, r, &o);
}

int file_jobs_make(const struct file_jobs *q, struct file_job *job)
{
	int r = run_and_answer(q, job);

	drop(job);
	return r;
}

static void *work(void *arg)
{
	struct file_jobs *q = arg;
	struct file_job job;

	(void)prctl(PR_SET_NAME, "session-worker", 0, 0, 0);
	own_threads_add(q->own, gettid());
	while (take(q, &job) >= 0) {
		/*
		 * If the client does not read, the session ends. The client must not see the end before the last
		 * change is made, so that this end of the connection stays open for sending.
		 */
		if (run_and_answer(q, &job) < 0)
			(void)shutdown(q->socket, SHUT_RD);
		drop(&job);
	}
	return NULL;
}

void file_jobs_init(struct file_jobs *q, int socket, struct own_threads *own, struct counters *counters,
	file_jobs_change_fn change_names, void *session)
{
	*q = (struct file_jobs){.lock = PTHREAD_MUTEX_INITIALIZER,
		.wake = PTHREAD_COND_INITIALIZER,
		.socket = socket,
		.own = own,
		.counters = counters,
		.change = change_names,
		.session = session};
}

void file_jobs_done(struct file_jobs *q)
{
	{
		LOCKED(&q->lock);
		q->stopping = true;
		(void)pthread_cond_broadcast(&q->wake);
	}
	for (; q->nworkers > 0; q->nworkers--) {
		(void)pthread_join(q->workers[q->nworkers - 1], NULL);
		if (q->nworkers > FILE_JOBS_OWN)
			atomic_fetch_sub(&shared_workers, 1);
	}
	for (; q->pending > 0; q->pending--) {
		drop(&q->jobs[q->first]);
		q->first = (q->first + 1) % FILE_JOBS_PENDING;
	}
}

/* True if the session may have one more worker, which is counted then. */
static bool take_worker(const struct file_jobs *q)
{
	if (q->nworkers < FILE_JOBS_OWN)
		return true;
	if (q->nworkers == FILE_JOBS_WORKERS)
		return false;
	if (atomic_fetch_add(&shared_workers, 1) < FILE_JOBS_SHARED)
		return true;
	atomic_fetch_sub(&shared_workers, 1);
	return false;
}

/*
 * The caller holds the lock. Starts one more worker, up to the limits, unless an idle one is left for the next job. 0
 * if any worker exists.
 */
static int start_worker(struct file_jobs *q)
{
	int r;

	if (q->idle > q->pending || !take_worker(q))
		return 0;
	r = pthread_create(&q->workers[q->nworkers], NULL, work, q);
	if (r == 0)
		q->nworkers++;
	else if (q->nworkers >= FILE_JOBS_OWN)
		atomic_fetch_sub(&shared_workers, 1);
	return q->nworkers > 0 ? 0 : -r;
}

/* Takes a waiting job that changes a file; false if no such job waits. */
static bool take_change(struct file_jobs *q, struct file_job *ret)
{
	struct file_job *at, *last;

	LOCKED(&q->lock);
	for (unsigned n = 0; n < q->pending; n++) {
		at = &q->jobs[(q->first + n) % FILE_JOBS_PENDING];
		if (at->target < 0 && at->names == NULL)
			continue;
		/* The protocol does not promise the order of jobs. */
		last = &q->jobs[(q->first + --q->pending) % FILE_JOBS_PENDING];
		*ret = *at;
		*at = *last;
		return true;
	}
	return false;
}

static int refuse_change(const struct file_jobs *q, const struct file_job *job)
{
	struct name_change *c = job->names;

	name_change_refuse(c, -EACCES, REASON_REVOKED);
	return packet_reply(q->socket, q->counters, job->type, job->request, name_change_reply(c), -1);
}

int file_jobs_withdraw(struct file_jobs *q)
{
	struct file_job job;
	int r = 0;

	while (r >= 0 && take_change(q, &job)) {
		r = job.names != NULL ? refuse_change(q, &job) : file_jobs_refuse(q, &job, -EBADF);
		drop(&job);
	}
	return r;
}

static int copy_of(int fd)
{
	int copy = fd >= 0 ? fcntl(fd, F_DUPFD_CLOEXEC, 3) : -1;

	return fd >= 0 && copy < 0 ? -errno : copy;
}

int file_jobs_add(struct file_jobs *q, const struct file_job *job)
{
	_cleanup_close_ int fd = copy_of(job->fd), target = -1;
	struct file_job *place;
	int r;

	if (fd < -1)
		return fd;
	target = copy_of(job->target);
	if (target < -1)
		return target;
	LOCKED(&q->lock);
	if (q->pending == FILE_JOBS_PENDING)
		return -EAGAIN;
	r = start_worker(q);
	if (r < 0)
		return r;
	place = &q->jobs[(q->first + q->pending) % FILE_JOBS_PENDING];
	*place = *job;
	place->fd = steal_fd(&fd);
	place->target = steal_fd(&target);
	q->pending++;
	(void)pthread_cond_signal(&q->wake);
	return 0;
}

int file_jobs_refuse(const struct file_jobs *q, const struct file_job *job, int error)
{
	static const struct outcome none;

	return answer(q, job, error, &none);
}
