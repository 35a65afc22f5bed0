/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The sidecar's look at the mounts of the NFS server's processes, which all sessions share. */
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "base/util.h"
#include "cmocka_setup.h"
#include "sidecar/host/server_view.h"

#define SERVER "view-test-nfsd"

/* A process with the server's name in this process's namespaces. */
static pid_t begin_server(void)
{
	int ends[2];
	char byte = 0;
	pid_t pid;

	assert_int_equal(pipe(ends), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		(void)prctl(PR_SET_NAME, SERVER);
		(void)!write(ends[1], &byte, 1);
		for (;;)
			(void)pause();
	}
	assert_int_equal(read(ends[0], &byte, 1), 1);
	(void)close(ends[0]);
	(void)close(ends[1]);
	return pid;
}

static void end_server(pid_t pid)
{
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static void test_no_process_is_another_view(void **state)
{
	assert_false(server_view_is_ours("no-such-nfsd", "/"));
}

static void test_process_beside_this_one_sees_the_same(void **state)
{
	pid_t server = begin_server();

	assert_true(server_view_is_ours(SERVER, "/"));
	assert_true(server_view_is_ours(SERVER, "/proc"));
	assert_false(server_view_is_ours("no-such-nfsd", "/"));
	assert_true(server_view_is_ours(SERVER, "/"));
	end_server(server);
}

static void test_ended_process_is_missed_at_once_and_a_new_one_soon(void **state)
{
	pid_t server = begin_server();

	server_view_forget();
	assert_true(server_view_is_ours(SERVER, "/"));
	end_server(server);
	server_view_forget();
	assert_false(server_view_is_ours(SERVER, "/"));
	server = begin_server();
	while (!server_view_is_ours(SERVER, "/"))
		(void)poll(NULL, 0, 10);
	end_server(server);
}

static void test_many_paths_have_their_own_answers(void **state)
{
	pid_t server = begin_server();
	char path[32];

	for (int turn = 0; turn < 2; turn++)
		for (int n = 0; n < 200; n++) {
			(void)snprintf(path, sizeof(path), "/no/such/path%d", n);
			assert_true(server_view_is_ours(SERVER, path)); /* no mounts are there for both */
		}
	end_server(server);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_no_process_is_another_view),
		cmocka_unit_test(test_process_beside_this_one_sees_the_same),
		cmocka_unit_test(test_ended_process_is_missed_at_once_and_a_new_one_soon),
		cmocka_unit_test(test_many_paths_have_their_own_answers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
