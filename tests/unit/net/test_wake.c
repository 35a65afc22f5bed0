/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cmocka_setup.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>

#include "base/util.h"
#include "net/wake.h"

static bool is_awake(struct wake w, int timeout_ms)
{
	struct pollfd fd = {.fd = w.fd, .events = POLLIN};

	return poll(&fd, 1, timeout_ms) == 1;
}

static struct wake open_wake(void)
{
	struct wake w;

	assert_int_equal(wake_open(&w), 0);
	return w;
}

static void several_wake_ups_are_taken_together(void **state)
{
	struct wake w = open_wake();

	assert_false(is_awake(w, 0));
	wake_take(w); /* does not wait */
	wake_up(w);
	wake_up(w);
	assert_true(is_awake(w, 0));
	assert_true(is_awake(w, 0));
	wake_take(w);
	assert_false(is_awake(w, 0));
	wake_up(w);
	assert_true(is_awake(w, 0));
	wake_close(&w);
}

static void a_closed_wake_up_may_be_closed_again(void **state)
{
	struct wake w = open_wake();
	int fd = w.fd;

	wake_close(&w);
	assert_int_equal(w.fd, -1);
	assert_true(fcntl(fd, F_GETFD) < 0);
	wake_close(&w);
	w = WAKE_CLOSED;
	wake_close(&w);
}

static void an_executed_program_does_not_inherit_it(void **state)
{
	struct wake w = open_wake();

	assert_int_equal(fcntl(w.fd, F_GETFD), FD_CLOEXEC);
	wake_close(&w);
}

static void a_wake_up_for_a_ring_makes_a_reader_wait(void **state)
{
	struct wake w;
	uint64_t count;

	assert_int_equal(wake_open_for_ring(&w), 0);
	assert_int_equal(fcntl(w.fd, F_GETFL) & O_NONBLOCK, 0);
	wake_up(w);
	assert_int_equal(read(w.fd, &count, sizeof(count)), sizeof(count));
	assert_false(is_awake(w, 0));
	wake_close(&w);
}

static struct wake of_signal;

static void on_signal(int signal)
{
	(void)signal;
	wake_up(of_signal);
}

static void a_signal_handler_wakes_and_keeps_errno(void **state)
{
	struct sigaction action = {.sa_handler = on_signal};

	of_signal = WAKE_CLOSED;
	assert_int_equal(sigaction(SIGUSR1, &action, NULL), 0);
	errno = EDOM;
	(void)raise(SIGUSR1); /* write(2) fails, because the wake-up is closed */
	assert_int_equal(errno, EDOM);
	of_signal = open_wake();
	(void)raise(SIGUSR1);
	assert_int_equal(errno, EDOM);
	assert_true(is_awake(of_signal, 0));
	wake_close(&of_signal);
}

static void *wake_from_thread(void *arg)
{
	wake_up(*(struct wake *)arg);
	return NULL;
}

static void a_thread_wakes_another_one(void **state)
{
	struct wake w = open_wake();
	pthread_t thread;

	assert_int_equal(pthread_create(&thread, NULL, wake_from_thread, &w), 0);
	assert_true(is_awake(w, 10000));
	(void)pthread_join(thread, NULL);
	wake_close(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(several_wake_ups_are_taken_together),
		cmocka_unit_test(a_closed_wake_up_may_be_closed_again),
		cmocka_unit_test(an_executed_program_does_not_inherit_it),
		cmocka_unit_test(a_wake_up_for_a_ring_makes_a_reader_wait),
		cmocka_unit_test(a_signal_handler_wakes_and_keeps_errno),
		cmocka_unit_test(a_thread_wakes_another_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
