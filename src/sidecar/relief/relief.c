/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sidecar/relief/relief.h"

#include "base/util.h"

#define TICK_NS (RELIEF_TICK_MS * 1000000L)

void relief_init(struct relief *r, void (*begin)(void *arg), void (*keep)(void *arg), void *arg)
{
	*r = (struct relief){.lock = PTHREAD_MUTEX_INITIALIZER,
		.watch = PTHREAD_COND_INITIALIZER,
		.back = PTHREAD_COND_INITIALIZER,
		.begin = begin,
		.keep = keep,
		.arg = arg};
}

void relief_done(struct relief *r)
{
	(void)pthread_cond_destroy(&r->back);
	(void)pthread_cond_destroy(&r->watch);
	(void)pthread_mutex_destroy(&r->lock);
}

/* ---- the watcher ---- */

/* True if a tick has passed. */
static bool wait_for_tick(struct relief *r)
{
	struct timespec end;

	(void)clock_gettime(CLOCK_MONOTONIC, &end);
	end.tv_nsec += TICK_NS;
	end.tv_sec += end.tv_nsec / 1000000000L;
	end.tv_nsec %= 1000000000L;
	return pthread_cond_clockwait(&r->watch, &r->lock, CLOCK_MONOTONIC, &end) == ETIMEDOUT;
}

static void sleep_until_a_leave(struct relief *r)
{
	r->asleep = true;
	(void)pthread_cond_wait(&r->watch, &r->lock);
	r->asleep = false;
}

/* Becomes the keeper, unless the post ends. */
static void watch(struct relief *r)
{
	uint64_t last = 0; /* leaves at the tick before */

	r->watching = true;
	while (!r->ended && !relief_is_keeper(r)) {
		uint64_t now = r->leaves;

		if (!r->out && now == last) {
			sleep_until_a_leave(r);
			continue;
		}
		last = now;
		if (wait_for_tick(r) && r->out && r->leaves == now) {
			r->keeper = pthread_self();
			r->out = false;
		}
	}
	r->watching = false;
}

static void keep_and_watch(struct relief *r)
{
	LOCKED(&r->lock);
	while (!r->ended) {
		if (relief_is_keeper(r))
			r->keep(r->arg);
		else
			watch(r);
	}
}

static void *second(void *relief)
{
	struct relief *r = relief;

	r->begin(r->arg);
	keep_and_watch(r);
	return NULL;
}

void relief_run(struct relief *r)
{
	r->keeper = pthread_self();
	keep_and_watch(r);
	if (r->has_second)
		(void)pthread_join(r->second, NULL);
}

/* ---- the keeper ---- */

bool relief_is_keeper(const struct relief *r)
{
	return !r->ended && pthread_equal(r->keeper, pthread_self());
}

void relief_end(struct relief *r)
{
	r->ended = true;
	(void)pthread_cond_broadcast(&r->watch);
}

bool relief_may_leave(struct relief *r)
{
	/* The new thread will watch as soon as it runs. */
	if (!r->has_second && pthread_create(&r->second, NULL, second, r) == 0)
		r->has_second = r->watching = true;
	return r->watching;
}

void relief_leave(struct relief *r)
{
	r->away++;
	if (relief_is_keeper(r)) {
		r->leaves++;
		r->out = true;
		if (r->asleep)
			(void)pthread_cond_signal(&r->watch);
	}
	(void)pthread_mutex_unlock(&r->lock);
}

void relief_return(struct relief *r)
{
	(void)pthread_mutex_lock(&r->lock);
	if (relief_is_keeper(r))
		r->out = false;
	if (--r->away == 0)
		(void)pthread_cond_broadcast(&r->back);
}

void relief_all_back(struct relief *r)
{
	while (r->away > 0)
		(void)pthread_cond_wait(&r->back, &r->lock);
}
