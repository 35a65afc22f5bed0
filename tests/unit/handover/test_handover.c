/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The handover of a descriptor, against a mounter or a daemon that the test plays. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <cmocka.h>

#include "base/util.h"
#include "handover/handover.h"

#define NOT_STOPPED (-1) /* poll(2) ignores this descriptor */

struct fixture {
	char folder[64], path[80], sentence[512];
	struct sockaddr_un address;
};

static int set_up(void **state)
{
	static struct fixture f;

	f = (struct fixture){.folder = "/tmp/test_handover.XXXXXX", .address = {.sun_family = AF_UNIX}};
	if (!mkdtemp(f.folder))
		return -1;
	(void)snprintf(f.path, sizeof(f.path), "%s/s", f.folder);
	memcpy(f.address.sun_path, f.path, strlen(f.path));
	*state = &f;
	(void)alarm(60); /* a call that hangs fails the test */
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	(void)alarm(0);
	(void)unlink(f->path);
	return rmdir(f->folder);
}

static int connect_client(struct fixture *f)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	assert_true(fd >= 0);
	if (connect(fd, (struct sockaddr *)&f->address, sizeof(f->address)) == 0)
		return fd;
	(void)close(fd);
	return -errno;
}

static void a_full_queue_does_not_outlast_the_timeout(void **state)
{
	struct fixture *f = *state;
	int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), client;
	struct handover h;

	assert_int_equal(bind(listener, (struct sockaddr *)&f->address, sizeof(f->address)), 0);
	assert_int_equal(listen(listener, 0), 0);
	client = connect_client(f);
	assert_true(client >= 0);
	assert_int_equal(connect_client(f), -EAGAIN); /* the queue is full */
	assert_int_equal(handover_take(f->path, 200, &h, f->sentence, sizeof(f->sentence)), -EAGAIN);
	(void)close(client);
	(void)close(listener);
}

static void a_mounter_that_never_comes_is_given_up(void **state)
{
	struct fixture *f = *state;
	struct handover h;

	assert_int_equal(handover_take(f->path, 200, &h, f->sentence, sizeof(f->sentence)), -ENOENT);
	assert_non_null(strstr(f->sentence, "expected localiofs-mounter to listen there"));
}

static void a_dead_daemon_does_not_outlast_the_timeout(void **state)
{
	struct fixture *f = *state;
	int listener = handover_listen(f->path, f->sentence, sizeof(f->sentence)), client;

	assert_true(listener >= 0);
	client = connect_client(f);
	assert_true(client >= 0);
	/* The daemon has ended by the time that its connection is served. */
	(void)close(client);
	assert_int_equal(handover_give(listener, STDERR_FILENO, getuid(), 200, NOT_STOPPED, f->sentence,
				 sizeof(f->sentence)),
		-ETIMEDOUT);
	handover_end(listener, f->path);
	assert_int_equal(access(f->path, F_OK), -1);
}

static void another_uid_gets_nothing(void **state)
{
	struct fixture *f = *state;
	int listener = handover_listen(f->path, f->sentence, sizeof(f->sentence)), client = connect_client(f);
	char byte;

	assert_int_equal(handover_give(listener, STDERR_FILENO, getuid() + 1, 200, NOT_STOPPED, f->sentence,
				 sizeof(f->sentence)),
		-ETIMEDOUT);
	assert_int_equal(recv(client, &byte, 1, 0), 0);
	(void)close(client);
	handover_end(listener, f->path);
}

static void a_socket_of_another_process_stays(void **state)
{
	struct fixture *f = *state;
	int listener = handover_listen(f->path, f->sentence, sizeof(f->sentence)), other;
	struct stat st;

	assert_int_equal(unlink(f->path), 0);
	other = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(other, (struct sockaddr *)&f->address, sizeof(f->address)), 0); /* does not listen */
	handover_end(listener, f->path);
	assert_int_equal(lstat(f->path, &st), 0);
	/* A socket on which no process listens is what an ended mounter leaves. */
	(void)close(other);
	listener = handover_listen(f->path, f->sentence, sizeof(f->sentence));
	assert_true(listener >= 0);
	assert_int_equal(handover_listen(f->path, f->sentence, sizeof(f->sentence)), -EADDRINUSE);
	handover_end(listener, f->path);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(a_full_queue_does_not_outlast_the_timeout),
		TEST(a_mounter_that_never_comes_is_given_up),
		TEST(a_dead_daemon_does_not_outlast_the_timeout),
		TEST(another_uid_gets_nothing),
		TEST(a_socket_of_another_process_stays),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
