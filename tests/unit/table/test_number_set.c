/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cmocka_setup.h"

#include <errno.h>

#include "table/number_set.h"

static void it_has_what_was_added(void **state)
{
	struct number_set s = {0};

	assert_false(number_set_has(&s, 7));
	for (uint64_t n = 2; n < 1000; n++) {
		assert_int_equal(number_set_add(&s, n << 20, 2000), 0); /* equal low bits */
		assert_int_equal(number_set_add(&s, n, 2000), 0);
		assert_int_equal(number_set_add(&s, n, 2000), 0); /* again */
	}
	assert_int_equal(s.count, 2 * 998);
	for (uint64_t n = 2; n < 1000; n++) {
		assert_true(number_set_has(&s, n << 20));
		assert_true(number_set_has(&s, n));
		assert_false(number_set_has(&s, n + 1000));
	}
	number_set_clear(&s);
	assert_false(number_set_has(&s, 7));
	assert_int_equal(s.count, 0);
}

static void zero_is_a_number(void **state)
{
	struct number_set s = {0};

	assert_false(number_set_has(&s, 0));
	assert_int_equal(number_set_add(&s, 0, 10), 0);
	assert_true(number_set_has(&s, 0));
	number_set_clear(&s);
}

static void it_has_a_limit(void **state)
{
	struct number_set s = {0};

	assert_int_equal(number_set_add(&s, 5, 2), 0);
	assert_int_equal(number_set_add(&s, 6, 2), 0);
	assert_int_equal(number_set_add(&s, 7, 2), -ENOSPC);
	assert_int_equal(number_set_add(&s, 6, 2), 0);
	assert_false(number_set_has(&s, 7));
	number_set_clear(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_has_what_was_added),
		cmocka_unit_test(zero_is_a_number),
		cmocka_unit_test(it_has_a_limit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
