/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Two threads at one post, whose work waits for semaphores of the test. */
#include "cmocka_setup.h"

#include <poll.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/util.h"
#include "sidecar/relief/relief.h"

#define LONG_MS 20000
#define BRIEF   1000
#define ALARM_S 100 /* ends a test in which a thread waits for ever */

/* What the keeper does next. */
enum work {
	WORK_NONE,
	WORK_BRIEF, /* leaves, and returns at once */
	WORK_LONG,  /* leaves until the test lets it return */
	WORK_ALL_BACK,
	WORK_END,
};

struct post {
	struct relief relief;
	sem_t orders;           /* posted for each order */
	sem_t returns;          /* posted to end a WORK_LONG */
	_Atomic enum work work; /* the order */
	atomic_uint done;       /* orders that are done */
	atomic_uint out;        /* threads in WORK_LONG */
	atomic_uint begun;      /* calls of begin() */
	atomic_bool refused;    /* the keeper might not leave */
	pthread_t last;         /* the thread that did the last order; guarded by the relief's lock */
	unsigned shared;        /* guarded by the relief's lock */
};

static struct post p;
static pthread_t runner;

static void begin(void *arg)
{
	struct post *post = arg;

	post->begun++;
}

static void leave_for(struct post *post, bool brief)
{
	if (!relief_may_leave(&post->relief)) {
		post->refused = true;
		return;
	}
	relief_leave(&post->relief);
	if (!brief) {
		post->out++;
		while (sem_wait(&post->returns) < 0)
			;
		post->out--;
	}
	relief_return(&post->relief);
	post->shared++;
}

/* Waits for an order without the lock, as a session polls. */
static void turn(struct post *post)
{
	enum work work;

	(void)pthread_mutex_unlock(&post->relief.lock);
	while (sem_wait(&post->orders) < 0)
		;
	work = atomic_exchange(&post->work, WORK_NONE);
	(void)pthread_mutex_lock(&post->relief.lock);
	post->last = pthread_self();
	if (work == WORK_BRIEF || work == WORK_LONG)
		leave_for(post, work == WORK_BRIEF);
	else if (work == WORK_ALL_BACK)
		relief_all_back(&post->relief);
	else if (work == WORK_END)
		relief_end(&post->relief);
	post->done++;
}

static void keep(void *arg)
{
	struct post *post = arg;

	while (relief_is_keeper(&post->relief))
		turn(post);
}

static void *run(void *arg)
{
	struct post *post = arg;

	relief_run(&post->relief);
	return NULL;
}

static int start(void **state)
{
	(void)state;
	(void)alarm(ALARM_S);
	p = (struct post){0};
	(void)sem_init(&p.orders, 0, 0);
	(void)sem_init(&p.returns, 0, 0);
	relief_init(&p.relief, begin, keep, &p);
	return pthread_create(&runner, NULL, run, &p);
}

static void order(enum work work)
{
	p.work = work;
	(void)sem_post(&p.orders);
}

static bool becomes(atomic_uint *counter, unsigned value)
{
	for (uint64_t end = now_ms() + LONG_MS; now_ms() < end; (void)poll(NULL, 0, 1))
		if (*counter == value)
			return true;
	return false;
}

/* The end of a WORK_LONG counts, too. */
static bool are_done(unsigned orders)
{
	for (uint64_t end = now_ms() + LONG_MS; now_ms() < end; (void)poll(NULL, 0, 1))
		if (p.done >= orders)
			return true;
	return false;
}

/* Does work that does not wait. */
static void do_now(enum work work)
{
	unsigned before = p.done;

	order(work);
	assert_true(are_done(before + 1));
}

static pthread_t last(void)
{
	LOCKED(&p.relief.lock);
	return p.last;
}

static int stop(void **state)
{
	(void)state;
	do_now(WORK_END);
	(void)pthread_join(runner, NULL);
	relief_done(&p.relief);
	(void)sem_destroy(&p.orders);
	(void)sem_destroy(&p.returns);
	return 0;
}

static void work_that_does_not_wait_stays_with_its_thread(void **state)
{
	(void)state;
	do_now(WORK_NONE);
	assert_int_equal(p.begun, 0); /* the second thread is not needed yet */
	for (unsigned n = 0; n < BRIEF; n++)
		do_now(WORK_BRIEF);
	assert_false(p.refused);
	assert_true(becomes(&p.begun, 1));
	LOCKED(&p.relief.lock);
	assert_int_equal(p.shared, BRIEF);
}

static void the_watcher_takes_over_from_a_keeper_that_stays_away(void **state)
{
	(void)state;
	order(WORK_LONG);
	assert_true(becomes(&p.out, 1));
	do_now(WORK_NONE); /* somebody keeps the post */
	assert_false(pthread_equal(last(), runner));
	do_now(WORK_BRIEF);
	assert_true(p.refused); /* nobody watches */
	p.refused = false;
	(void)sem_post(&p.returns);
	assert_true(becomes(&p.out, 0));
	/* The first thread watches now, and takes over in turn. */
	for (uint64_t end = now_ms() + LONG_MS; now_ms() < end; (void)poll(NULL, 0, 1)) {
		LOCKED(&p.relief.lock);
		if (p.relief.watching)
			break;
	}
	order(WORK_LONG);
	assert_true(becomes(&p.out, 1));
	assert_false(p.refused);
	do_now(WORK_NONE);
	assert_true(pthread_equal(last(), runner));
	(void)sem_post(&p.returns);
}

static void the_end_waits_for_a_thread_that_is_away(void **state)
{
	(void)state;
	order(WORK_LONG);
	assert_true(becomes(&p.out, 1));
	order(WORK_ALL_BACK);
	assert_int_equal(poll(NULL, 0, 5 * RELIEF_TICK_MS), 0);
	assert_int_equal(p.done, 0);
	(void)sem_post(&p.returns);
	assert_true(are_done(2));
	LOCKED(&p.relief.lock);
	assert_int_equal(p.shared, 1);
}

static void the_post_ends_while_a_thread_is_away(void **state)
{
	(void)state;
	order(WORK_LONG);
	assert_true(becomes(&p.out, 1));
	do_now(WORK_NONE);
	do_now(WORK_END);
	(void)sem_post(&p.returns);
	(void)pthread_join(runner, NULL);
	assert_int_equal(p.shared, 1);
	assert_false(p.relief.watching);
	relief_done(&p.relief);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(work_that_does_not_wait_stays_with_its_thread, start, stop),
		cmocka_unit_test_setup_teardown(the_watcher_takes_over_from_a_keeper_that_stays_away, start, stop),
		cmocka_unit_test_setup_teardown(the_end_waits_for_a_thread_that_is_away, start, stop),
		cmocka_unit_test_setup(the_post_ends_while_a_thread_is_away, start),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
