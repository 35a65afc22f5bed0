/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/whole_io.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "base/util.h"

ssize_t read_small_file(const char *path, char *buf, size_t size)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	size_t done = 0;

	if (fd < 0)
		return -errno;
	while (done + 1 < size) {
		ssize_t n = read(fd, buf + done, size - 1 - done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			break;
		done += (size_t)n;
	}
	buf[done] = '\0';
	return (ssize_t)done;
}

int read_fdinfo(int fd, const char *name, uint64_t *ret)
{
	char path[64], text[1024], key[64], *line;
	ssize_t n;

	/* Some threads have a descriptor table of their own. */
	(void)snprintf(path, sizeof(path), "/proc/thread-self/fdinfo/%d", fd);
	n = read_small_file(path, text, sizeof(text));
	if (n < 0)
		return (int)n;
	(void)snprintf(key, sizeof(key), "\n%s:\t", name); /* the first line is "pos:" */
	line = strstr(text, key);
	if (!line)
		return -ENODATA;
	line += strlen(key);
	line[strcspn(line, "\n")] = '\0';
	return parse_u64(line, 0, UINT64_MAX, ret);
}

int write_all(int fd, const void *buf, size_t len)
{
	const char *p = buf;

	while (len > 0) {
		ssize_t n = write(fd, p, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		p += n;
		len -= (size_t)n;
	}
	return 0;
}
