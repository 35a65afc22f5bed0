/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * fcntl(2) and flock(2) locks: the kernel sends each lock request to the daemon, unless the options nolock or
 * local_lock let the kernel keep the locks itself (locks.h gives the reasons). A blocking request is answered when it
 * has the lock, or with EINTR when any signal arrives for its caller. The kernel then does what the signal's action
 * says: restart the call, or fail it.
 */
#include <fcntl.h>
#include <sys/file.h>

#include "fuse/locks/lock_requests.h"

#include "fuse/kernel/caller.h"
#include "fuse/locks/locks.h"
#include "fuse/operations/operations.h"
#include "fuse/fs/file.h"
#include "fuse/kernel/kernel_ring.h"
#include "base/log.h"

struct lock_request {
	struct lock_wait wait;
	struct fs *fs;
	fuse_req_t req;
	struct operation operation; /* counted when the lock is there, or refused */
	atomic_uint *place;         /* the ring entry that the wait uses (kernel_ring.h); NULL if it uses none */
	bool no_place;              /* the request asked to wait, but no ring entry was left for that */
};

/* Logs the first lock of a mount. */
static void notice(struct fs *fs, enum lock_kind kind)
{
	if (atomic_exchange(&fs->has_locked, true))
		return;
	log_warning("%s: a program locks a file with %s. Locks are valid on this mount only: other clients do not see "
		    "them. The option nolock says that this is intended, and avoids this warning",
		fs->spec, kind == LOCK_KIND_FLOCK ? "flock" : "fcntl");
}

/* Counts the request, and answers it. */
static void reply(struct lock_request *q, int error)
{
	q->operation.error = (int16_t)-error;
	operation_end(q->fs->operations, &q->operation);
	(void)fuse_reply_err(q->req, -error);
	if (q->place)
		atomic_fetch_sub(q->place, 1);
	free(q);
}

/*
 * libfuse calls this with the request's lock held, perhaps already within fuse_req_interrupt_func(), before the table
 * has the request.
 */
static void interrupted(fuse_req_t req, void *data)
{
	struct lock_request *q = data;

	if (!locks_cancel(q->fs->locks, &q->wait))
		return;
	reply(q, -EINTR);
}

static void end(struct lock_request *q, int error)
{
	/* Waits for interrupted(), which uses q. */
	fuse_req_interrupt_func(q->req, NULL, NULL);
	error = error == -EAGAIN && q->no_place ? -ENOLCK : error;
	reply(q, error);
}

/* Over io_uring the kernel sends no FUSE_INTERRUPT for a signal that came before the daemon had the request. */
static bool signalled(struct lock_wait *w)
{
	const struct lock_request *q = CONTAINER_OF(w, struct lock_request, wait);

	return caller_signalled(fs_caller_pid(fuse_req_userdata(q->req), q->req));
}

static void waited(struct lock_wait *w, int error)
{
	end(CONTAINER_OF(w, struct lock_request, wait), error);
}

static void set(fuse_req_t req, fuse_ino_t ino, const struct lock *lock, bool sleep)
{
	struct lock_request *q = calloc(1, sizeof(*q));
	struct fs *fs = fuse_req_userdata(req);
	int r;

	if (!q) {
		operation_refuse(req, ENOLCK);
		return;
	}
	q->fs = fs;
	q->req = req;
	operation_take(&q->operation);
	q->wait.lock = *lock;
	q->wait.done = waited;
	if (lock->mode != LOCK_MODE_NONE)
		notice(fs, lock->kind);
	/* The request that will unlock what these requests wait for must find a free ring entry. */
	if (sleep && fuse_req_is_uring(req)) {
		q->place = kernel_ring_take_place(fs);
		q->no_place = !q->place;
		sleep = q->place != NULL;
		q->wait.given_up = signalled;
	}
	if (sleep)
		fuse_req_interrupt_func(req, interrupted, q);
	r = locks_set(fs->locks, &fs_inode(fs, ino)->fh, &q->wait, sleep);
	if (r <= 0)
		end(q, r);
}

static struct lock range_of(const struct fs *fs, const struct flock *f, const struct fuse_file_info *fi)
{
	return (struct lock){.kind = LOCK_KIND_RANGE,
		.mode = f->l_type == F_WRLCK   ? LOCK_MODE_EXCLUSIVE
			: f->l_type == F_RDLCK ? LOCK_MODE_SHARED
					       : LOCK_MODE_NONE,
		.owner = fi->lock_owner,
		.via = fi->fh,
		.quiet = file_of(fs, fi)->quiet,
		.start = f->l_start,
		.end = f->l_len == 0 ? LOCK_END : f->l_start + f->l_len - 1,
		.pid = f->l_pid};
}

static void op_getlk(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi, struct flock *f)
{
	struct fs *fs = fuse_req_userdata(req);
	struct lock wanted = range_of(fs, f, fi), other;

	f->l_type = F_UNLCK;
	if (locks_test(fs->locks, &fs_inode(fs, ino)->fh, &wanted, &other)) {
		f->l_type = other.mode == LOCK_MODE_EXCLUSIVE ? F_WRLCK : F_RDLCK;
		f->l_start = other.start;
		f->l_len = other.end == LOCK_END ? 0 : other.end - other.start + 1;
		f->l_pid = other.pid;
	}
	(void)fuse_reply_lock(req, f);
}

static void op_setlk(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi, struct flock *f, int sleep)
{
	struct lock lock = range_of(fuse_req_userdata(req), f, fi);

	set(req, ino, &lock, sleep);
}

static void op_flock(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi, int op)
{
	struct lock lock = {.kind = LOCK_KIND_FLOCK,
		.mode = op & LOCK_EX   ? LOCK_MODE_EXCLUSIVE
			: op & LOCK_SH ? LOCK_MODE_SHARED
				       : LOCK_MODE_NONE,
		.owner = fi->lock_owner,
		.via = fi->fh,
		.quiet = file_of(fuse_req_userdata(req), fi)->quiet,
		.end = LOCK_END};

	set(req, ino, &lock, !(op & LOCK_NB));
}

void lock_requests_set_operations(const struct fs *fs, struct fuse_lowlevel_ops *ops)
{
	if (!fs_kernel_locks(fs, LOCAL_LOCK_POSIX)) {
		ops->getlk = op_getlk;
		ops->setlk = op_setlk;
	}
	if (!fs_kernel_locks(fs, LOCAL_LOCK_FLOCK))
		ops->flock = op_flock;
}
