/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The servers' handles of files beside files whose handles are known. */
#include "cmocka_setup.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "handle/handle_ganesha.h"
#include "handle/handle_knfsd.h"

/* A directory and a file in it, on a filesystem that has handles. */
static char top[] = "/tmp/localiofs-handle-XXXXXX";
static int dir, file;

static int set_up(void **state)
{
	if (!mkdtemp(top))
		return -1;
	dir = open(top, O_PATH | O_DIRECTORY);
	file = openat(dir, "file", O_CREAT | O_RDONLY, 0600);
	return dir < 0 || file < 0 ? -1 : 0;
}

static int tear_down(void **state)
{
	(void)unlinkat(dir, "file", 0);
	(void)close(dir);
	(void)close(file);
	return rmdir(top);
}

/* What the server calls the file behind fd, in an export with this number, or by this fsid. */
static struct broker_fh fh_of(int fd, bool ganesha)
{
	struct nfs_handle h = {.export_id = ganesha ? 77 : 0,
		.fsid_type = ganesha ? GANESHA_FSID_STATFS : KNFSD_FSID_UUID8,
		.fsid_length = 8,
		.fsid = "fs"};
	struct broker_fh ret;

	assert_int_equal(nfs_handle_read(fd, &h), 0);
	assert_int_equal(ganesha ? handle_ganesha_encode(&h, &ret) : handle_knfsd_encode(&h, &ret), 0);
	return ret;
}

static void a_file_has_the_handle_that_the_server_gives_it(void **state)
{
	for (unsigned ganesha = 0; ganesha < 2; ganesha++) {
		struct broker_fh known = fh_of(dir, ganesha), right = fh_of(file, ganesha), told;
		struct nfs_handle kernel;

		assert_true(nfs_handle_is_of(&known, dir));
		assert_int_equal(nfs_handle_read(file, &kernel), 0);
		assert_int_equal(nfs_handle_of_kernel(&known, &kernel, &told), 0);
		assert_memory_equal(&told, &right, sizeof(told));
	}
}

static void a_handle_of_another_file_tells_nothing(void **state)
{
	for (unsigned ganesha = 0; ganesha < 2; ganesha++) {
		struct broker_fh known = fh_of(file, ganesha);

		assert_false(nfs_handle_is_of(&known, dir));
	}
}

/* knfsd names an export's root by the fsid alone. An fsid of a root alone names no other file. */
static void handles_beside_a_root(void **state)
{
	struct broker_fh root = {.length = 12, .data = {1, 0, KNFSD_FSID_UUID8, 0, 'f', 's'}}, told, right;
	struct broker_fh old = {.length = 16, .data = {1, 0, KNFSD_FSID_MAJOR_MINOR, 0}};
	struct nfs_handle kernel;

	right = fh_of(file, false);
	assert_true(nfs_handle_is_of(&root, dir));
	assert_int_equal(nfs_handle_read(file, &kernel), 0);
	assert_int_equal(nfs_handle_of_kernel(&root, &kernel, &told), 0);
	assert_memory_equal(&told, &right, sizeof(told));
	assert_false(nfs_handle_is_of(&old, dir));
}

static void handles_of_no_known_form(void **state)
{
	struct broker_fh known = {.length = 8, .data = "strange"}, told;
	struct nfs_handle kernel;

	assert_int_equal(nfs_handle_read(file, &kernel), 0);
	assert_false(nfs_handle_is_of(&known, dir));
	assert_int_equal(nfs_handle_of_kernel(&known, &kernel, &told), -EOPNOTSUPP);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_file_has_the_handle_that_the_server_gives_it),
		cmocka_unit_test(a_handle_of_another_file_tells_nothing),
		cmocka_unit_test(handles_beside_a_root),
		cmocka_unit_test(handles_of_no_known_form),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
