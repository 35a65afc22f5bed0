/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cmocka_setup.h"

#include <pthread.h>
#include <stdbool.h>

#include "base/clock.h"

static void time_goes_on(void **state)
{
	assert_int_equal(time_since(5, 5), 0);
	assert_int_equal(time_since(5, 7), 2);
	assert_int_equal(time_since(0, UINT64_MAX), UINT64_MAX);
}

static void what_comes_later_was_not_long_ago(void **state)
{
	assert_int_equal(time_since(8, 7), 0);
	assert_int_equal(time_since(UINT64_MAX, 0), 0);
}

static void pass_time(void)
{
	for (uint64_t until = now_ms() + 3; now_ms() < until;)
		;
}

static void *work_in_vain(void *ret_is_now)
{
	uint64_t now = now_ms(), work = work_ms();

	*(bool *)ret_is_now = work >= now;
	return NULL;
}

static void work_has_the_time_when_it_began(void **state)
{
	uint64_t began = work_begins() / 1000000;
	bool is_now = false;
	pthread_t other;

	assert_int_equal(work_ms(), began);
	pass_time();
	assert_int_equal(work_ms(), began);
	/* Another thread is not at work. */
	assert_int_equal(pthread_create(&other, NULL, work_in_vain, &is_now), 0);
	assert_int_equal(pthread_join(other, NULL), 0);
	assert_true(is_now);
	assert_true(work_begins() / 1000000 >= began + 3);
	assert_true(work_ms() >= began + 3);
	work_ends();
}

static void without_work_it_is_now(void **state)
{
	uint64_t began = work_begins() / 1000000;

	work_ends();
	pass_time();
	assert_true(work_ms() >= began + 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(time_goes_on),
		cmocka_unit_test(what_comes_later_was_not_long_ago),
		cmocka_unit_test(work_has_the_time_when_it_began),
		cmocka_unit_test(without_work_it_is_now),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
