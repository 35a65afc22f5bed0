/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sidecar/commit_queue.h"

#include <fcntl.h>
#include <sys/socket.h>

#include "localiofs/reason.h"
#include "sidecar/packet.h"

/* 0 and a job, or -ESHUTDOWN. */
static int take(struct commit_queue *q, struct commit_job *ret)
{
	LOCKED(&q->lock);
	while (q->pending == 0 && !q->stopping)
		(void)pthread_cond_wait(&q->wake, &q->lock);
	if (q->stopping)
		return -ESHUTDOWN;
	*ret = q->jobs[q->first];
	q->first = (q->first + 1) % COMMIT_PENDING;
	q->pending--;
	return 0;
}

static void *work(void *arg)
{
	struct commit_queue *q = arg;
	struct commit_job job;

	while (take(q, &job) >= 0) {
		int r = fsync(job.fd) < 0 ? -errno : 0;

		(void)close_fd(job.fd);
		r = packet_send_status(
			q->socket, BROKER_COMMIT | BROKER_REPLY, job.request, r, REASON_NONE);
		if (r < 0) /* the client does not listen: the session ends */
			(void)shutdown(q->socket, SHUT_RDWR);
	}
	return NULL;
}

void commit_queue_init(struct commit_queue *q, int socket)
{
	*q = (struct commit_queue){.lock = PTHREAD_MUTEX_INITIALIZER,
		.wake = PTHREAD_COND_INITIALIZER,
		.socket = socket};
}

void commit_queue_done(struct commit_queue *q)
{
	{
		LOCKED(&q->lock);
		q->stopping = true;
		(void)pthread_cond_broadcast(&q->wake);
	}
	while (q->nworkers > 0)
		(void)pthread_join(q->workers[--q->nworkers], NULL);
	for (; q->pending > 0; q->pending--) {
		(void)close_fd(q->jobs[q->first].fd);
		q->first = (q->first + 1) % COMMIT_PENDING;
	}
}

/* Under the lock. One more thread while jobs wait for one. */
static int start_worker(struct commit_queue *q)
{
	int r;

	if (q->nworkers == COMMIT_WORKERS)
		return 0;
	r = pthread_create(&q->workers[q->nworkers], NULL, work, q);
	if (r == 0)
		q->nworkers++;
	return q->nworkers > 0 ? 0 : -r;
}

int commit_queue_add(struct commit_queue *q, uint64_t request, int fd)
{
	_cleanup_close_ int copy = fcntl(fd, F_DUPFD_CLOEXEC, 3);
	int r;

	if (copy < 0)
		return -errno;
	LOCKED(&q->lock);
	if (q->pending == COMMIT_PENDING)
		return -EAGAIN;
	r = start_worker(q);
	if (r < 0)
		return r;
	q->jobs[(q->first + q->pending) % COMMIT_PENDING] =
		(struct commit_job){.request = request, .fd = steal_fd(&copy)};
	q->pending++;
	(void)pthread_cond_signal(&q->wake);
	return 0;
}
