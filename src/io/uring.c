/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "io/uring.h"

#include <limits.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/uio.h>

#include <liburing.h>

#include "log.h"

#define ENTRIES   128 /* of a ring: more reads than that wait in its list */
#define MAX_RINGS 16

struct ring {
	pthread_mutex_t lock;
	struct list waiting; /* struct uring_read.node */
	bool started, stopping;
	pthread_t thread;
	int wake_fd;         /* eventfd: something waits, or the end has come */

	/* The thread's. */
	struct io_uring uring;
	unsigned in_flight;
	uint64_t wakes;      /* what was read of wake_fd */
};

struct uring {
	unsigned nrings;
	struct ring rings[];
};

static int init_ring(struct io_uring *uring)
{
	/* It belongs to the thread that enables it. */
	struct io_uring_params p = {.flags = IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN |
					     IORING_SETUP_SUBMIT_ALL | IORING_SETUP_R_DISABLED};

	return io_uring_queue_init_params(ENTRIES, uring, &p);
}

int uring_new(struct uring **ret)
{
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	unsigned nrings = (unsigned)MAX(1, MIN(cpus, MAX_RINGS));
	struct io_uring trial;
	struct uring *u;
	int r = init_ring(&trial);

	if (r < 0)
		return r;
	io_uring_queue_exit(&trial);
	u = calloc(1, sizeof(*u) + nrings * sizeof(u->rings[0]));
	if (!u)
		return -ENOMEM;
	u->nrings = nrings;
	for (unsigned n = 0; n < nrings; n++) {
		(void)pthread_mutex_init(&u->rings[n].lock, NULL);
		list_init(&u->rings[n].waiting);
		u->rings[n].wake_fd = -1;
	}
	*ret = u;
	return 0;
}

/* ---- a ring's thread ---- */

/* FUSE takes a short answer for the end of the file, so one is believed only when nothing follows. */
static bool is_complete(struct uring_read *r, ssize_t n)
{
	if (n > 0)
		r->have += (size_t)n;
	return n <= 0 || r->have == r->size || r->have % r->align != 0;
}

static void finish(struct uring_read *r, ssize_t n)
{
	r->done(r, n < 0 ? n : (ssize_t)r->have);
}

static struct io_uring_sqe *next_sqe(struct ring *g)
{
	struct io_uring_sqe *sqe = io_uring_get_sqe(&g->uring);

	g->in_flight++;
	if (!sqe)
		abort(); /* in_flight was below ENTRIES */
	return sqe;
}

static void submit_read(struct ring *g, struct uring_read *r)
{
	struct io_uring_sqe *sqe = next_sqe(g);

	io_uring_prep_read(sqe, r->fd, r->buf + r->have, (unsigned)(r->size - r->have), r->offset + r->have);
	io_uring_sqe_set_data(sqe, r);
}

static void submit_wake(struct ring *g)
{
	struct io_uring_sqe *sqe = next_sqe(g);

	io_uring_prep_read(sqe, g->wake_fd, &g->wakes, sizeof(g->wakes), 0);
	io_uring_sqe_set_data(sqe, g);
}

/* What waits, as far as there is room. Returns whether the end has come. */
static bool submit_waiting(struct ring *g)
{
	LOCKED(&g->lock);
	while (!list_empty(&g->waiting) && g->in_flight < ENTRIES) {
		struct list *first = g->waiting.next;

		list_remove(first);
		submit_read(g, CONTAINER_OF(first, struct uring_read, node));
	}
	return g->stopping && list_empty(&g->waiting);
}

static void reap(struct ring *g)
{
	struct io_uring_cqe *cqe;

	while (io_uring_peek_cqe(&g->uring, &cqe) == 0) {
		void *data = io_uring_cqe_get_data(cqe);
		int n = cqe->res;

		io_uring_cqe_seen(&g->uring, cqe);
		g->in_flight--;
		if (data == g)
			submit_wake(g);
		else if (n == -EINTR || n == -EAGAIN || !is_complete(data, n))
			submit_read(g, data);
		else
			finish(data, n);
	}
}

static void *run(void *arg)
{
	struct ring *g = arg;
	int r = io_uring_enable_rings(&g->uring);
	bool last;

	if (r < 0)
		abort(); /* a ring that nobody else has, and that was not enabled yet */
	(void)prctl(PR_SET_NAME, "io_uring", 0, 0, 0);
	submit_wake(g);
	/* At the end only the read of wake_fd is left, which exit cancels. */
	while (last = submit_waiting(g), !last || g->in_flight > 1) {
		r = io_uring_submit_and_wait(&g->uring, 1);
		if (r < 0 && r != -EINTR && r != -EAGAIN && r != -EBUSY)
			log_error("io_uring: %s", strerror(-r));
		reap(g);
	}
	io_uring_queue_exit(&g->uring);
	return NULL;
}

/* ---- the callers ---- */

/* Under the lock. When it cannot be had now, the next read tries again. */
static int start_ring(struct ring *g)
{
	int r = init_ring(&g->uring);

	if (r < 0)
		return r;
	g->wake_fd = eventfd(0, EFD_CLOEXEC);
	r = g->wake_fd < 0 ? -errno : -pthread_create(&g->thread, NULL, run, g);
	g->started = r == 0;
	if (r < 0) {
		g->wake_fd = close_fd(g->wake_fd);
		io_uring_queue_exit(&g->uring);
	}
	return r;
}

static void wake(struct ring *g)
{
	uint64_t one = 1;

	(void)!write(g->wake_fd, &one, sizeof(one));
}

static int enqueue(struct ring *g, struct uring_read *r)
{
	bool first;

	{
		LOCKED(&g->lock);
		if (g->stopping)
			return -ECANCELED;
		if (!g->started) {
			int error = start_ring(g);

			if (error < 0)
				return error;
		}
		first = list_empty(&g->waiting);
		list_append(&g->waiting, &r->node);
	}
	if (first)
		wake(g);
	return 0;
}

void uring_read(struct uring *u, struct uring_read *r)
{
	int error;

	list_init(&r->node);
	r->have = 0;
	while (!r->no_cache) {
		struct iovec iov = {.iov_base = r->buf + r->have, .iov_len = r->size - r->have};
		ssize_t n = preadv2(r->fd, &iov, 1, (off_t)(r->offset + r->have), RWF_NOWAIT);

		if (n >= 0 && is_complete(r, n)) {
			finish(r, n);
			return;
		}
		r->no_cache = n < 0 && errno == EOPNOTSUPP;
		if (n < 0)
			break;
	}
	error = enqueue(&u->rings[(unsigned)MAX(0, sched_getcpu()) % u->nrings], r);
	if (error < 0)
		finish(r, error);
}

struct uring *uring_free(struct uring *u)
{
	if (!u)
		return NULL;
	for (unsigned n = 0; n < u->nrings; n++) {
		struct ring *g = &u->rings[n];
		bool started;

		{
			LOCKED(&g->lock);
			g->stopping = true;
			started = g->started;
		}
		if (started) {
			wake(g);
			(void)pthread_join(g->thread, NULL);
			g->wake_fd = close_fd(g->wake_fd);
		}
		(void)pthread_mutex_destroy(&g->lock);
	}
	free(u);
	return NULL;
}
