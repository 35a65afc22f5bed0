/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "setattr/access_acl.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "localiofs/broker_protocol.h"

#define ACCESS_ACL     "system.posix_acl_access"
#define SYS_GETXATTRAT 464 /* on all architectures but alpha */

/* getxattrat(2) of the directory, which the C library does not know yet; the kernel does since Linux 6.13. */
static ssize_t get_acl(int dir)
{
	struct {
		uint64_t value;
		uint32_t size, flags;
	} args = {0}; /* struct xattr_args in include/uapi/linux/xattr.h */

	return syscall(SYS_GETXATTRAT, dir, ".", 0, ACCESS_ACL, &args, sizeof(args));
}

/* True if errno says that there is no ACL. */
static bool says_no_acl(void)
{
	return errno == ENODATA || errno == EOPNOTSUPP;
}

uint32_t access_acl_of_directory(int fd)
{
	ssize_t size = get_acl(fd);

	/* An older kernel, or a container's list of system calls, leaves the way through /proc. */
	if (size < 0 && !says_no_acl())
		return access_acl_of_file(fd);
	return size < 0 ? BROKER_ATTR_NO_ACL : 0;
}

uint32_t access_acl_of_file(int fd)
{
	char path[48];

	(void)snprintf(path, sizeof(path), "/proc/thread-self/fd/%d", fd);
	return getxattr(path, ACCESS_ACL, NULL, 0) < 0 && says_no_acl() ? BROKER_ATTR_NO_ACL : 0;
}
