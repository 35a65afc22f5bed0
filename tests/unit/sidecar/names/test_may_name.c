/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* In which directories a client may change names by itself. */
#include "cmocka_setup.h"

#include "sidecar/names/change.h"

/* For a caller whom the squash makes this user, in a directory of user 1001. */
static uint32_t may_name(bool writable, uint32_t uid)
{
	const struct location at = {.perms = {.write = writable}};
	const struct grant_context g = {.at = &at};
	const struct broker_attr dir = {.uid = 1001, .mode = 040777};
	const struct broker_cred cred = {.uid = uid};

	return name_change_may_name(&g, &dir, &cred);
}

static void names_are_for_the_owner_alone(void **state)
{
	assert_int_equal(may_name(true, 1001), BROKER_SET_NAMES | BROKER_SET_MKDIR);
	assert_int_equal(may_name(true, 1002), 0);
	assert_int_equal(may_name(true, 0), 0);
}

static void names_of_a_read_only_export_stay(void **state)
{
	assert_int_equal(may_name(false, 1001), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_are_for_the_owner_alone),
		cmocka_unit_test(names_of_a_read_only_export_stay),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
