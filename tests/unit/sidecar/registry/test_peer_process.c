/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cmocka_setup.h"

#include <fcntl.h>
#include <sched.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sidecar/registry/peer_process.h"
#include "base/util.h"

#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77
#endif

/* In a pid namespace of its own, where nobody else has it. */
#define PID        100
#define PID_BEFORE "99"

static int bound(void)
{
	const struct sockaddr any = {.sa_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	/* An address of the kernel's choice: unix(7), autobind. */
	assert_int_equal(bind(fd, &any, sizeof(any.sa_family)), 0);
	return fd;
}

static int connected(int listener)
{
	struct sockaddr_storage address;
	socklen_t size = sizeof(address);
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);

	assert_int_equal(getsockname(listener, (struct sockaddr *)&address, &size), 0);
	assert_int_equal(connect(fd, (struct sockaddr *)&address, size), 0);
	return fd;
}

static bool kernel_can_tell(void)
{
	_cleanup_close_ int listener = bound(), fd = -1, pidfd = -1;
	socklen_t size = sizeof(pidfd);

	assert_int_equal(listen(listener, 1), 0);
	fd = connected(listener);
	return getsockopt(fd, SOL_SOCKET, SO_PEERPIDFD, &pidfd, &size) == 0;
}

/* Forks, so that the child has that number, and calls run() there: what it returns. */
static int in_process(const char *pid, int (*run)(int listener), int listener)
{
	int fd, status;
	pid_t child;

	if (pid) {
		fd = open("/proc/sys/kernel/ns_last_pid", O_WRONLY | O_CLOEXEC);
		if (fd < 0 || write(fd, pid, strlen(pid)) < 0)
			return -1;
		(void)close_fd(fd);
	}
	child = fork();
	if (child == 0)
		_exit(run(listener));
	return child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static int call_listen(int listener)
{
	return listen(listener, 4) == 0 ? 0 : 1;
}

static void a_process_that_is_there_is_seen(void **state)
{
	_cleanup_close_ int listener = bound(), fd = -1;

	assert_int_equal(listen(listener, 1), 0);
	fd = connected(listener);
	assert_true(peer_process_is_there(fd));
}

static void one_that_has_ended_is_not(void **state)
{
	_cleanup_close_ int listener = bound(), fd = -1;

	if (!kernel_can_tell())
		skip();
	assert_int_equal(in_process(NULL, call_listen, listener), 0);
	fd = connected(listener);
	assert_false(peer_process_is_there(fd));
}

/* 0 if the kernel shows this process's own number of who listens, and that is another process. */
static int is_taken_for_another(int listener)
{
	_cleanup_close_ int fd = connected(listener);
	struct ucred peer;
	socklen_t size = sizeof(peer);

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) < 0 || getpid() != PID || peer.pid != PID)
		return 2;
	return peer_process_is_there(fd) ? 1 : 0;
}

static int be_init(int listener)
{
	return in_process(PID_BEFORE, call_listen, listener) == 0
		       ? in_process(PID_BEFORE, is_taken_for_another, listener)
		       : 3;
}

static int make_namespace(int listener)
{
	return unshare(CLONE_NEWPID) == 0 ? in_process(NULL, be_init, listener) : 4;
}

static void nor_is_another_that_has_its_number_by_now(void **state)
{
	_cleanup_close_ int listener = bound();

	if (geteuid() != 0 || !kernel_can_tell())
		skip();
	assert_int_equal(in_process(NULL, make_namespace, listener), 0);
}

static void a_process_has_its_threads_alone(void **state)
{
	pid_t parent = getppid();

	assert_true(peer_process_has_thread(getpid(), getpid()));
	assert_false(peer_process_has_thread(getpid(), parent));
	assert_false(peer_process_has_thread(parent, getpid()));
	assert_false(peer_process_has_thread(getpid(), 0));
	assert_false(peer_process_has_thread(0, getpid()));
	assert_false(peer_process_has_thread(-1, getpid()));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_process_that_is_there_is_seen),
		cmocka_unit_test(one_that_has_ended_is_not),
		cmocka_unit_test(nor_is_another_that_has_its_number_by_now),
		cmocka_unit_test(a_process_has_its_threads_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
