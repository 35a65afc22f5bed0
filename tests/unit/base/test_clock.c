/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cmocka_setup.h"

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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(time_goes_on),
		cmocka_unit_test(what_comes_later_was_not_long_ago),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
