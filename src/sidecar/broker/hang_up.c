/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sidecar/broker/hang_up.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/util.h"

#define PROCESSES 16

/* The connections that separate processes close. */
struct ends {
	unsigned processes; /* processes that have not ended yet */
	int *waiting;       /* connections that wait for a process */
	size_t nwaiting;
};

/* Reads packets. True if the socket is empty; false if the next packet has descriptors. */
static bool drain(int fd)
{
	const int on = 1;

	/* With SO_PASSCRED every packet has credentials, which distinguish an empty packet from the end. */
	if (shutdown(fd, SHUT_RD) < 0 || setsockopt(fd, SOL_SOCKET, SO_PASSCRED, &on, sizeof(on)) < 0)
		return false;
	for (;;) {
		_Alignas(struct cmsghdr) char room[CMSG_SPACE(sizeof(struct ucred))];
		char byte;
		struct iovec iov = {.iov_base = &byte, .iov_len = 1};
		struct msghdr msg = {.msg_iov = &iov,
			.msg_iovlen = 1,
			.msg_control = room,
			.msg_controllen = sizeof(room)};

		if (recvmsg(fd, &msg, MSG_PEEK | MSG_DONTWAIT) < 0)
			return errno == EAGAIN;
		if (msg.msg_controllen == 0)
			return true;
		if ((msg.msg_flags & MSG_CTRUNC) != 0)
			return false;
		(void)!recv(fd, &byte, 1, MSG_DONTWAIT);
	}
}

/* Waits until the sidecar has closed its copy, and exits, which makes this process's copy the last. */
static _Noreturn void close_last(int fd, int closed)
{
	char byte;

	if (dup2(fd, STDIN_FILENO) >= 0 && dup2(closed, STDOUT_FILENO) >= 0 && close_range(STDERR_FILENO, ~0U, 0) == 0)
		(void)!read(STDOUT_FILENO, &byte, 1);
	_exit(0);
}

/* True if a separate process has the only copy of fd. */
static bool close_in_process(int fd)
{
	int pair[2];
	pid_t child;

	if (pipe2(pair, O_CLOEXEC) < 0)
		return false;
	child = fork();
	if (child == 0) {
		(void)close(pair[1]);
		close_last(fd, pair[0]);
	}
	(void)close_fd(pair[0]);
	if (child > 0)
		(void)close_fd(fd);
	(void)close_fd(pair[1]); /* the process goes on */
	return child > 0;
}

static void close_elsewhere(struct ends *e, int fd)
{
	int *more = reallocarray(e->waiting, e->nwaiting + 1, sizeof(*more));

	/* Without memory the connection stays open. */
	if (more != NULL) {
		e->waiting = more;
		e->waiting[e->nwaiting++] = fd;
	}
	while (e->processes > 0 && waitpid(-1, NULL, WNOHANG | __WNOTHREAD) > 0)
		e->processes--;
	while (e->nwaiting > 0 && e->processes < PROCESSES && close_in_process(e->waiting[e->nwaiting - 1])) {
		e->nwaiting--;
		e->processes++;
	}
}

void hang_up(int fd)
{
	static struct ends ends;

	if (drain(fd))
		(void)close_fd(fd);
	else
		close_elsewhere(&ends, fd);
}
