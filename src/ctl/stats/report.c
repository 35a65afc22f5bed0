/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "ctl/stats/report.h"

#include <inttypes.h>

#include "base/text.h"
#include "metrics/histogram.h"

#define KILO      1024.0 /* as nfsiostat(8) has it */
#define LINES_MAX 1000   /* of operations and of calls: a daemon of ours has fewer */
#define COUNT_MAX 1e15
#define US_PER_MS 1000.0

double report_number(const json_t *of, const char *key)
{
	return json_number_value(json_object_get(of, key));
}

const char *report_string(const json_t *of, const char *key)
{
	const char *text = json_string_value(json_object_get(of, key));

	return text ? text : "";
}

/* What a counter has grown, within what an integer holds. */
static double grown(const json_t *before, const json_t *after, const char *key)
{
	return MIN(MAX(report_number(after, key) - report_number(before, key), 0.0), COUNT_MAX);
}

static void set_number(json_t *to, const char *key, double value)
{
	(void)json_object_set_new(to, key, json_real(value));
}

static void set_count(json_t *to, const char *key, double value)
{
	(void)json_object_set_new(to, key, json_integer((json_int_t)value));
}

static void set_text(json_t *to, const char *key, const char *text)
{
	_cleanup_free_ char *copy = strdup(text);

	if (!copy)
		return;
	text_clean(copy);
	(void)json_object_set_new(to, key, json_string(copy));
}

/* A daemon that is not the one from before has begun to count anew. */
static bool is_same_daemon(const json_t *before, const json_t *after)
{
	return report_number(before, "pid") == report_number(after, "pid") &&
	       report_number(before, "started") == report_number(after, "started");
}

/* ---- operations ---- */

/* False if the status has no histogram. */
static bool read_latency(const json_t *before, const json_t *after, struct histogram_counts *ret)
{
	const json_t *from = json_object_get(before, "latency"), *to = json_object_get(after, "latency");
	char bound[24];

	*ret = (struct histogram_counts){0};
	if (!json_is_object(to))
		return false;
	for (unsigned n = 0; n < HISTOGRAM_BUCKETS; n++) {
		if (n < HISTOGRAM_BOUNDS)
			(void)snprintf(bound, sizeof(bound), "%" PRIu64, histogram_bound_us(n));
		else
			(void)snprintf(bound, sizeof(bound), "more");
		ret->counts[n] = (uint64_t)grown(from, to, bound);
	}
	return true;
}

static void set_percentiles(json_t *line, const json_t *before, const json_t *after)
{
	struct histogram_counts c;

	if (!read_latency(before, after, &c))
		return;
	set_number(line, "p50_ms", histogram_percentile_us(&c, 0.50) / US_PER_MS);
	set_number(line, "p90_ms", histogram_percentile_us(&c, 0.90) / US_PER_MS);
	set_number(line, "p99_ms", histogram_percentile_us(&c, 0.99) / US_PER_MS);
}

/* The line of an operation and path; nothing if there was none in this time. */
static void add_operation(json_t *lines, const char *operation, const char *path, const json_t *before,
	const json_t *after, double seconds)
{
	double count = grown(before, after, "count"), bytes = grown(before, after, "bytes");
	json_t *line;

	if (count == 0 || json_array_size(lines) >= LINES_MAX)
		return;
	line = json_object();
	set_text(line, "operation", operation);
	set_text(line, "path", path);
	set_count(line, "ops", count);
	set_number(line, "ops_per_s", count / seconds);
	set_number(line, "kB_per_s", bytes / KILO / seconds);
	set_number(line, "kB_per_op", bytes / KILO / count);
	set_count(line, "errors", grown(before, after, "errors"));
	set_number(line, "avg_exe_ms", grown(before, after, "microseconds") / US_PER_MS / count);
	set_percentiles(line, before, after);
	(void)json_array_append_new(lines, line);
}

static json_t *operations_of(const json_t *before, const json_t *after, double seconds)
{
	json_t *all = json_object_get(after, "operations"), *paths, *numbers;
	const json_t *old = json_object_get(before, "operations");
	json_t *lines = json_array();
	const char *operation, *path;

	json_object_foreach (all, operation, paths) {
		json_object_foreach (paths, path, numbers) {
			add_operation(lines, operation, path, json_object_get(json_object_get(old, operation), path),
				numbers, seconds);
		}
	}
	return lines;
}

/* ---- calls of the server ---- */

static json_t *calls_of(const json_t *before, const json_t *after, double seconds)
{
	json_t *calls = json_object_get(json_object_get(after, "server"), "calls"), *value;
	const json_t *times = json_object_get(json_object_get(after, "server"), "round_trips");
	const json_t *old = json_object_get(json_object_get(before, "server"), "calls");
	const json_t *old_times = json_object_get(json_object_get(before, "server"), "round_trips");
	json_t *lines = json_array();
	const char *procedure;

	json_object_foreach (calls, procedure, value) {
		double count = grown(old, calls, procedure);
		json_t *line;

		if (count == 0 || json_array_size(lines) >= LINES_MAX)
			continue;
		line = json_object();
		set_text(line, "call", procedure);
		set_count(line, "ops", count);
		set_number(line, "ops_per_s", count / seconds);
		set_number(line, "avg_rtt_ms", grown(old_times, times, procedure) / US_PER_MS / count);
		(void)json_array_append_new(lines, line);
	}
	return lines;
}

/* ---- the rest ---- */

/* The counters that a report has as they are: its key, and where the status has it. */
static const struct {
	const char *key, *group, *counter;
} counters[] = {
	{"retrans", "server", "retrans"},
	{"reconnects", "server", "reconnects"},
	{"probes", "probe", "attempts"},
	{"probes_matched", "probe", "matched"},
	{"switches", "probe", "switches"},
	{"names_known", "lookups", "known"},
	{"notices", "notices", "received"},
	{"names_forgotten", "notices", "forgotten"},
	{"opens_passthrough", "opens", "passthrough"},
	{"opens_uring", "opens", "uring"},
	{"opens_remote", "opens", "remote"},
	{"opens_hot", "opens", "hot"},
	{"grants_denied", "grants", "denied"},
};

/* The number of operations of one kind, or of one kind and path. */
static double sum_of(const json_t *lines, const char *operation, const char *path)
{
	double sum = 0;

	for (size_t n = 0; n < json_array_size(lines); n++) {
		const json_t *line = json_array_get(lines, n);

		if (strcmp(report_string(line, "operation"), operation) == 0 &&
			(!path || strcmp(report_string(line, "path"), path) == 0))
			sum += report_number(line, "ops");
	}
	return sum;
}

json_t *report_make(const json_t *before, const json_t *after, double seconds)
{
	json_t *report = json_object(), *lines;

	if (before && !is_same_daemon(before, after))
		before = NULL;
	seconds = MAX(seconds, 0.001);
	set_text(report, "mountpoint", report_string(after, "mountpoint"));
	set_text(report, "spec", report_string(after, "spec"));
	set_text(report, "state", report_string(after, "state"));
	(void)json_object_set_new(report, "since_mount", json_boolean(!before));
	set_number(report, "seconds", seconds);
	lines = operations_of(before, after, seconds);
	set_count(report, "lookups", sum_of(lines, "LOOKUP", NULL));
	set_count(report, "grants_asked", sum_of(lines, "OPEN", "sidecar") + sum_of(lines, "CREATE", "sidecar"));
	(void)json_object_set_new(report, "operations", lines);
	(void)json_object_set_new(report, "calls", calls_of(before, after, seconds));
	for (size_t n = 0; n < ARRAY_SIZE(counters); n++)
		set_count(report, counters[n].key,
			grown(json_object_get(before, counters[n].group), json_object_get(after, counters[n].group),
				counters[n].counter));
	return report;
}
