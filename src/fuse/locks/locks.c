/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "fuse/locks/locks.h"

#include <stdatomic.h>
#include <string.h>

#include "base/clock.h"
#include "table/hash_table.h"
#include "table/keyed_hash.h"

#define FIRST_FILES 1024 /* the table has room for so many files before it grows */
/* Limits of the search for a circle of waits: its depth (fs/locks.c MAX_DEADLK_ITERATIONS), and all steps together. */
#define DEADLOCK_DEPTH 10
#define DEADLOCK_STEPS 100000

/* A file with locks: exists while a lock of the file is held, or a request waits for one. */
struct lock_file {
	struct hash_node by_handle;
	struct nfs_fh fh;
	struct held_locks held;
	struct list waits; /* struct lock_wait.of_file, oldest first */
};

struct locks {
	pthread_mutex_t lock;
	struct hash_table files; /* struct lock_file.by_handle */
	struct list waits;       /* struct lock_wait.all */
	atomic_size_t held;      /* also read without the lock: closes of files are fast while no lock is held */
	size_t waiting;
	uint64_t visit;
	unsigned steps; /* of the present search for a circle */
	/* The thread that ends waits at their deadlines; it starts with the first such wait. */
	pthread_t clock;
	pthread_cond_t deadlines;
	bool clock_runs, ends;
};

int locks_new(struct locks **ret)
{
	struct locks *l = calloc(1, sizeof(*l));
	pthread_condattr_t monotonic;

	if (!l)
		return -ENOMEM;
	hash_table_init(&l->files);
	if (hash_table_reserve(&l->files, FIRST_FILES) < 0) {
		free(l);
		return -ENOMEM;
	}
	(void)pthread_mutex_init(&l->lock, NULL);
	(void)pthread_condattr_init(&monotonic);
	(void)pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	(void)pthread_cond_init(&l->deadlines, &monotonic);
	(void)pthread_condattr_destroy(&monotonic);
	list_init(&l->waits);
	*ret = l;
	return 0;
}

static void lock_file_free(struct locks *l, struct lock_file *f)
{
	hash_table_remove(&l->files, &f->by_handle);
	held_locks_done(&f->held);
	free(f);
}

static void lock_file_free_node(void *arg, struct hash_node *node)
{
	lock_file_free(arg, CONTAINER_OF(node, struct lock_file, by_handle));
}

struct locks *locks_free(struct locks *l)
{
	if (!l)
		return NULL;
	if (l->clock_runs) {
		(void)pthread_mutex_lock(&l->lock);
		l->ends = true;
		(void)pthread_cond_signal(&l->deadlines);
		(void)pthread_mutex_unlock(&l->lock);
		(void)pthread_join(l->clock, NULL);
	}
	hash_table_foreach(&l->files, lock_file_free_node, l);
	hash_table_done(&l->files);
	(void)pthread_cond_destroy(&l->deadlines);
	(void)pthread_mutex_destroy(&l->lock);
	free(l);
	return NULL;
}

static uint64_t hash_of(const struct nfs_fh *fh)
{
	return keyed_hash(fh->data, fh->len);
}

static bool has_handle(const struct hash_node *node, const void *fh)
{
	return nfs_fh_equal(&CONTAINER_OF(node, struct lock_file, by_handle)->fh, fh);
}

static struct lock_file *find_file(struct locks *l, const struct nfs_fh *fh)
{
	struct hash_node *node = hash_table_find(&l->files, hash_of(fh), has_handle, fh);

	return node ? CONTAINER_OF(node, struct lock_file, by_handle) : NULL;
}

static struct lock_file *lock_file_new(struct locks *l, const struct nfs_fh *fh)
{
	struct lock_file *f = calloc(1, sizeof(*f));

	if (!f)
		return NULL;
	f->fh = *fh;
	held_locks_init(&f->held, &l->held);
	list_init(&f->waits);
	hash_table_insert(&l->files, &f->by_handle, hash_of(fh));
	return f;
}

static void drop_file_if_unused(struct locks *l, struct lock_file *f)
{
	if (held_locks_empty(&f->held) && list_empty(&f->waits))
		lock_file_free(l, f);
}

static size_t room(const struct locks *l)
{
	return LOCKS_MAX - l->held - l->waiting;
}

static struct lock_wait *wait_of_file(struct list *pos)
{
	return CONTAINER_OF(pos, struct lock_wait, of_file);
}

static struct lock_wait *wait_of_all(struct list *pos)
{
	return CONTAINER_OF(pos, struct lock_wait, all);
}

static void end_wait(struct locks *l, struct lock_wait *w, int error, struct list *ended)
{
	list_remove(&w->of_file);
	list_remove(&w->all);
	w->waits = false;
	w->error = error;
	l->waiting--;
	if (ended)
		list_append(ended, &w->all);
}

/*
 * A lock ended: gives waiting requests their locks where no held lock conflicts any more. A granted lock may let
 * further requests go on, so the search is repeated.
 */
static void wake_waits(struct locks *l, struct lock_file *f, struct list *ended)
{
	for (bool again = true; again;) {
		again = false;
		LIST_FOREACH (pos, &f->waits) {
			struct lock_wait *w = wait_of_file(pos);

			if (held_locks_conflict(&f->held, &w->lock))
				continue;
			/* The request does not count as waiting any more, so its place is free, too. */
			end_wait(l, w, held_locks_apply(&f->held, &w->lock, room(l) + 1), ended);
			again = true;
		}
	}
}

/* Calls done() of the ended waits. The caller does not hold the table's lock. */
static void tell(struct list *ended)
{
	LIST_FOREACH (pos, ended) {
		struct lock_wait *w = wait_of_all(pos);

		list_remove(pos);
		w->done(w, w->error);
	}
}

/* True if this owner waits, directly or through other owners, for a lock that the other owner holds. */
static bool waits_for(struct locks *l, uint64_t owner, uint64_t other, unsigned depth)
{
	if (depth > DEADLOCK_DEPTH)
		return false;
	LIST_FOREACH (pos, &l->waits) {
		struct lock_wait *w = wait_of_all(pos);

		if (++l->steps > DEADLOCK_STEPS)
			return false;
		if (w->deadline != 0 || w->lock.kind != LOCK_KIND_RANGE || w->lock.owner != owner ||
			w->visited == l->visit)
			continue;
		w->visited = l->visit;
		LIST_FOREACH (other_pos, &w->file->held.of[LOCK_KIND_RANGE]) {
			const struct lock *h = &held_of(other_pos)->lock;

			if (++l->steps > DEADLOCK_STEPS)
				return false;
			if (lock_conflicts(h, &w->lock) &&
				(h->owner == other || waits_for(l, h->owner, other, depth + 1)))
				return true;
		}
	}
	return false;
}

static bool would_deadlock(struct locks *l, struct lock_file *f, const struct lock *wanted)
{
	if (wanted->kind != LOCK_KIND_RANGE)
		return false;
	l->visit++;
	l->steps = 0;
	LIST_FOREACH (pos, &f->held.of[LOCK_KIND_RANGE]) {
		const struct lock *h = &held_of(pos)->lock;

		if (lock_conflicts(h, wanted) && waits_for(l, h->owner, wanted->owner, 1))
			return true;
	}
	return false;
}

/* With the lock: takes those out who have waited long enough, or want no more; when to look next, 0 for never. */
static uint64_t end_late(struct locks *l, uint64_t now, struct list *ended)
{
	uint64_t next = 0;

	LIST_FOREACH (pos, &l->waits) {
		struct lock_wait *w = wait_of_all(pos);
		struct lock_file *f = w->file;
		uint64_t when = w->deadline != 0 ? w->deadline : w->ask_at;

		if (when == 0)
			continue;
		if (w->deadline == 0 && when <= now && !w->given_up(w))
			when = w->ask_at = now + LOCK_ASK_MS;
		if (when > now) {
			next = next == 0 ? when : MIN(next, when);
			continue;
		}
		end_wait(l, w, w->deadline != 0 ? -EAGAIN : -EINTR, ended);
		drop_file_if_unused(l, f);
	}
	return next;
}

static void *run_clock(void *arg)
{
	struct locks *l = arg;
	struct list ended;

	list_init(&ended);
	(void)pthread_mutex_lock(&l->lock);
	while (!l->ends) {
		uint64_t next = end_late(l, now_ms(), &ended);
		struct timespec until = {.tv_sec = (time_t)(next / 1000), .tv_nsec = (long)(next % 1000) * 1000000};

		if (!list_empty(&ended)) {
			(void)pthread_mutex_unlock(&l->lock);
			tell(&ended);
			(void)pthread_mutex_lock(&l->lock);
		} else if (next == 0) {
			(void)pthread_cond_wait(&l->deadlines, &l->lock);
		} else {
			(void)pthread_cond_timedwait(&l->deadlines, &l->lock, &until);
		}
	}
	(void)pthread_mutex_unlock(&l->lock);
	return NULL;
}

/* True if the open file of each conflicting lock may have been closed for the last time already. */
static bool may_be_gone(struct lock_file *f, const struct lock *wanted)
{
	LIST_FOREACH (pos, &f->held.of[wanted->kind]) {
		const struct held *held = held_of(pos);

		if (lock_conflicts(&held->lock, wanted) && !held->closing && !held->lock.quiet)
			return false;
	}
	return true;
}

/* Starts run_clock() if need be, and wakes it. True if run_clock() will see a wait that is put into the table now. */
static bool need_clock(struct locks *l)
{
	if (!l->clock_runs && pthread_create(&l->clock, NULL, run_clock, l) != 0)
		return false;
	l->clock_runs = true;
	(void)pthread_cond_signal(&l->deadlines);
	return true;
}

/* The deadline for a request that does not want to wait; 0 if no RELEASE can be on its way. */
static uint64_t grace(struct locks *l, struct lock_file *f, const struct lock *wanted)
{
	if (!may_be_gone(f, wanted) || !need_clock(l))
		return 0;
	return now_ms() + LOCK_GRACE_MS;
}

static int set_locked(struct locks *l, struct lock_file *f, struct lock_wait *w, bool sleep)
{
	if (w->lock.kind == LOCK_KIND_FLOCK && held_locks_change_flock(&f->held, &w->lock))
		return 0;
	if (!held_locks_conflict(&f->held, &w->lock))
		return held_locks_apply(&f->held, &w->lock, room(l));
	w->deadline = sleep ? 0 : grace(l, f, &w->lock);
	if (!sleep && w->deadline == 0)
		return -EAGAIN;
	if (sleep && would_deadlock(l, f, &w->lock))
		return -EDEADLK;
	if (room(l) == 0)
		return -ENOLCK;
	w->ask_at = w->given_up && need_clock(l) ? now_ms() + LOCK_ASK_MS : 0;
	w->file = f;
	w->waits = true;
	list_append(&f->waits, &w->of_file);
	list_append(&l->waits, &w->all);
	l->waiting++;
	return 1;
}

int locks_set(struct locks *l, const struct nfs_fh *fh, struct lock_wait *w, bool sleep)
{
	struct list ended;
	int r;

	list_init(&ended);
	{
		LOCKED(&l->lock);
		struct lock_file *f = find_file(l, fh);

		if (w->cancelled)
			return -EINTR;
		if (!f && w->lock.mode == LOCK_MODE_NONE)
			return 0;
		if (!f)
			f = lock_file_new(l, fh);
		if (!f)
			return -ENOLCK;
		r = set_locked(l, f, w, sleep);
		wake_waits(l, f, &ended);
		drop_file_if_unused(l, f);
	}
	tell(&ended);
	return r;
}

bool locks_cancel(struct locks *l, struct lock_wait *w)
{
	LOCKED(&l->lock);
	struct lock_file *f = w->file;

	w->cancelled = true;
	if (!w->waits)
		return false;
	end_wait(l, w, -EINTR, NULL);
	drop_file_if_unused(l, f);
	return true;
}

bool locks_test(struct locks *l, const struct nfs_fh *fh, const struct lock *wanted, struct lock *ret)
{
	LOCKED(&l->lock);
	struct lock_file *f = find_file(l, fh);
	struct held *h = NULL;

	/* F_OFD_GETLK with F_UNLCK asks for the owner's own lock; fs/locks.c posix_test_locks_conflict. */
	if (f)
		h = wanted->mode == LOCK_MODE_NONE ? held_locks_own(&f->held, wanted)
						   : held_locks_conflict(&f->held, wanted);
	if (!h)
		return false;
	*ret = h->lock;
	return true;
}

/* Drops the held locks that chosen() accepts, and lets waiting requests go on. */
static void drop_chosen(struct locks *l, const struct nfs_fh *fh,
	bool (*chosen)(struct held *h, uint64_t owner, uint64_t via), uint64_t owner, uint64_t via)
{
	struct list ended;

	if (l->held == 0)
		return;
	list_init(&ended);
	{
		LOCKED(&l->lock);
		struct lock_file *f = find_file(l, fh);

		if (!f)
			return;
		for (size_t kind = 0; kind < ARRAY_SIZE(f->held.of); kind++)
			LIST_FOREACH (pos, &f->held.of[kind]) {
				if (chosen(held_of(pos), owner, via))
					held_locks_drop(&f->held, held_of(pos));
			}
		wake_waits(l, f, &ended);
		drop_file_if_unused(l, f);
	}
	tell(&ended);
}

static bool is_closed(struct held *h, uint64_t owner, uint64_t via)
{
	h->closing |= h->lock.via == via;
	return h->lock.kind == LOCK_KIND_RANGE && h->lock.owner == owner;
}

void locks_closed(struct locks *l, const struct nfs_fh *fh, uint64_t owner, uint64_t via)
{
	drop_chosen(l, fh, is_closed, owner, via);
}

static bool is_released(struct held *h, uint64_t owner, uint64_t via)
{
	(void)owner;
	return h->lock.via == via;
}

void locks_released(struct locks *l, const struct nfs_fh *fh, uint64_t via)
{
	drop_chosen(l, fh, is_released, 0, via);
}

void locks_end_waits(struct locks *l, int error)
{
	struct list ended;

	list_init(&ended);
	{
		LOCKED(&l->lock);
		LIST_FOREACH (pos, &l->waits) {
			struct lock_wait *w = wait_of_all(pos);
			struct lock_file *f = w->file;

			end_wait(l, w, error, &ended);
			drop_file_if_unused(l, f);
		}
	}
	tell(&ended);
}

void locks_count(struct locks *l, size_t *ret_held, size_t *ret_waiting)
{
	LOCKED(&l->lock);
	*ret_held = l->held;
	*ret_waiting = l->waiting;
}
