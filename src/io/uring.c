/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "io/uring.h"

#include <cap-ng.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/fsuid.h>
#include <sys/prctl.h>

#include "io/registered.h"
#include "base/log.h"
#include "net/wake.h"

#define ENTRIES 128  /* requests that a ring has in progress; further requests wait in the ring's list */
#define NOBODY  (-2) /* a uid without files: 65534 may own files and, with resuid= of ext4, reserved blocks */

struct ring {
	pthread_mutex_t lock;
	struct list waiting; /* struct uring_io.node */
	bool started, stopping;
	pthread_t thread;
	struct wake wake;    /* a request waits, or the ring stops */
	unsigned number, of; /* this is ring `number` of `of` rings */

	/* These belong to the ring's thread. */
	struct io_uring uring;
	unsigned in_flight;
	uint64_t wakes; /* the buffer for reads of wake */
	struct registered registered;
	/*
	 * The number that io_uring_register_personality(3) gave to root's credential; or a negative errno, without
	 * writes.
	 */
	int root;
};

struct uring {
	pthread_mutex_t lock; /* held while the rings start */
	atomic_bool started;
	unsigned nrings;
	struct ring rings[];
};

static int init_ring(struct io_uring *uring)
{
	/* A disabled ring belongs to the thread that enables it. */
	struct io_uring_params p = {.flags = IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN |
					     IORING_SETUP_SUBMIT_ALL | IORING_SETUP_R_DISABLED};

	return io_uring_queue_init_params(ENTRIES, uring, &p);
}

int uring_new(struct uring **ret)
{
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	unsigned nrings = (unsigned)MAX(1, MIN(cpus, URING_MAX_RINGS));
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
	(void)pthread_mutex_init(&u->lock, NULL);
	for (unsigned n = 0; n < nrings; n++) {
		(void)pthread_mutex_init(&u->rings[n].lock, NULL);
		list_init(&u->rings[n].waiting);
		u->rings[n].wake = WAKE_CLOSED;
		u->rings[n].number = n;
		u->rings[n].of = nrings;
	}
	*ret = u;
	return 0;
}

/* ---- a ring's thread ---- */

/*
 * True if the request has its result; otherwise the rest must be submitted again. FUSE takes a short answer for the end
 * of the file, so a read is complete only if it is whole or if the next read returns nothing.
 */
static bool is_complete(struct uring_io *io, ssize_t n)
{
	if (n > 0)
		io->have += (size_t)n;
	return n <= 0 || io->have == io->size || (io->op == URING_READ && io->have % io->align != 0);
}

static void finish(struct uring_io *io, ssize_t n)
{
	io->done(io, n < 0 ? n : (ssize_t)io->have);
}

static struct io_uring_sqe *next_sqe(struct ring *g)
{
	struct io_uring_sqe *sqe = io_uring_get_sqe(&g->uring);

	g->in_flight++;
	if (!sqe)
		abort(); /* impossible: in_flight was below ENTRIES */
	return sqe;
}

static void submit(struct ring *g, struct uring_io *io)
{
	static struct __kernel_timespec pause = {.tv_nsec = 300000};
	struct io_uring_sqe *sqe = next_sqe(g);
	unsigned rest = (unsigned)(io->size - io->have);

	switch (io->op) {
	case URING_READ:
		io_uring_prep_read(sqe, io->file->fd, io->buf + io->have, rest, io->offset + io->have);
		registered_use(&g->registered, sqe, io);
		break;
	case URING_WRITE:
		io_uring_prep_write(sqe, g->root >= 0 ? io->file->fd : -1, io->buf + io->have, rest,
			io->offset + io->have);
		sqe->rw_flags = io->how;
		sqe->personality = io->as_root && g->root >= 0 ? (uint16_t)g->root : 0;
		if (g->root >= 0)
			registered_use(&g->registered, sqe, io);
		break;
	case URING_SYNC:
		io_uring_prep_fsync(sqe, io->file->fd, io->how == RWF_DSYNC ? IORING_FSYNC_DATASYNC : 0);
		registered_use(&g->registered, sqe, io);
		break;
	case URING_PAUSE:
		io_uring_prep_timeout(sqe, &pause, 0, 0);
		break;
	case URING_FORGET:
		registered_forget(&g->registered, sqe, io->file);
		break;
	}
	io_uring_sqe_set_data(sqe, io);
}

static void submit_wake(struct ring *g)
{
	struct io_uring_sqe *sqe = next_sqe(g);

	io_uring_prep_read(sqe, g->wake.fd, &g->wakes, sizeof(g->wakes), 0);
	io_uring_sqe_set_data(sqe, g);
}

static struct uring_io *take_waiting(struct ring *g)
{
	struct list *first;

	LOCKED(&g->lock);
	if (list_empty(&g->waiting))
		return NULL;
	first = g->waiting.next;
	list_remove(first);
	return CONTAINER_OF(first, struct uring_io, node);
}

/* Submits waiting requests, up to ENTRIES in progress. True if the ring stops and no request waits. */
static bool submit_waiting(struct ring *g)
{
	struct uring_io *io;

	while (g->in_flight < ENTRIES && (io = take_waiting(g)))
		submit(g, io);
	LOCKED(&g->lock);
	return g->stopping && list_empty(&g->waiting);
}

static void reap(struct ring *g)
{
	struct io_uring_cqe *cqe;

	while (io_uring_peek_cqe(&g->uring, &cqe) == 0) {
		void *data = io_uring_cqe_get_data(cqe);
		struct uring_io *io = data;
		int n = cqe->res;

		io_uring_cqe_seen(&g->uring, cqe);
		g->in_flight--;
		if (data == g) {
			submit_wake(g);
		} else if (io->op == URING_FORGET) {
			registered_forgotten(&g->registered, io->file, n);
			finish(io, 0);
		} else if (n == -EINTR || n == -EAGAIN || !is_complete(io, n)) {
			submit(g, io);
		} else {
			finish(io, n);
		}
	}
}

/*
 * Makes this thread, and the kernel's worker threads for its ring, uid NOBODY without capabilities. Returns the number
 * of root's credential for sqe->personality, or a negative errno.
 */
static int become_nobody(struct io_uring *uring)
{
	int root;

	capng_clear(CAPNG_SELECT_CAPS);
	(void)capng_update(CAPNG_ADD, CAPNG_EFFECTIVE | CAPNG_PERMITTED, CAP_SETUID);
	if (capng_apply(CAPNG_SELECT_CAPS) < 0)
		return -EPERM;
	root = io_uring_register_personality(uring);
	(void)setfsuid(NOBODY);
	capng_clear(CAPNG_SELECT_CAPS);
	return setfsuid((uid_t)-1) == NOBODY && capng_apply(CAPNG_SELECT_CAPS) == 0 ? root : -EPERM;
}

static void *run(void *arg)
{
	struct ring *g = arg;
	int r = io_uring_enable_rings(&g->uring);
	sigset_t all;
	bool last;

	if (r < 0)
		abort(); /* impossible: this thread alone has the ring, and enables it once */
	(void)prctl(PR_SET_NAME, "io_uring", 0, 0, 0);
	(void)sigfillset(&all);
	/* Also SIGXFSZ: the file size limit is the daemon's, not the writer's. */
	(void)pthread_sigmask(SIG_SETMASK, &all, NULL);
	g->root = become_nobody(&g->uring);
	registered_init(&g->registered, &g->uring, g->number, g->of);
	submit_wake(g);
	/* At the end only the read of wake is in progress, and io_uring_queue_exit() cancels it. */
	while (last = submit_waiting(g), !last || g->in_flight > 1) {
		r = io_uring_submit_and_wait(&g->uring, 1);
		if (r < 0 && r != -EINTR && r != -EAGAIN && r != -EBUSY)
			log_error_limited("io_uring: %s", strerror(-r));
		reap(g);
	}
	registered_end(&g->registered);
	io_uring_queue_exit(&g->uring);
	return NULL;
}

/* ---- the callers ---- */

static int start_ring(struct ring *g)
{
	int r;

	LOCKED(&g->lock);
	if (g->stopping)
		return -ECANCELED;
	if (g->started)
		return 0;
	r = init_ring(&g->uring);
	if (r < 0)
		return r;
	r = wake_open_for_ring(&g->wake);
	if (r == 0)
		r = -pthread_create(&g->thread, NULL, run, g);
	g->started = r == 0;
	if (r < 0) {
		wake_close(&g->wake);
		io_uring_queue_exit(&g->uring);
	}
	return r;
}

static int enqueue(struct ring *g, struct uring_io *io)
{
	bool first;

	{
		LOCKED(&g->lock);
		if (g->stopping)
			return -ECANCELED;
		first = list_empty(&g->waiting);
		list_append(&g->waiting, &io->node);
	}
	if (first)
		wake_up(g->wake);
	return 0;
}

/*
 * Starts all rings together (uring.h says why). If a ring fails to start, the next request tries again.
 */
static int start_rings(struct uring *u)
{
	int r = 0;

	if (u->started)
		return 0;
	LOCKED(&u->lock);
	for (unsigned n = 0; n < u->nrings && r == 0; n++)
		r = start_ring(&u->rings[n]);
	u->started = r == 0;
	return r;
}

static void start(struct uring *u, struct uring_io *io)
{
	int error = start_rings(u);

	if (error == 0)
		error = enqueue(&u->rings[(unsigned)MAX(0, sched_getcpu()) % u->nrings], io);

	if (error < 0)
		finish(io, error);
}

static void init(struct uring_io *io, enum uring_op op)
{
	list_init(&io->node);
	io->op = op;
	io->have = 0;
}

void uring_read(struct uring *u, struct uring_io *io)
{
	init(io, URING_READ);
	while (!io->no_cache) {
		struct iovec iov = {.iov_base = io->buf + io->have, .iov_len = io->size - io->have};
		ssize_t n = preadv2(io->file->fd, &iov, 1, (off_t)(io->offset + io->have), RWF_NOWAIT);

		if (n >= 0 && is_complete(io, n)) {
			finish(io, n);
			return;
		}
		io->no_cache = n < 0 && errno == EOPNOTSUPP;
		if (n < 0)
			break;
	}
	start(u, io);
}

void uring_write(struct uring *u, struct uring_io *io)
{
	init(io, URING_WRITE);
	start(u, io);
}

void uring_sync(struct uring *u, struct uring_io *io)
{
	init(io, URING_SYNC);
	start(u, io);
}

void uring_pause(struct uring *u, struct uring_io *io)
{
	init(io, URING_PAUSE);
	start(u, io);
}

/* Asks the next ring that has registered the file to forget the file; closes the file after the last ring. */
static void forget_on_next_ring(struct uring_io *io, ssize_t result)
{
	struct uring_file *file = io->file;
	struct uring *u = file->uring;

	(void)result;
	for (unsigned n = 0; u && n < u->nrings; n++) {
		if (file->places[n] <= 0)
			continue;
		init(io, URING_FORGET);
		if (enqueue(&u->rings[n], io) == 0)
			return;
		/* The ring stops, and gives up all its files. */
	}
	file->fd = close_fd(file->fd);
	file->closed(file);
}

void uring_file_close(struct uring *u, struct uring_file *file, void (*closed)(struct uring_file *file))
{
	file->uring = u;
	file->closed = closed;
	file->forget = (struct uring_io){.file = file, .done = forget_on_next_ring};
	forget_on_next_ring(&file->forget, 0);
}

/* True if the ring has a thread. The thread ends after the last request. */
static bool stop_ring(struct ring *g)
{
	LOCKED(&g->lock);
	if (g->stopping)
		return false;
	g->stopping = true;
	if (g->started)
		wake_up(g->wake);
	return g->started;
}

void uring_stop(struct uring *u)
{
	bool started[URING_MAX_RINGS] = {false};

	/* First no ring accepts requests any more, then the threads end: done() may ask any ring for more. */
	for (unsigned n = 0; u && n < u->nrings; n++)
		started[n] = stop_ring(&u->rings[n]);
	for (unsigned n = 0; u && n < u->nrings; n++)
		if (started[n])
			(void)pthread_join(u->rings[n].thread, NULL);
}

struct uring *uring_free(struct uring *u)
{
	if (!u)
		return NULL;
	uring_stop(u);
	for (unsigned n = 0; n < u->nrings; n++) {
		wake_close(&u->rings[n].wake);
		(void)pthread_mutex_destroy(&u->rings[n].lock);
	}
	(void)pthread_mutex_destroy(&u->lock);
	free(u);
	return NULL;
}
