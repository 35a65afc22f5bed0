/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What /proc says of real processes. SIGKILL that is pending is tests/integration/test-server-away's. */
#include "cmocka_setup.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "fuse/caller.h"

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
	(void)sigtimedwait(&set, NULL, &(struct timespec){0});
	(void)sigtimedwait(&set, NULL, &(struct timespec){0});
}

/* Its name is in /proc/PID/stat, too, and may look like what comes behind it. */
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

static void nobody_is_unknown(void **state)
{
	assert_int_equal(caller_state(0), CALLER_UNKNOWN);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_running_thread_waits),
		cmocka_unit_test(a_signal_that_does_not_kill_is_none),
		cmocka_unit_test(a_process_that_ends_is_exiting),
		cmocka_unit_test(nobody_is_unknown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
