/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cmocka_setup.h"

#include "fuse/node/attr_memory.h"

static const struct attr_limits limits = {.min = 3, .max = 60};

static struct nfs_attr version(uint64_t n)
{
	return (struct nfs_attr){.size = 10, .mtime = {.tv_sec = 5}, .ctime = {.tv_sec = 5, .tv_nsec = (long)n}};
}

static void the_interval_doubles_while_nothing_changes(void **state)
{
	struct attr_memory m = {0};
	struct nfs_attr a = version(1);
	uint64_t now = 1000;

	assert_int_equal(attr_memory_tell(&m, &a, &limits, now), 3);
	assert_int_equal(attr_memory_tell(&m, &a, &limits, now + 1000), 3); /* asked again too soon to tell */
	assert_int_equal(attr_memory_tell(&m, &a, &limits, now += 3001), 6);
	assert_int_equal(attr_memory_tell(&m, &a, &limits, now += 6001), 12);
	for (int i = 0; i < 5; i++)
		(void)attr_memory_tell(&m, &a, &limits, now += 60001);
	assert_int_equal(attr_memory_tell(&m, &a, &limits, now), 60);
	a = version(2);
	assert_int_equal(attr_memory_tell(&m, &a, &limits, now), 3);
}

static void without_a_timeout_there_is_none(void **state)
{
	const struct attr_limits none = {0}, only_min = {.min = 90, .max = 60};
	struct attr_memory m = {0};
	struct nfs_attr a = version(1);

	assert_int_equal(attr_memory_tell(&m, &a, &none, 1000), 0);
	assert_int_equal(attr_memory_tell(&m, &a, &none, 100000), 0);
	a = version(2);
	assert_int_equal(attr_memory_tell(&m, &a, &only_min, 100000), 90);
	assert_int_equal(attr_memory_tell(&m, &a, &only_min, 900000), 90);
}

static void pages_stay_only_for_the_very_same_version(void **state)
{
	const struct nfs_attr changes[] = {
		{.size = 11, .mtime = {.tv_sec = 5}, .ctime = {.tv_sec = 5, .tv_nsec = 1}},
		{.size = 10, .mtime = {.tv_sec = 6}, .ctime = {.tv_sec = 5, .tv_nsec = 1}},
		{.size = 10, .mtime = {.tv_sec = 5}, .ctime = {.tv_sec = 5, .tv_nsec = 2}},
	};
	struct attr_memory m = {0};
	struct nfs_attr a = version(1);

	assert_false(attr_memory_pages_are_good(&m, &a));
	(void)attr_memory_tell(&m, &a, &limits, 0);
	assert_true(attr_memory_pages_are_good(&m, &a));
	for (size_t i = 0; i < ARRAY_SIZE(changes); i++)
		assert_false(attr_memory_pages_are_good(&m, &changes[i]));
	m.pages_are_old = true;
	assert_false(attr_memory_pages_are_good(&m, &a));
}

/* nocto: the time since the kernel was told the attributes decides, not the server's present attributes. */
static void without_close_to_open_pages_are_believed_for_a_while(void **state)
{
	struct attr_memory m = {0};
	struct nfs_attr a = version(1);

	assert_false(attr_memory_pages_are_believed(&m, 0));
	(void)attr_memory_tell(&m, &a, &limits, 1000);
	assert_true(attr_memory_pages_are_believed(&m, 3999));
	assert_false(attr_memory_pages_are_believed(&m, 4000));
	(void)attr_memory_tell(&m, &a, &limits, 3500); /* told again */
	assert_true(attr_memory_pages_are_believed(&m, 6499));
	assert_false(attr_memory_pages_are_believed(&m, 6500));
	m.pages_are_old = true;
	assert_false(attr_memory_pages_are_believed(&m, 3500));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_interval_doubles_while_nothing_changes),
		cmocka_unit_test(without_a_timeout_there_is_none),
		cmocka_unit_test(pages_stay_only_for_the_very_same_version),
		cmocka_unit_test(without_close_to_open_pages_are_believed_for_a_while),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
