/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Whether a directory has an ACL, as new kernels tell it and as old ones do. */
#include "cmocka_setup.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/util.h"
#include "localiofs/broker_protocol.h"
#include "setattr/access_acl.h"
#include "without_call.h"

#define SYS_GETXATTRAT 464

static char with_acl[] = "/dev/shm/localiofs-test-XXXXXX", without[] = "/dev/shm/localiofs-test-XXXXXX";

/* The owner may do all, user 1001 may search, the others nothing: include/uapi/linux/posix_acl_xattr.h. */
static bool set_acl(const char *path)
{
	struct {
		uint32_t version;
		struct {
			uint16_t tag, permissions;
			uint32_t id;
		} entries[5];
	} acl = {2, {{0x01, 7, UINT32_MAX}, {0x02, 1, 1001}, {0x04, 0, UINT32_MAX}, {0x10, 1, UINT32_MAX},
			    {0x20, 0, UINT32_MAX}}};

	return setxattr(path, "system.posix_acl_access", &acl, sizeof(acl), 0) == 0;
}

static int make_directories(void **state)
{
	return mkdtemp(with_acl) != NULL && mkdtemp(without) != NULL && set_acl(with_acl) ? 0 : -1;
}

static int remove_directories(void **state)
{
	(void)rmdir(with_acl);
	(void)rmdir(without);
	return 0;
}

/* The flag, by a descriptor of these flags. */
static uint32_t told(const char *path, int flags)
{
	_cleanup_close_ int fd = open(path, flags | O_DIRECTORY | O_CLOEXEC);

	return fd < 0 ? UINT32_MAX : access_acl_of_directory(fd);
}

static bool is_right(void)
{
	return told(without, O_PATH) == BROKER_ATTR_NO_ACL && told(without, O_RDONLY) == BROKER_ATTR_NO_ACL &&
	       told(with_acl, O_PATH) == 0 && told(with_acl, O_RDONLY) == 0;
}

static void an_acl_is_seen_by_each_kind_of_descriptor(void **state)
{
	assert_true(is_right());
}

static void an_acl_is_seen_without_getxattrat(void **state)
{
	assert_true(without_call(SYS_GETXATTRAT, ENOSYS, is_right)); /* an old kernel */
	assert_true(without_call(SYS_GETXATTRAT, EPERM, is_right));  /* a container's list of system calls */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_acl_is_seen_by_each_kind_of_descriptor),
		cmocka_unit_test(an_acl_is_seen_without_getxattrat),
	};

	return cmocka_run_group_tests(tests, make_directories, remove_directories);
}
