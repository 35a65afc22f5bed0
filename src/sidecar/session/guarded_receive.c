/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sidecar/session/guarded_receive.h"

#include <errno.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "net/scm_fd.h"
#include "base/util.h"

#define STACK_SIZE (128 * 1024)

/*
 * The memory of the call, which both processes share. The session's thread is suspended while the other process runs.
 * It is a mapping of its own, because the heap of the session's thread would keep it until the session ends.
 */
struct guarded {
	_Alignas(16) char stack[STACK_SIZE];
	int socket;
	int pass; /* a socket, for the descriptor that the judge accepts */
	guarded_judge_fn judge;
	void *arg;
	struct packet *packet;
	int received; /* the result of packet_receive() */
	int judged;   /* the result of judge */
};

static int send_fd(int socket, int fd)
{
	struct scm_fd control;
	char byte = 0;
	struct iovec iov = {.iov_base = &byte, .iov_len = 1};
	struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1};

	scm_fd_attach(&control, &msg, fd);
	return sendmsg(socket, &msg, MSG_NOSIGNAL | MSG_DONTWAIT) < 0 ? -errno : 0;
}

static int take_fd(int socket)
{
	struct scm_fd control;
	char byte;
	struct iovec iov = {.iov_base = &byte, .iov_len = 1};
	struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1};

	scm_fd_expect(&control, &msg);
	return recvmsg(socket, &msg, MSG_CMSG_CLOEXEC | MSG_DONTWAIT) < 0 ? -errno : scm_fd_received(&msg);
}

/* The separate process. Its exit wakes the session's thread (CLONE_VFORK) before the kernel closes its descriptors. */
static int receive(void *arg)
{
	struct guarded *g = arg;

	g->received = packet_receive(g->socket, true, g->packet);
	if (g->received >= 0 && g->packet->fd >= 0) {
		g->judged = g->judge(g->packet, g->arg);
		if (g->judged == 0)
			g->judged = send_fd(g->pass, g->packet->fd);
	}
	(void)syscall(SYS_exit_group, 0);
	return 0;
}

static int run(struct guarded *g)
{
	pid_t pid = clone(receive, g->stack + sizeof(g->stack), CLONE_VM | CLONE_VFORK, g);

	if (pid < 0)
		return -errno;
	while (waitpid(pid, NULL, __WALL) < 0 && errno == EINTR)
		;
	return g->received;
}

int guarded_receive(int socket, guarded_judge_fn judge, void *arg, struct packet *ret, int *ret_judged)
{
	struct guarded *g;
	int pass[2], r;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pass) < 0)
		return -errno;
	g = mmap(NULL, sizeof(*g), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (g == MAP_FAILED) {
		r = -errno;
	} else {
		g->socket = socket;
		g->pass = pass[1];
		g->judge = judge;
		g->arg = arg;
		g->packet = ret;
		r = run(g);
	}
	if (r >= 0) {
		*ret_judged = g->judged;
		if (ret->fd >= 0) /* ret->fd was a number in the separate process's table */
			ret->fd = g->judged == 0 ? take_fd(pass[0]) : -1;
	}
	(void)close_fd(pass[0]);
	(void)close_fd(pass[1]);
	if (g != MAP_FAILED)
		(void)munmap(g, sizeof(*g));
	return r;
}
