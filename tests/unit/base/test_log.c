/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cmocka_setup.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"

static void a_place_logs_few_lines_and_then_how_many_it_left_out(void **state)
{
	struct log_limit limit = {.lock = PTHREAD_MUTEX_INITIALIZER};
	char said[256] = "";
	FILE *f = tmpfile();
	int kept = dup(STDERR_FILENO);

	assert_non_null(f);
	for (int n = 0; n < LOG_LIMIT_LINES; n++)
		assert_true(log_limit_take(&limit, LOG_WARNING));
	/* The interval must not end in this test, even if the machine is slow. */
	limit.since_ms = now_ms();
	assert_false(log_limit_take(&limit, LOG_WARNING));
	limit.since_ms = now_ms();
	assert_false(log_limit_take(&limit, LOG_WARNING));
	limit.since_ms = now_ms() - LOG_LIMIT_MS;
	assert_true(dup2(fileno(f), STDERR_FILENO) >= 0);
	assert_true(log_limit_take(&limit, LOG_WARNING));
	assert_true(dup2(kept, STDERR_FILENO) >= 0);
	assert_true(pread(fileno(f), said, sizeof(said) - 1, 0) > 0);
	assert_non_null(strstr(said, ": 2 more of the following kind were not logged\n"));
	(void)close(kept);
	(void)fclose(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_place_logs_few_lines_and_then_how_many_it_left_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
