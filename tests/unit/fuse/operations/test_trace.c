/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cmocka_setup.h"

#include <string.h>

#include "base/clock.h"
#include "fuse/operations/trace.h"

static struct control_trace q;

static int setup(void **state)
{
	static struct trace t;

	trace_init(&t);
	q = (struct control_trace){.last = CONTROL_TRACE_NOW};
	*state = &t;
	return 0;
}

static int teardown(void **state)
{
	trace_done(*state);
	return 0;
}

/* Adds events whose file ids are these numbers. */
static void add(struct trace *t, uint64_t first, uint64_t last)
{
	for (uint64_t n = first; n <= last; n++)
		trace_add(t, &(struct control_event){.fileid = n});
}

static void nothing_is_recorded_before_the_first_question(void **state)
{
	struct trace *t = *state;
	uint64_t now = now_ns();

	assert_false(trace_is_on(t, now));
	add(t, 1, 3);
	assert_int_equal(trace_answer(t, &q), 0);
	assert_int_equal(q.count, 0);
	assert_int_equal(q.last, 0);
	assert_int_equal(q.lost, 0);
	assert_true(trace_is_on(t, now));
	assert_false(trace_is_on(t, now + (CONTROL_TRACE_SECONDS + 3600) * UINT64_C(1000000000)));
}

static void each_event_is_told_once_in_its_order(void **state)
{
	struct trace *t = *state;
	uint64_t seen = 0;

	assert_int_equal(trace_answer(t, &q), 0);
	add(t, 1, CONTROL_EVENTS + 20);
	while (trace_answer(t, &q) == 0 && q.count > 0) {
		assert_int_equal(q.lost, 0);
		for (uint32_t n = 0; n < q.count; n++) {
			seen++;
			assert_int_equal(q.events[n].number, seen);
			assert_int_equal(q.events[n].fileid, seen);
			assert_true(q.events[n].ended_us > 0);
		}
		assert_int_equal(q.last, seen);
	}
	assert_int_equal(seen, CONTROL_EVENTS + 20);
}

static void a_slow_reader_learns_how_many_events_are_gone(void **state)
{
	struct trace *t = *state;

	assert_int_equal(trace_answer(t, &q), 0);
	add(t, 1, TRACE_EVENTS);
	q.last = 0;
	assert_int_equal(trace_answer(t, &q), 0);
	assert_int_equal(q.lost, 0);
	assert_int_equal(q.events[0].fileid, 1);
	add(t, TRACE_EVENTS + 1, 3 * TRACE_EVENTS);
	assert_int_equal(trace_answer(t, &q), 0);
	assert_int_equal(q.lost, 2 * TRACE_EVENTS - CONTROL_EVENTS);
	assert_int_equal(q.events[0].fileid, 2 * TRACE_EVENTS + 1);
}

static void a_number_from_the_future_is_not_believed(void **state)
{
	struct trace *t = *state;

	assert_int_equal(trace_answer(t, &q), 0);
	add(t, 1, 10);
	q.last = 1000000;
	assert_int_equal(trace_answer(t, &q), 0);
	assert_int_equal(q.count, 0);
	assert_int_equal(q.lost, 0);
	assert_int_equal(q.last, 10);
}

#define WRITERS 3
#define ROUNDS  2000

static void *write_events(void *arg)
{
	add(arg, 1, ROUNDS);
	return NULL;
}

static void threads_may_write_and_read_at_once(void **state)
{
	struct trace *t = *state;
	pthread_t threads[WRITERS];
	uint64_t seen = 0;

	assert_int_equal(trace_answer(t, &q), 0);
	for (unsigned n = 0; n < WRITERS; n++)
		assert_int_equal(pthread_create(&threads[n], NULL, write_events, t), 0);
	while (seen < (uint64_t)WRITERS * ROUNDS) {
		assert_int_equal(trace_answer(t, &q), 0);
		seen += q.count + q.lost;
		assert_int_equal(q.last, seen);
	}
	for (unsigned n = 0; n < WRITERS; n++)
		assert_int_equal(pthread_join(threads[n], NULL), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(nothing_is_recorded_before_the_first_question, setup, teardown),
		cmocka_unit_test_setup_teardown(each_event_is_told_once_in_its_order, setup, teardown),
		cmocka_unit_test_setup_teardown(a_slow_reader_learns_how_many_events_are_gone, setup, teardown),
		cmocka_unit_test_setup_teardown(a_number_from_the_future_is_not_believed, setup, teardown),
		cmocka_unit_test_setup_teardown(threads_may_write_and_read_at_once, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
