/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The states and groups of real processes. tests/integration/servers/test-server-away tests a pending SIGKILL. */
#include "cmocka_setup.h"

#include <limits.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "base/whole_io.h"
#include "fuse/kernel/caller.h"

static void a_running_thread_waits(void **state)
{
	assert_int_equal(caller_state(getpid()), CALLER_WAITS);
	assert_int_equal(caller_state((pid_t)syscall(SYS_gettid)), CALLER_WAITS);
}

static void a_signal_that_does_not_kill_is_none(void **state)
{
	sigset_t set;

	(void)sigemptyset(&set);
	(void)sigaddset(&set, SIGUSR1);
	(void)sigaddset(&set, SIGTERM);
	(void)sigprocmask(SIG_BLOCK, &set, NULL);
	(void)kill(getpid(), SIGUSR1);
	(void)raise(SIGTERM);
	assert_int_equal(caller_state(getpid()), CALLER_WAITS);
	assert_false(caller_signalled(getpid())); /* blocked */
	(void)sigtimedwait(&set, NULL, &(struct timespec){0});
	(void)sigtimedwait(&set, NULL, &(struct timespec){0});
}

/* Only a stopped process keeps a pending signal that is neither blocked nor ignored. */
static void a_signal_that_waits_is_seen(void **state)
{
	pid_t child;
	int status, up[2];
	char byte;

	assert_int_equal(pipe(up), 0);
	child = fork();
	if (child == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL); /* a failed test leaves the child stopped */
		(void)write_all(up[1], "", 1);
		for (;;)
			(void)pause();
	}
	assert_true(child > 0);
	/* Sanitizers block every signal for a moment after fork(). */
	assert_int_equal(read(up[0], &byte, 1), 1);
	(void)close(up[0]);
	(void)close(up[1]);
	assert_false(caller_signalled(child));
	assert_int_equal(kill(child, SIGSTOP), 0);
	assert_int_equal(waitpid(child, &status, WUNTRACED), child);
	assert_false(caller_signalled(child));
	assert_int_equal(kill(child, SIGUSR2), 0); /* the previous test has not left this signal blocked */
	assert_true(caller_signalled(child));
	assert_int_equal(kill(child, SIGKILL), 0);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_false(caller_signalled(child));
	assert_false(caller_signalled(0));
}

/* /proc/PID/stat contains the process's name, which may look like the fields behind it. */
static void a_process_that_ends_is_exiting(void **state)
{
	pid_t child = fork();
	siginfo_t info;

	if (child == 0) {
		(void)prctl(PR_SET_NAME, "a) R 1 (b");
		_exit(0);
	}
	assert_true(child > 0);
	assert_int_equal(waitid(P_PID, (id_t)child, &info, WEXITED | WNOWAIT), 0);
	assert_int_equal(caller_state(child), CALLER_EXITING);
	assert_int_equal(waitpid(child, NULL, 0), child);
	assert_int_equal(caller_state(child), CALLER_UNKNOWN);
}

static void groups_are_those_of_the_thread(void **state)
{
	gid_t mine[64], said[64];
	int n = getgroups((int)ARRAY_SIZE(mine), mine);

	assert_true(n >= 0);
	assert_int_equal(caller_groups((pid_t)syscall(SYS_gettid), said, (int)ARRAY_SIZE(said)), n);
	for (int i = 0; i < n; i++) { /* the kernel sorts the groups */
		bool found = false;

		for (int k = 0; k < n; k++)
			found = found || said[k] == mine[i];
		assert_true(found);
	}
	assert_int_equal(caller_groups(0, said, 1), -ESRCH);
	assert_int_equal(caller_groups(INT_MAX, said, 1), -ENOENT);
}

static void as_many_groups_as_there_is_room_for(void **state)
{
	pid_t child;
	int status;

	if (geteuid() != 0)
		skip();
	child = fork();
	if (child == 0) {
		gid_t many[2000], said[2001];
		bool right = true;

		for (unsigned i = 0; i < ARRAY_SIZE(many); i++)
			many[i] = 1000000 + i;
		right = right && syscall(SYS_setgroups, (size_t)20, many) == 0;
		right = right && caller_groups(getpid(), said, 16) == 16 && memcmp(said, many, 16 * sizeof(gid_t)) == 0;
		right = right && caller_groups(getpid(), said, 64) == 20;
		/* More groups than fit into the text that caller_groups() reads. */
		right = right && syscall(SYS_setgroups, ARRAY_SIZE(many), many) == 0;
		right = right && caller_groups(getpid(), said, 16) == 16 && memcmp(said, many, 16 * sizeof(gid_t)) == 0;
		right = right && syscall(SYS_setgroups, (size_t)0, many) == 0 && caller_groups(getpid(), said, 16) == 0;
		_exit(right ? 0 : 1);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

/* A child with this pid, or any for 0, which is in the one group. */
static pid_t child_in(pid_t pid, gid_t group)
{
	struct clone_args args = {.exit_signal = SIGCHLD,
		.set_tid = pid != 0 ? (uintptr_t)&pid : 0,
		.set_tid_size = pid != 0 ? 1 : 0};
	int up[2];
	pid_t child;
	char byte;

	assert_int_equal(pipe(up), 0);
	child = (pid_t)syscall(SYS_clone3, &args, sizeof(args));
	if (child == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (syscall(SYS_setgroups, (size_t)1, &group) == 0)
			(void)write_all(up[1], "", 1);
		for (;;)
			(void)pause();
	}
	assert_true(child > 0);
	assert_int_equal(read(up[0], &byte, 1), 1);
	(void)close(up[0]);
	(void)close(up[1]);
	return child;
}

static void a_pid_that_is_used_again_is_another_caller(void **state)
{
	pid_t first, second;
	gid_t said[2];
	int status;

	if (geteuid() != 0)
		skip();
	first = child_in(0, 1000001);
	for (unsigned i = 0; i < 3; i++) {
		assert_int_equal(caller_groups(first, said, 2), 1);
		assert_int_equal(said[0], 1000001);
	}
	assert_int_equal(kill(first, SIGKILL), 0);
	assert_int_equal(waitpid(first, &status, 0), first);
	assert_int_equal(caller_groups(first, said, 2), -ENOENT);
	second = child_in(first, 1000002);
	assert_int_equal(second, first);
	assert_int_equal(caller_groups(first, said, 2), 1);
	assert_int_equal(said[0], 1000002);
	assert_int_equal(kill(second, SIGKILL), 0);
	assert_int_equal(waitpid(second, &status, 0), second);
	/* Without a question in between. */
	second = child_in(first, 1000003);
	assert_int_equal(caller_groups(first, said, 2), 1);
	assert_int_equal(said[0], 1000003);
	assert_int_equal(kill(second, SIGKILL), 0);
	assert_int_equal(waitpid(second, &status, 0), second);
}

static void an_opener_has_the_ids_that_he_had(void **state)
{
	uid_t uid = geteuid();
	gid_t gid = getegid(), said[2];
	pid_t opener;
	int status;

	if (geteuid() != 0)
		skip();
	assert_int_equal(caller_groups_if(0, uid, gid, said, 2), -ESRCH);
	opener = child_in(0, 1000001);
	assert_int_equal(caller_groups_if(opener, uid, gid, said, 2), 1);
	assert_int_equal(said[0], 1000001);
	assert_int_equal(caller_groups_if(opener, uid + 1, gid, said, 2), -ESRCH);
	assert_int_equal(caller_groups_if(opener, uid, gid + 1, said, 2), -ESRCH);
	assert_int_equal(kill(opener, SIGKILL), 0);
	assert_int_equal(waitpid(opener, &status, 0), opener);
	assert_true(caller_groups_if(opener, uid, gid, said, 2) < 0);
}

static void nobody_is_unknown(void **state)
{
	assert_int_equal(caller_state(0), CALLER_UNKNOWN);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_running_thread_waits),
		cmocka_unit_test(a_signal_that_does_not_kill_is_none),
		cmocka_unit_test(a_signal_that_waits_is_seen),
		cmocka_unit_test(a_process_that_ends_is_exiting),
		cmocka_unit_test(groups_are_those_of_the_thread),
		cmocka_unit_test(as_many_groups_as_there_is_room_for),
		cmocka_unit_test(a_pid_that_is_used_again_is_another_caller),
		cmocka_unit_test(an_opener_has_the_ids_that_he_had),
		cmocka_unit_test(nobody_is_unknown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
