/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cmocka_setup.h"

#include "base/util.h"
#include "ctl/stats/report.h"
#include "ctl/stats/report_text.h"

#define STATUS(pid, count, errors, bytes, us, latency)                                                      \
	"{\"mountpoint\":\"/mnt\",\"spec\":\"nas:/srv\",\"state\":\"local\",\"pid\":" pid ",\"started\":5," \
	"\"operations\":{\"READ\":{\"uring\":{\"count\":" count ",\"errors\":" errors ",\"bytes\":" bytes   \
	",\"microseconds\":" us ",\"latency\":{" latency "}}}},"                                            \
	"\"server\":{\"calls\":{\"LOOKUP\":" count "},\"round_trips\":{\"LOOKUP\":" us "},\"retrans\":" count "}}"

#define EARLY STATUS("7", "10", "1", "1024", "1000", "\"64\":10")
#define LATE  STATUS("7", "30", "2", "11264", "3000", "\"64\":20,\"128\":10")

static json_t *report_of(const char *before, const char *after, double seconds)
{
	json_t *old = before ? json_loads(before, 0, NULL) : NULL, *now = json_loads(after, 0, NULL);
	json_t *report = report_make(old, now, seconds);

	assert_non_null(now);
	json_decref(old);
	json_decref(now);
	return report;
}

static const json_t *line_of(const json_t *report, const char *array)
{
	const json_t *lines = json_object_get(report, array);

	assert_int_equal(json_array_size(lines), 1);
	return json_array_get(lines, 0);
}

static void assert_number(const json_t *of, const char *key, double expected)
{
	double number = report_number(of, key);

	if (number < expected - 1e-9 || number > expected + 1e-9)
		fail_msg("%s is %f, expected %f", key, number, expected);
}

static void an_interval_counts_what_came_in_it(void **state)
{
	json_t *report = report_of(EARLY, LATE, 2);
	const json_t *read = line_of(report, "operations"), *lookup = line_of(report, "calls");

	assert_string_equal(report_string(read, "operation"), "READ");
	assert_string_equal(report_string(read, "path"), "uring");
	assert_number(read, "ops", 20);
	assert_number(read, "ops_per_s", 10);
	assert_number(read, "kB_per_s", 5);
	assert_number(read, "kB_per_op", 0.5);
	assert_number(read, "errors", 1);
	assert_number(read, "avg_exe_ms", 0.1);
	assert_number(read, "p50_ms", 0.064);
	assert_number(read, "p90_ms", 0.064 + 0.064 * 0.8);
	assert_number(lookup, "ops_per_s", 10);
	assert_number(lookup, "avg_rtt_ms", 0.1);
	assert_number(report, "retrans", 20);
	assert_false(json_is_true(json_object_get(report, "since_mount")));
	json_decref(report);
}

static void without_an_earlier_moment_all_time_counts(void **state)
{
	json_t *report = report_of(NULL, LATE, 10);

	assert_number(line_of(report, "operations"), "ops_per_s", 3);
	assert_true(json_is_true(json_object_get(report, "since_mount")));
	json_decref(report);
}

static void a_new_daemon_has_counted_anew(void **state)
{
	json_t *report = report_of(STATUS("6", "1000", "0", "0", "1", ""), LATE, 10);

	assert_number(line_of(report, "operations"), "ops", 30);
	assert_true(json_is_true(json_object_get(report, "since_mount")));
	json_decref(report);
}

static void nothing_is_a_report_too(void **state)
{
	json_t *report = report_of(LATE, LATE, 0);
	_cleanup_free_ char *text = NULL;
	size_t size;
	FILE *to = open_memstream(&text, &size);

	assert_int_equal(json_array_size(json_object_get(report, "operations")), 0);
	report_text(to, report);
	(void)fclose(to);
	assert_non_null(strstr(text, "nas:/srv on /mnt: local, the last 0.0 s\n  no FUSE request\n"));
	json_decref(report);
}

/* The daemon may be anybody's. */
static void any_json_makes_a_report(void **state)
{
	static const char *const statuses[] = {"{}", "[]", "7", "{\"operations\":[1],\"server\":\"x\"}",
		"{\"operations\":{\"a\":{\"b\":{\"count\":\"9\"}}}}",
		"{\"operations\":{\"\\u001b[2J\":{\"\\n\":{\"count\":9,\"latency\":{\"64\":-5,\"1\":\"x\"}}}}}",
		"{\"operations\":{\"READ\":{\"server\":{\"count\":1e300,\"microseconds\":-1}}}}",
		"{\"server\":{\"calls\":{\"a\":5}},\"mountpoint\":[],\"state\":{}}"};

	for (size_t n = 0; n < ARRAY_SIZE(statuses); n++)
		for (size_t i = 0; i < ARRAY_SIZE(statuses); i++) {
			_cleanup_free_ char *text = NULL;
			json_t *old = json_loads(statuses[i], 0, NULL),
			       *now = json_loads(statuses[n], JSON_DECODE_ANY, NULL);
			json_t *report = report_make(old, now, 1), *all = json_pack("[O, O]", report, report);
			size_t size;
			FILE *to = open_memstream(&text, &size);

			report_text(to, report);
			report_top(to, all, 10);
			(void)fclose(to);
			assert_null(strchr(text, '\033'));
			json_decref(all);
			json_decref(report);
			json_decref(now);
			json_decref(old);
		}
}

static void the_busiest_comes_first(void **state)
{
	json_t *quiet = report_of(NULL, STATUS("7", "10", "0", "0", "10", ""), 1);
	json_t *busy = report_of(NULL, STATUS("7", "20", "0", "0", "9000", ""), 1);
	json_t *all = json_pack("[o, o]", quiet, busy);
	_cleanup_free_ char *text = NULL;
	char *first, *second;
	size_t size;
	FILE *to;

	(void)json_object_set_new(quiet, "mountpoint", json_string("/quiet"));
	(void)json_object_set_new(busy, "mountpoint", json_string("/busy"));
	to = open_memstream(&text, &size);
	report_top(to, all, 20);
	(void)fclose(to);
	first = strstr(text, "/busy\n");
	second = strstr(text, "/quiet\n");
	assert_true(first && second && first < second);
	first = strstr(text, "\n/busy");
	second = strstr(text, "\n/quiet");
	assert_true(first && second && first < second);
	json_decref(all);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_interval_counts_what_came_in_it),
		cmocka_unit_test(without_an_earlier_moment_all_time_counts),
		cmocka_unit_test(a_new_daemon_has_counted_anew),
		cmocka_unit_test(nothing_is_a_report_too),
		cmocka_unit_test(any_json_makes_a_report),
		cmocka_unit_test(the_busiest_comes_first),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
