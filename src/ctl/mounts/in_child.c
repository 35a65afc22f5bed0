/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "ctl/mounts/in_child.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "base/util.h"

/* Reads until the end, or until the buffer is full. */
static ssize_t read_in_time(int from, void *buf, size_t size)
{
	uint64_t end = now_ms() + IN_CHILD_SECONDS * 1000;
	size_t got = 0;

	while (got < size) {
		uint64_t now = now_ms();
		struct pollfd p = {.fd = from, .events = POLLIN};
		ssize_t n;

		if (now >= end || poll(&p, 1, (int)(end - now)) == 0)
			return -ETIMEDOUT;
		n = read(from, (char *)buf + got, size - got);
		if (n == 0)
			break;
		if (n < 0 && errno != EINTR)
			return -errno;
		got += n > 0 ? (size_t)n : 0;
	}
	return (ssize_t)got;
}

ssize_t in_child(void (*run)(int to, const void *arg), const void *arg, void *buf, size_t size)
{
	_cleanup_close_ int from = -1, to = -1;
	ssize_t r;
	int ends[2];
	pid_t child;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return -errno;
	from = ends[0];
	to = ends[1];
	child = fork();
	if (child < 0)
		return -errno;
	if (child == 0) {
		/* A child that stays behind must not keep the reader of our output waiting. */
		int null = open("/dev/null", O_RDWR | O_CLOEXEC);

		for (int fd = 0; fd <= 2; fd++)
			(void)dup2(null, fd);
		run(to, arg);
		_exit(0);
	}
	to = close_fd(to);
	r = read_in_time(from, buf, size);
	if (r < 0)
		(void)kill(child, SIGKILL);
	/* A child that waits for a hanging daemon may not end even now. */
	(void)waitpid(child, NULL, r < 0 ? WNOHANG : 0);
	return r;
}
