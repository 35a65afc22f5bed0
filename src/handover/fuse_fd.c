/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "handover/fuse_fd.h"

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

	if (fstat(fd, &st) < 0) {
		(void)snprintf(sentence, size, "descriptor %d: %s", fd, strerror(errno));
		return -EBADF;
	}
	if (!S_ISCHR(st.st_mode) || st.st_rdev != FUSE_DEVICE) {
		(void)snprintf(sentence, size, "descriptor %d is not a descriptor of /dev/fuse", fd);
		return -ENOTTY;
	}
	if (poll(&p, 1, 0) < 0 || (p.revents & (POLLERR | POLLNVAL)) != 0) {
		(void)snprintf(sentence, size,
			"descriptor %d has no mount: it was not given to mount(2), or the file system is unmounted",
			fd);
		return -ENOTCONN;
	}
	return 0;
}

void fuse_fd_device(int fd, char *ret, size_t size)
{
	char name[64], text[1024];
	const char *line;
	uint64_t number;

	ret[0] = '\0';
	(void)snprintf(name, sizeof(name), "/proc/self/fdinfo/%d", fd);
	if (read_small_file(name, text, sizeof(text)) <= 0)
		return;
	line = strstr(text, "fuse_connection:\t");
	if (line && sscanf(line, "fuse_connection:\t%" SCNu64, &number) == 1)
		(void)snprintf(ret, size, "%" PRIu64 ":%" PRIu64, number >> 20,
			number & 0xfffff); /* the kernel's dev_t */
}
