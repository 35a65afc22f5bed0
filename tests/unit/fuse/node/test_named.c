/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cmocka_setup.h"

#include "fuse/node/attr_memory.h"
#include "fuse/node/named.h"

static const struct nfs_fh here = {.len = 1, .data = {1}}, there = {.len = 1, .data = {2}};
static const struct timespec first = {.tv_sec = 1}, second = {.tv_sec = 1, .tv_nsec = 1}, third = {.tv_sec = 2};
#define A 1U
#define B 2U

static enum named_verdict judge(const struct named *n, struct timespec ctime)
{
	return named_judge(n, &(struct nfs_attr){.nlink = 1, .ctime = ctime}, 0);
}

static void a_name_has_the_same_bit_each_time(void **state)
{
	unsigned different = 0;
	char name[] = "a";

	for (; name[0] <= 'z'; name[0]++) {
		uint64_t bit = named_bit(&here, name);

		assert_int_equal(bit & (bit - 1), 0);
		assert_int_equal(bit, named_bit(&here, name));
		different += bit != named_bit(&there, name);
	}
	assert_true(different > 13);
}

static void a_name_holds_as_long_as_the_file_is_not_changed(void **state)
{
	struct named n = {0};

	assert_int_equal(judge(&n, first), NAMED_HOLDS); /* the kernel was told no name */
	named_found(&n, &here, 0, A, &first, true);
	assert_int_equal(judge(&n, first), NAMED_HOLDS);
	assert_int_equal(judge(&n, second), NAMED_LOST);
	assert_int_equal(named_judge(&n, &(struct nfs_attr){.nlink = 0, .ctime = first}, 0), NAMED_LOST);
}

static void or_as_long_as_the_directory_is_not(void **state)
{
	struct named n = {0};

	named_found(&n, &here, 7, A, &first, true);
	assert_int_equal(judge(&n, second), NAMED_ASK_DIRECTORY);
	assert_false(named_directory_is(&n, &here, 8, &second));
	assert_false(named_directory_is(&n, &there, 7, &second));
	assert_int_equal(judge(&n, second), NAMED_ASK_DIRECTORY);
	assert_true(named_directory_is(&n, &here, 7, &second));
	assert_int_equal(judge(&n, second), NAMED_HOLDS);
	assert_int_equal(judge(&n, first), NAMED_ASK_DIRECTORY);
}

static void but_not_when_a_name_went_to_another_directory(void **state)
{
	struct named n = {0};
	uint64_t moved;

	named_found(&n, &here, 7, A, &first, true);
	moved = attr_clock_tick();
	assert_int_equal(named_judge(&n, &(struct nfs_attr){.nlink = 1, .ctime = second}, moved), NAMED_LOST);
	named_found(&n, &here, 7, A, &first, true);
	assert_int_equal(named_judge(&n, &(struct nfs_attr){.nlink = 1, .ctime = second}, moved), NAMED_ASK_DIRECTORY);
}

static void each_name_must_be_told_with_the_ctime(void **state)
{
	struct named n = {0};

	named_found(&n, &here, 7, A, &first, true);
	named_found(&n, &here, 7, B, &first, false);
	assert_int_equal(judge(&n, first), NAMED_HOLDS);
	named_found(&n, &here, 8, B, &second, false);
	assert_int_equal(judge(&n, second), NAMED_LOST); /* the file may have lost A */
	assert_false(named_directory_is(&n, &here, 8, &second));
	named_found(&n, &here, 8, A, &second, false);
	assert_int_equal(judge(&n, second), NAMED_HOLDS);
	assert_int_equal(judge(&n, third), NAMED_ASK_DIRECTORY);
	named_found(&n, &there, 3, B, &third, false);
	assert_int_equal(judge(&n, third), NAMED_LOST);
	named_found(&n, &there, 3, B, &third, true); /* the kernel believes A no more */
	assert_int_equal(judge(&n, third), NAMED_HOLDS);
	named_told(&n, A);
	assert_int_equal(judge(&n, third), NAMED_LOST);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_name_has_the_same_bit_each_time),
		cmocka_unit_test(a_name_holds_as_long_as_the_file_is_not_changed),
		cmocka_unit_test(or_as_long_as_the_directory_is_not),
		cmocka_unit_test(but_not_when_a_name_went_to_another_directory),
		cmocka_unit_test(each_name_must_be_told_with_the_ctime),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
