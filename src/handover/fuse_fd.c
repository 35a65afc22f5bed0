/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "handover/fuse_fd.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "base/text.h"
#include "base/whole_io.h"

#define FUSE_DEVICE makedev(10, 229)

int fuse_fd_check(int fd, char *sentence, size_t size)
{
	struct pollfd p = {.fd = fd};
	struct stat st;

	if (fstat(fd, &st) < 0)
		return sentence_fail(sentence, size, -EBADF, "descriptor %d: %s", fd, strerror(errno));
	if (!S_ISCHR(st.st_mode) || st.st_rdev != FUSE_DEVICE)
		return sentence_fail(sentence, size, -ENOTTY, "descriptor %d is not a descriptor of /dev/fuse", fd);
	if (poll(&p, 1, 0) < 0 || (p.revents & (POLLERR | POLLNVAL)) != 0)
		return sentence_fail(sentence, size, -ENOTCONN,
			"descriptor %d has no mount: it was not given to mount(2), or the file system is unmounted",
			fd);
	return 0;
}

void fuse_fd_device(int fd, char *ret, size_t size)
{
	uint64_t number;

	ret[0] = '\0';
	if (read_fdinfo(fd, "fuse_connection", &number) == 0) /* the kernel's dev_t */
		(void)snprintf(ret, size, "%" PRIu64 ":%" PRIu64, number >> 20, number & 0xfffff);
}
