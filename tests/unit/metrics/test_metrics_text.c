/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cmocka_setup.h"

#include "metrics/metrics_text.h"

static void write_all_types(struct metrics_text *m)
{
	const struct metrics_label about[] = {{"version", "1"}, {"spec", "a:/\"b\\c"}};
	const struct metrics_label read = {"operation", "READ"};
	struct histogram_counts c = {.counts = {[0] = 1, [2] = 2, [HISTOGRAM_BUCKETS - 1] = 1}, .ns = 2500000001};

	metrics_family(m, METRICS_INFO, "mount", "", "About \"it\"\\\nall");
	metrics_info(m, about, 2);
	metrics_family(m, METRICS_COUNTER, "probe.attempts", "", "Probes");
	metrics_value(m, NULL, 0, 7);
	metrics_family(m, METRICS_COUNTER, "sent", "bytes", "Sent");
	metrics_value(m, &read, 1, 8);
	metrics_family(m, METRICS_GAUGE, "rest_bytes", "bytes", "Rest");
	metrics_value(m, NULL, 0, -9);
	metrics_family(m, METRICS_STATESET, "state", "", "State");
	metrics_state(m, "local", true);
	metrics_state(m, "remote", false);
	metrics_family(m, METRICS_HISTOGRAM, "latency", "seconds", "Time");
	metrics_histogram(m, &read, 1, &c);
}

static void assert_text(enum metrics_format format, const char *const *lines, size_t nlines)
{
	_cleanup_free_ char *text = NULL;
	struct metrics_text m;
	char *line, *rest;
	size_t size, n = 0;

	metrics_text_open(&m, format, "p");
	write_all_types(&m);
	assert_int_equal(metrics_text_close(&m, &text, &size), 0);
	assert_int_equal(strlen(text), size);
	for (line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
		assert_true(n < nlines);
		if (strstr(line, "_bucket") && !strstr(line, lines[n])) /* only some buckets are in the list */
			continue;
		assert_string_equal(line, lines[n++]);
	}
	assert_int_equal(n, nlines);
}

static void openmetrics_has_each_type(void **state)
{
	static const char *const lines[] = {"# TYPE p_mount info", "# HELP p_mount About \\\"it\\\"\\\\\\nall",
		"p_mount_info{version=\"1\",spec=\"a:/\\\"b\\\\c\"} 1", "# TYPE p_probe_attempts counter",
		"# HELP p_probe_attempts Probes", "p_probe_attempts_total 7", "# TYPE p_sent_bytes counter",
		"# UNIT p_sent_bytes bytes", "# HELP p_sent_bytes Sent", "p_sent_bytes_total{operation=\"READ\"} 8",
		"# TYPE p_rest_bytes gauge", "# UNIT p_rest_bytes bytes", "# HELP p_rest_bytes Rest", "p_rest_bytes -9",
		"# TYPE p_state stateset", "# HELP p_state State", "p_state{p_state=\"local\"} 1",
		"p_state{p_state=\"remote\"} 0", "# TYPE p_latency_seconds histogram",
		"# UNIT p_latency_seconds seconds", "# HELP p_latency_seconds Time",
		"p_latency_seconds_bucket{operation=\"READ\",le=\"1e-06\"} 1",
		"p_latency_seconds_bucket{operation=\"READ\",le=\"4e-06\"} 3",
		"p_latency_seconds_bucket{operation=\"READ\",le=\"16.777216\"} 3",
		"p_latency_seconds_bucket{operation=\"READ\",le=\"+Inf\"} 4",
		"p_latency_seconds_count{operation=\"READ\"} 4",
		"p_latency_seconds_sum{operation=\"READ\"} 2.500000001", "# EOF"};

	assert_text(METRICS_OPENMETRICS, lines, ARRAY_SIZE(lines));
}

static void the_older_format_has_only_the_older_types(void **state)
{
	static const char *const lines[] = {"# TYPE p_mount_info gauge", "# HELP p_mount_info About \"it\"\\\\\\nall",
		"p_mount_info{version=\"1\",spec=\"a:/\\\"b\\\\c\"} 1", "# TYPE p_probe_attempts_total counter",
		"# HELP p_probe_attempts_total Probes", "p_probe_attempts_total 7", "# TYPE p_sent_bytes_total counter",
		"# HELP p_sent_bytes_total Sent", "p_sent_bytes_total{operation=\"READ\"} 8",
		"# TYPE p_rest_bytes gauge", "# HELP p_rest_bytes Rest", "p_rest_bytes -9", "# TYPE p_state gauge",
		"# HELP p_state State", "p_state{p_state=\"local\"} 1", "p_state{p_state=\"remote\"} 0",
		"# TYPE p_latency_seconds histogram", "# HELP p_latency_seconds Time",
		"p_latency_seconds_bucket{operation=\"READ\",le=\"+Inf\"} 4",
		"p_latency_seconds_count{operation=\"READ\"} 4",
		"p_latency_seconds_sum{operation=\"READ\"} 2.500000001"};

	assert_text(METRICS_PROMETHEUS, lines, ARRAY_SIZE(lines));
}

/* Label values come from outside: a mount point may have any byte but NUL. */
static void a_label_stays_one_line_of_text_with_a_limit(void **state)
{
	_cleanup_free_ char *text = NULL;
	char value[2 * METRICS_LABEL_MAX];
	struct metrics_label label = {"mountpoint", "a\nb\"} 9\n\x1b\xff"};
	struct metrics_text m;
	size_t size;

	metrics_text_open(&m, METRICS_OPENMETRICS, "p");
	metrics_info(&m, &label, 1);
	memset(value, 'x', sizeof(value) - 1);
	value[sizeof(value) - 1] = '\0';
	label.value = value;
	metrics_info(&m, &label, 1);
	assert_int_equal(metrics_text_close(&m, &text, &size), 0);
	assert_ptr_equal(strstr(text, "_info{mountpoint=\"a?b\\\"} 9???\"} 1\n"), text);
	assert_true(size < METRICS_LABEL_MAX + 100);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(openmetrics_has_each_type),
		cmocka_unit_test(the_older_format_has_only_the_older_types),
		cmocka_unit_test(a_label_stays_one_line_of_text_with_a_limit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
