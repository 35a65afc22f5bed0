/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Two threads share a post, such as a session: one of them, the keeper, does all work of the post, and the other
 * watches. A keeper that does something which may wait for ever, for a disk or for another process, leaves for that
 * time: it lets go of the lock, and the watcher becomes the keeper if the time lasts. So work that does not wait costs
 * no switch between threads, and work that waits holds up the post for two ticks at most.
 *
 * A thread that comes back and is not the keeper any more ends its piece of work, under the lock, and then watches. So
 * the state of the post needs one lock, which its header names, and no thread owns the post.
 *
 * The watcher sleeps while the keeper does not leave; then it wakes up once per tick. The second thread is started when
 * the keeper wants to leave for the first time. While both threads are away or busy, nobody watches: the keeper must
 * not leave, and lets other threads do what may wait.
 *
 * The lock guards everything in struct relief. Nothing else is locked within.
 */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#define RELIEF_TICK_MS 10

struct relief {
	pthread_mutex_t lock;
	pthread_cond_t watch; /* for the watcher */
	pthread_cond_t back;  /* for relief_all_back() */
	pthread_t keeper, second;
	bool has_second;
	bool watching; /* a thread watches */
	bool asleep;   /* it does so without a time limit */
	bool out;      /* the keeper has left */
	bool ended;
	unsigned away;   /* threads that have left, and are not back with the lock */
	uint64_t leaves; /* how often a keeper has left */
	void (*begin)(void *arg);
	void (*keep)(void *arg);
	void *arg;
};

/*
 * begin() is called once on the second thread. keep() does the work of the post, with the lock, while
 * relief_is_keeper() is true. relief_done() frees what relief_init() has made; no thread is in the post then.
 */
void relief_init(struct relief *r, void (*begin)(void *arg), void (*keep)(void *arg), void *arg);
void relief_done(struct relief *r);

/* Without the lock: the calling thread is the first keeper. Returns after relief_end(), when both threads are back. */
void relief_run(struct relief *r);

/* ---- with the lock ---- */

/* True if the calling thread keeps the post, which has not ended. */
bool relief_is_keeper(const struct relief *r);

/* The post ends: no thread is its keeper any more. */
void relief_end(struct relief *r);

/* True if the keeper may leave: somebody watches. It may do so until it lets go of the lock otherwise. */
bool relief_may_leave(struct relief *r);

/*
 * Lets go of the lock, for something that may wait; and takes the lock again. Between the two, any thread may do the
 * work of the post. A thread that is not the keeper may call both, too.
 */
void relief_leave(struct relief *r);
void relief_return(struct relief *r);

/* Waits until no other thread is away. The keeper calls it. */
void relief_all_back(struct relief *r);
