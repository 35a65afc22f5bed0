/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Changes of attributes by descriptors of all kinds, on new kernels and on old ones. */
#include "cmocka_setup.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "setattr/setattr.h"
#include "without_call.h"

#define SYS_FCHMODAT2 452

static char file[] = "/dev/shm/localiofs-test-XXXXXX";

static int make_file(void **state)
{
	_cleanup_close_ int fd = mkstemp(file);

	return fd < 0 ? -1 : 0;
}

static int remove_file(void **state)
{
	(void)unlink(file);
	return 0;
}

/* Makes the change by a descriptor of these flags; the file's attributes afterwards. */
static int apply(int flags, const struct broker_setattr *q, struct stat *ret)
{
	_cleanup_close_ int fd = open(file, flags | O_CLOEXEC);
	int r = fd < 0 ? -errno : setattr_apply(fd, q);

	return stat(file, ret) < 0 ? -errno : r;
}

static bool sets_mode(int flags, uint32_t mode)
{
	const struct broker_setattr q = {.set = BROKER_SET_MODE, .mode = mode};
	struct stat st;

	return apply(flags, &q, &st) == 0 && (st.st_mode & 07777) == mode;
}

static bool sets_modes(void)
{
	return sets_mode(O_PATH, 0640) && sets_mode(O_RDONLY, 0604) && sets_mode(O_PATH, 0) && sets_mode(O_PATH, 0755);
}

static void the_mode_is_set_by_each_kind_of_descriptor(void **state)
{
	assert_true(sets_modes());
}

static void the_mode_is_set_without_fchmodat2(void **state)
{
	assert_true(without_call(SYS_FCHMODAT2, ENOSYS, sets_modes)); /* an old kernel */
	assert_true(without_call(SYS_FCHMODAT2, EPERM, sets_modes));  /* a container's list of system calls */
}

static void times_are_set_one_by_one(void **state)
{
	struct broker_setattr q = {.set = BROKER_SET_ATIME | BROKER_SET_MTIME,
		.atime_sec = 1000,
		.atime_nsec = 1,
		.mtime_sec = 2000,
		.mtime_nsec = 2};
	struct stat st;

	assert_int_equal(apply(O_PATH, &q, &st), 0);
	assert_true(st.st_atim.tv_sec == 1000 && st.st_atim.tv_nsec == 1);
	assert_true(st.st_mtim.tv_sec == 2000 && st.st_mtim.tv_nsec == 2);
	q = (struct broker_setattr){.set = BROKER_SET_MTIME_NOW};
	assert_int_equal(apply(O_PATH, &q, &st), 0);
	assert_true(st.st_atim.tv_sec == 1000 && st.st_mtim.tv_sec > 2000);
}

static void an_owner_stays_that_is_not_named(void **state)
{
	const struct broker_setattr q = {.set = BROKER_SET_GID, .gid = getegid()};
	struct stat before, st;

	assert_int_equal(stat(file, &before), 0);
	assert_int_equal(apply(O_PATH, &q, &st), 0);
	assert_true(st.st_uid == before.st_uid && st.st_gid == getegid());
}

static void an_error_is_told(void **state)
{
	const struct broker_setattr q = {.set = BROKER_SET_MODE, .mode = 0600};

	assert_int_equal(setattr_apply(-1, &q), -EBADF);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_mode_is_set_by_each_kind_of_descriptor),
		cmocka_unit_test(the_mode_is_set_without_fchmodat2),
		cmocka_unit_test(times_are_set_one_by_one),
		cmocka_unit_test(an_owner_stays_that_is_not_named),
		cmocka_unit_test(an_error_is_told),
	};

	return cmocka_run_group_tests(tests, make_file, remove_file);
}
