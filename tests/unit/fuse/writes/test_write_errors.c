/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cmocka_setup.h"

#include <errno.h>

#include "fuse/writes/write_errors.h"

static int by_fsync(struct write_errors *e, struct errors_heard *heard)
{
	return write_errors_tell(e, heard, false);
}

static int by_close(struct write_errors *e, struct errors_heard *heard)
{
	return write_errors_tell(e, heard, true);
}

static void each_open_file_hears_once(void **state)
{
	struct write_errors e = {0};
	struct errors_heard one = write_errors_open(&e), other = one;

	assert_int_equal(by_fsync(&e, &one), 0);
	write_errors_add(&e, -ENOSPC);
	assert_int_equal(by_fsync(&e, &one), -ENOSPC);
	assert_int_equal(by_fsync(&e, &one), 0);
	assert_int_equal(by_close(&e, &one), 0);
	assert_int_equal(by_close(&e, &other), -ENOSPC);
	write_errors_add(&e, -EIO);
	assert_int_equal(by_fsync(&e, &one), -EIO);
	assert_int_equal(by_fsync(&e, &other), -EIO);
}

static void close_takes_nothing_from_fsync(void **state)
{
	struct write_errors e = {0};
	struct errors_heard one = write_errors_open(&e), later;

	write_errors_add(&e, -EIO);
	assert_int_equal(by_close(&e, &one), -EIO);
	assert_int_equal(by_close(&e, &one), 0);
	later = write_errors_open(&e);
	assert_int_equal(by_fsync(&e, &one), -EIO);
	assert_int_equal(by_fsync(&e, &one), 0);
	assert_int_equal(by_fsync(&e, &later), -EIO);
}

static void who_opens_later_hears_by_fsync_of_what_none_has_told(void **state)
{
	struct write_errors e = {0};
	struct errors_heard later, last;

	write_errors_add(&e, -EIO);
	write_errors_add(&e, -ENOSPC);
	later = write_errors_open(&e);
	assert_int_equal(by_close(&e, &later), 0);
	assert_int_equal(by_fsync(&e, &later), -ENOSPC);
	last = write_errors_open(&e);
	assert_int_equal(by_fsync(&e, &last), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_open_file_hears_once),
		cmocka_unit_test(close_takes_nothing_from_fsync),
		cmocka_unit_test(who_opens_later_hears_by_fsync_of_what_none_has_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
