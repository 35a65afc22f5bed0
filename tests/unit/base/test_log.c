/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cmocka_setup.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"

static FILE *log_file;
static int kept = -1;
static char said[65536];

/* From here on the lines go into a file. */
static int begin(void **state)
{
	log_file = tmpfile();
	kept = dup(STDERR_FILENO);
	return log_file && dup2(fileno(log_file), STDERR_FILENO) >= 0 ? 0 : -1;
}

static int end(void **state)
{
	(void)dup2(kept, STDERR_FILENO);
	(void)close(kept);
	(void)fclose(log_file);
	return 0;
}

/* The lines so far. */
static const char *lines(void)
{
	ssize_t n = pread(fileno(log_file), said, sizeof(said) - 1, 0);

	assert_true(n >= 0);
	said[n] = '\0';
	return said;
}

static unsigned count(const char *word)
{
	unsigned n = 0;

	for (const char *p = lines(); (p = strstr(p, word)) != NULL; p++)
		n++;
	return n;
}

/* The interval does not end by itself in a test, however slow the machine is. */
static void flood(struct log_limit *limit, int priority, const char *word, unsigned n)
{
	for (unsigned i = 1; i <= n; i++) {
		log_limited(limit, priority, "%s %u", word, i);
		limit->since_ms = now_ms();
	}
}

static void pass_interval(struct log_limit *limit)
{
	limit->since_ms = now_ms() - LOG_LIMIT_MS;
}

static void a_place_logs_few_lines_per_interval(void **state)
{
	struct log_limit limit = {.begun = true, .since_ms = now_ms()};

	flood(&limit, LOG_WARNING, "flood", 1000);
	assert_int_equal(count("flood"), LOG_LIMIT_LINES);
	pass_interval(&limit);
	flood(&limit, LOG_WARNING, "again", 1000);
	assert_int_equal(count("again"), LOG_LIMIT_LINES);
	log_left_out(true);
}

static void a_place_of_usual_events_logs_more(void **state)
{
	struct log_limit limit = {.begun = true, .since_ms = now_ms()};

	flood(&limit, LOG_INFO, "flood", 1000);
	assert_int_equal(count("flood"), LOG_LIMIT_INFO_LINES);
	log_left_out(true);
}

static void its_next_line_follows_the_number_that_was_left_out(void **state)
{
	struct log_limit limit = {.begun = true, .since_ms = now_ms()};

	flood(&limit, LOG_WARNING, "flood", LOG_LIMIT_LINES + 2);
	pass_interval(&limit);
	log_limited(&limit, LOG_WARNING, "later");
	assert_non_null(strstr(lines(), "lines of this kind that were left out: 2, the last: flood 7\n"));
	assert_non_null(strstr(strstr(lines(), "left out"), ": later\n"));
	log_left_out(true);
	assert_int_equal(count("left out"), 1);
}

static void the_next_line_of_any_place_says_how_many_were_left_out(void **state)
{
	struct log_limit one = {.begun = true, .since_ms = now_ms()}, two = one, three = one;

	flood(&one, LOG_WARNING, "one", LOG_LIMIT_LINES + 1);
	flood(&two, LOG_ERR, "two", LOG_LIMIT_LINES + 2);
	flood(&three, LOG_ERR, "three", LOG_LIMIT_LINES + 3);
	pass_interval(&one);
	pass_interval(&three);
	log_info("another");
	assert_non_null(strstr(lines(), "lines of this kind that were left out: 1, the last: one 6\n"));
	assert_non_null(strstr(lines(), "lines of this kind that were left out: 3, the last: three 8\n"));
	assert_null(strstr(lines(), "left out: 2"));
	pass_interval(&two);
	log_info("another");
	assert_non_null(strstr(lines(), "lines of this kind that were left out: 2, the last: two 7\n"));
	assert_int_equal(count("left out"), 3);
}

static void the_end_of_the_program_says_how_many_were_left_out(void **state)
{
	static struct log_limit limit = {.begun = true};
	pid_t child = fork();
	int status;

	assert_true(child >= 0);
	if (child == 0) {
		log_open("test");
		log_open("test");
		flood(&limit, LOG_WARNING, "flood", LOG_LIMIT_LINES + 4);
		exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	assert_non_null(strstr(lines(), "test: lines of this kind that were left out: 4, the last: flood 9\n"));
	assert_int_equal(count("left out"), 1);
}

static void the_limits_of_different_places_are_their_own(void **state)
{
	for (unsigned n = 0; n < LOG_LIMIT_LINES; n++)
		log_warning_limited("place one");
	for (unsigned n = 0; n < LOG_LIMIT_LINES; n++)
		log_error_limited("place two");
	assert_int_equal(count("place one"), LOG_LIMIT_LINES);
	assert_int_equal(count("place two"), LOG_LIMIT_LINES);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_place_logs_few_lines_per_interval),
		TEST(a_place_of_usual_events_logs_more),
		TEST(its_next_line_follows_the_number_that_was_left_out),
		TEST(the_next_line_of_any_place_says_how_many_were_left_out),
		TEST(the_end_of_the_program_says_how_many_were_left_out),
		TEST(the_limits_of_different_places_are_their_own),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
