/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The directory that an export's mount keeps between two changes of names. */
#include "cmocka_setup.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/util.h"
#include "sidecar/backing/export_mount.h"

static char top[] = "/dev/shm/localiofs-test-XXXXXX";
static char one[64], other[64];
static struct export_mount *mount;
static struct statx taken; /* the attributes of the directory that was taken last */

static int make_directories(void **state)
{
	if (geteuid() != 0)
		return 0;
	if (mkdtemp(top) == NULL)
		return -1;
	(void)snprintf(one, sizeof(one), "%s/one", top);
	(void)snprintf(other, sizeof(other), "%s/other", top);
	return mkdir(one, 0700) == 0 && mkdir(other, 0700) == 0 && export_mount_open(top, &mount) == 0 ? 0 : -1;
}

static int remove_directories(void **state)
{
	(void)export_mount_unref(mount);
	(void)rmdir(one);
	(void)rmdir(other);
	(void)rmdir(top);
	return 0;
}

static void need_root(void)
{
	if (geteuid() != 0)
		skip(); /* a clone of a mount needs SYS_ADMIN */
}

static struct nfs_handle handle_of(const char *path)
{
	_cleanup_close_ int fd = open(path, O_PATH | O_CLOEXEC);
	struct nfs_handle h = {0};

	assert_int_equal(nfs_handle_read(fd, &h), 0);
	return h;
}

/* True if the descriptor is of the directory that has the path now. */
static bool is_of(int fd, const char *path)
{
	struct stat a, b;

	return fstat(fd, &a) == 0 && stat(path, &b) == 0 && a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

/* True if the attributes that came with the directory are those of the path. */
static bool has_attributes_of(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && taken.stx_ino == st.st_ino && taken.stx_mode == st.st_mode &&
	       taken.stx_nlink == st.st_nlink;
}

/* Takes the directory, says whether it has that path, and gives it back. */
static bool takes(const struct nfs_handle *h, const char *path)
{
	int fd = export_mount_take(mount, h, &taken);
	bool right = fd >= 0 && is_of(fd, path) && has_attributes_of(path);

	export_mount_keep(mount, h, fd);
	return right;
}

static void each_handle_gets_its_own_directory(void **state)
{
	struct nfs_handle h, h2;

	need_root();
	h = handle_of(one);
	h2 = handle_of(other);
	for (unsigned n = 0; n < 3; n++) {
		assert_true(takes(&h, one));
		assert_true(takes(&h, one));
		assert_true(takes(&h2, other));
	}
}

static void the_last_directory_is_kept(void **state)
{
	struct nfs_handle h;
	int fd;

	need_root();
	h = handle_of(one);
	assert_true(takes(&h, one));
	fd = mount->kept;
	assert_true(fd >= 0);
	assert_int_equal(export_mount_take(mount, &h, &taken), fd);
	export_mount_keep(mount, &h, fd);
}

static void two_at_once_have_a_descriptor_each(void **state)
{
	struct nfs_handle h;
	int a, b;

	need_root();
	h = handle_of(one);
	a = export_mount_take(mount, &h, &taken);
	b = export_mount_take(mount, &h, &taken);
	assert_true(a >= 0 && b >= 0 && a != b);
	export_mount_keep(mount, &h, a);
	export_mount_keep(mount, &h, b);
	assert_int_equal(mount->kept, b);
	assert_int_equal(fcntl(a, F_GETFD), -1);
}

static void a_removed_directory_is_stale(void **state)
{
	struct nfs_handle h;

	need_root();
	h = handle_of(one);
	assert_true(takes(&h, one));
	assert_int_equal(rmdir(one), 0);
	assert_int_equal(export_mount_take(mount, &h, &taken), -ESTALE);
	assert_int_equal(mkdir(one, 0700), 0);
	assert_int_equal(export_mount_take(mount, &h, &taken), -ESTALE);
	h = handle_of(one);
	assert_true(takes(&h, one));
}

/* As export_mount_directory() answers: a handle is of a directory, or of nothing here. */
static void a_handle_of_a_file_is_refused(void **state)
{
	char path[80];
	struct nfs_handle h;

	need_root();
	(void)snprintf(path, sizeof(path), "%s/file", top);
	(void)close_fd(open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
	h = handle_of(path);
	assert_int_equal(export_mount_take(mount, &h, &taken), -ENOTDIR);
	assert_int_equal(unlink(path), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_handle_gets_its_own_directory),
		cmocka_unit_test(the_last_directory_is_kept),
		cmocka_unit_test(two_at_once_have_a_descriptor_each),
		cmocka_unit_test(a_removed_directory_is_stale),
		cmocka_unit_test(a_handle_of_a_file_is_refused),
	};

	return cmocka_run_group_tests(tests, make_directories, remove_directories);
}
