/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Which threads make the changes of a session's client. */
#include "cmocka_setup.h"

#include "sidecar/notices/own_threads.h"

static void only_threads_that_were_added_are_own(void **state)
{
	struct own_threads own = {0};

	assert_false(own_threads_have(&own, 7));
	assert_false(own_threads_have(&own, 0));
	own_threads_add(&own, 7);
	assert_true(own_threads_have(&own, 7));
	assert_false(own_threads_have(&own, 8));
}

static void one_of_them_is_the_setter(void **state)
{
	struct own_threads own = {0};

	own_threads_add(&own, 7);
	assert_false(own_threads_have_setter(&own));
	assert_false(own_threads_is_setter(&own, 0));
	own_threads_add_setter(&own, 8);
	assert_true(own_threads_have_setter(&own));
	assert_true(own_threads_have(&own, 8));
	assert_true(own_threads_is_setter(&own, 8));
	assert_false(own_threads_is_setter(&own, 7));
}

static void a_setter_without_room_is_none(void **state)
{
	struct own_threads own = {0};

	for (pid_t n = 0; n < OWN_THREADS; n++)
		own_threads_add(&own, 100 + n);
	own_threads_add_setter(&own, 8);
	assert_false(own_threads_have(&own, 8));
	assert_false(own_threads_have_setter(&own));
	assert_true(own_threads_have(&own, 100 + OWN_THREADS - 1));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_threads_that_were_added_are_own),
		cmocka_unit_test(one_of_them_is_the_setter),
		cmocka_unit_test(a_setter_without_room_is_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
