/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The filter of a session: what it was told, and no more than its limit. */
#include "cmocka_setup.h"

#include <string.h>

#include "sidecar/notices/told.h"

static struct told_table table;

static struct event_fid file(const uint32_t *number)
{
	return (struct event_fid){.fsid = {1, 2},
		.type = 3,
		.length = sizeof(*number),
		.bytes = (const uint8_t *)number};
}

static bool add(uint32_t number, uint8_t export, bool directory)
{
	struct event_fid fid = file(&number);
	struct broker_fh fh = {.length = 2, .data = {export, (uint8_t)number}};

	return told_add(&table, &fid, &fh, directory);
}

static int setup(void **state)
{
	told_init(&table);
	return 0;
}

static int teardown(void **state)
{
	told_done(&table);
	return 0;
}

static void only_what_was_told_is_found(void **state)
{
	const uint32_t one = 1, two = 2;
	struct event_fid fid = file(&one), other = file(&two);
	struct broker_fh fh;

	assert_true(add(1, 9, true));
	assert_non_null(told_find(&table, &fid));
	told_handle(told_find(&table, &fid), &fh);
	assert_int_equal(fh.length, 2);
	assert_int_equal(fh.data[0], 9);
	assert_null(told_find(&table, &other));
	other = fid;
	other.fsid[1]++;
	assert_null(told_find(&table, &other)); /* the same handle on another filesystem */
	other = fid;
	other.type++;
	assert_null(told_find(&table, &other));
	other.length = 0;
	assert_null(told_find(&table, &other));
}

static void a_file_is_told_under_one_handle(void **state)
{
	assert_true(add(1, 9, true));
	assert_true(add(1, 9, true));
	assert_int_equal(table.all.count, 1);
	assert_false(add(1, 8, true)); /* by another export: its notices would go astray */
}

static void a_file_is_told_once_and_a_directory_always(void **state)
{
	const uint32_t one = 1, two = 2;
	struct event_fid fid = file(&one), dir = file(&two);

	assert_true(add(1, 9, false));
	assert_true(told_find(&table, &fid)->once);
	assert_true(add(2, 9, false)); /* a directory that a lookup has found, */
	assert_true(add(2, 9, true));  /* and in which a name is looked up */
	assert_false(told_find(&table, &dir)->once);
	assert_true(add(2, 9, false));
	assert_false(told_find(&table, &dir)->once);
	told_remove(&table, told_find(&table, &fid));
	assert_null(told_find(&table, &fid));
	assert_true(add(1, 9, true));
	assert_false(told_find(&table, &fid)->once);
}

static void the_table_has_a_limit(void **state)
{
	for (uint32_t n = 0; n < TOLD_MAX_FILES; n++)
		assert_true(add(n, 9, false));
	assert_false(add(TOLD_MAX_FILES, 9, false));
	assert_true(add(0, 9, false)); /* is there */
	for (uint32_t n = TOLD_MAX_FILES; n < TOLD_MAX; n++)
		assert_true(add(n, 9, true));
	assert_false(add(TOLD_MAX, 9, true));
	told_forget(&table);
	assert_int_equal(table.all.count, 0);
	assert_true(add(TOLD_MAX, 9, false));
}

static void a_new_directory_has_the_handle_that_the_server_gives_it(void **state)
{
	/* knfsd's handles: the fsid's type and number, then the kernel's handle. */
	const struct broker_fh parent = {.length = 12, .data = {1, 0, 1, 3, 'f', 's', 'i', 'd', 1}};
	const uint32_t one = 1, two = 2, three = 3;
	struct event_fid fid = file(&one), child = file(&two), strange = file(&three);
	struct broker_fh fh;

	assert_true(told_add(&table, &fid, &parent, true));
	assert_true(told_add_beside(&table, told_find(&table, &fid), &child));
	told_handle(told_find(&table, &child), &fh);
	assert_int_equal(fh.length, 12);
	assert_memory_equal(fh.data, ((uint8_t[]){1, 0, 1, 3, 'f', 's', 'i', 'd', 2}), 9);
	assert_false(told_find(&table, &child)->once);
	strange.length = 0;
	assert_false(told_add_beside(&table, told_find(&table, &fid), &strange));
	/* Beside a handle of no known form. */
	assert_true(add(3, 9, true));
	strange = file(&three);
	assert_false(told_add_beside(&table, told_find(&table, &strange), &child));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(only_what_was_told_is_found, setup, teardown),
		cmocka_unit_test_setup_teardown(a_file_is_told_under_one_handle, setup, teardown),
		cmocka_unit_test_setup_teardown(a_new_directory_has_the_handle_that_the_server_gives_it, setup,
			teardown),
		cmocka_unit_test_setup_teardown(a_file_is_told_once_and_a_directory_always, setup, teardown),
		cmocka_unit_test_setup_teardown(the_table_has_a_limit, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
