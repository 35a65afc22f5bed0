/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "ctl/stats/report_text.h"

#include "base/text.h"
#include "ctl/stats/report.h"

#define OPERATION_HEAD "%-16s %-8s %10s %12s %10s %8s %10s %10s %10s %10s\n"
#define CALL_HEAD      "%-16s %-8s %10s %12s %10s %8s %10s\n"

/* ---- one mount ---- */

static void put_number(FILE *to, int width, const json_t *line, const char *key)
{
	const json_t *value = json_object_get(line, key);

	if (json_is_number(value))
		(void)fprintf(to, " %*.*f", width, 3, json_number_value(value));
	else
		(void)fprintf(to, " %*s", width, "-");
}

/* The columns of nfsiostat, and percentiles. */
static void put_operation(FILE *to, const json_t *line)
{
	(void)fprintf(to, "%-16.16s %-8.8s", report_string(line, "operation"), report_string(line, "path"));
	put_number(to, 10, line, "ops_per_s");
	put_number(to, 12, line, "kB_per_s");
	put_number(to, 10, line, "kB_per_op");
	(void)fprintf(to, " %8.0f", report_number(line, "errors"));
	put_number(to, 10, line, "avg_exe_ms");
	put_number(to, 10, line, "p50_ms");
	put_number(to, 10, line, "p90_ms");
	put_number(to, 10, line, "p99_ms");
	(void)fputc('\n', to);
}

static void put_operations(FILE *to, const json_t *lines)
{
	if (json_array_size(lines) == 0) {
		(void)fprintf(to, "  no FUSE request\n");
		return;
	}
	(void)fprintf(to, "  " OPERATION_HEAD, "operation", "path", "ops/s", "kB/s", "kB/op", "errors", "avg exe ms",
		"p50 ms", "p90 ms", "p99 ms");
	for (size_t n = 0; n < json_array_size(lines); n++) {
		(void)fputs("  ", to);
		put_operation(to, json_array_get(lines, n));
	}
}

static void put_calls(FILE *to, const json_t *lines)
{
	if (json_array_size(lines) == 0)
		return;
	(void)fprintf(to, "  " CALL_HEAD, "NFS call", "", "ops/s", "", "", "", "avg RTT ms");
	for (size_t n = 0; n < json_array_size(lines); n++) {
		const json_t *line = json_array_get(lines, n);

		(void)fprintf(to,
			"  "
			"%-16.16s %-8s",
			report_string(line, "call"), "");
		put_number(to, 10, line, "ops_per_s");
		(void)fprintf(to, " %12s %10s %8s", "", "", "");
		put_number(to, 10, line, "avg_rtt_ms");
		(void)fputc('\n', to);
	}
}

static double share(double part, double whole)
{
	return whole > 0 ? 100 * part / whole : 0;
}

void report_text(FILE *to, const json_t *report)
{
	double lookups = report_number(report, "lookups"), known = report_number(report, "names_known");
	double passthrough = report_number(report, "opens_passthrough"), uring = report_number(report, "opens_uring");

	(void)fprintf(to, "%s on %s: %s, %s %.1f s\n", report_string(report, "spec"),
		report_string(report, "mountpoint"), report_string(report, "state"),
		json_is_true(json_object_get(report, "since_mount")) ? "since the mount," : "the last",
		report_number(report, "seconds"));
	put_operations(to, json_object_get(report, "operations"));
	put_calls(to, json_object_get(report, "calls"));
	(void)fprintf(to, "  %-14s names %.0f of %.0f (%.0f%%), rights %.0f of %.0f local opens\n", "cache hits", known,
		lookups, share(known, lookups), report_number(report, "opens_hot"), passthrough + uring);
	(void)fprintf(to, "  %-14s %.0f of changes, for which the kernel forgot its names %.0f times\n", "notices",
		report_number(report, "notices"), report_number(report, "names_forgotten"));
	(void)fprintf(to, "  %-14s passthrough %.0f, uring %.0f, remote %.0f\n", "opens", passthrough, uring,
		report_number(report, "opens_remote"));
	(void)fprintf(to, "  %-14s %.0f asked, %.0f denied\n", "grants", report_number(report, "grants_asked"),
		report_number(report, "grants_denied"));
	(void)fprintf(to, "  %-14s %.0f retrans, %.0f reconnects\n", "server", report_number(report, "retrans"),
		report_number(report, "reconnects"));
	(void)fprintf(to, "  %-14s %.0f, %.0f matched, %.0f switches between local and remote\n", "probes",
		report_number(report, "probes"), report_number(report, "probes_matched"),
		report_number(report, "switches"));
}

/* ---- all mounts ---- */

/* A line of a table, and the number by which the table is sorted. */
struct top_line {
	const json_t *report, *operation; /* operation: NULL for a line about the mount */
	double weight;
};

static int compare(const void *a, const void *b)
{
	double first = ((const struct top_line *)a)->weight, second = ((const struct top_line *)b)->weight;

	return first > second ? -1 : first < second;
}

/* The sum of a column over the operations of a mount; of one operation, or of all. */
static double sum(const json_t *report, const char *operation, const char *key)
{
	const json_t *lines = json_object_get(report, "operations");
	double total = 0;

	for (size_t n = 0; n < json_array_size(lines); n++) {
		const json_t *line = json_array_get(lines, n);

		if (!operation || strcmp(report_string(line, "operation"), operation) == 0)
			total += report_number(line, key);
	}
	return total;
}

static double time_of(const json_t *line)
{
	return report_number(line, "avg_exe_ms") * report_number(line, "ops");
}

static void put_mount(FILE *to, const json_t *report)
{
	(void)fprintf(to, "%-8.8s %10.1f %10.1f %10.1f %8.0f %8.0f %8.0f %8.0f  " SHORT "\n",
		report_string(report, "state"), sum(report, NULL, "ops_per_s"), sum(report, "READ", "kB_per_s"),
		sum(report, "WRITE", "kB_per_s"), sum(report, NULL, "errors"), report_number(report, "retrans"),
		report_number(report, "switches"), report_number(report, "grants_denied"),
		SHORTEN(report_string(report, "mountpoint"), 60));
}

static size_t collect(const json_t *reports, struct top_line *lines, size_t room)
{
	size_t count = 0;

	for (size_t n = 0; n < json_array_size(reports); n++) {
		const json_t *report = json_array_get(reports, n), *of = json_object_get(report, "operations");

		for (size_t i = 0; i < json_array_size(of) && count < room; i++)
			lines[count++] =
				(struct top_line){report, json_array_get(of, i), time_of(json_array_get(of, i))};
	}
	return count;
}

static size_t count_operations(const json_t *reports)
{
	size_t count = 0;

	for (size_t n = 0; n < json_array_size(reports); n++)
		count += json_array_size(json_object_get(json_array_get(reports, n), "operations"));
	return count;
}

static void put_mounts(FILE *to, const json_t *reports, size_t room)
{
	size_t count = json_array_size(reports);
	struct top_line *lines = calloc(count + 1, sizeof(*lines));

	for (size_t n = 0; lines && n < count; n++)
		lines[n] = (struct top_line){.report = json_array_get(reports, n),
			.weight = sum(json_array_get(reports, n), NULL, "ops_per_s")};
	if (lines)
		qsort(lines, count, sizeof(*lines), compare);
	(void)fprintf(to, "%-8s %10s %10s %10s %8s %8s %8s %8s  %s\n", "state", "ops/s", "kB/s read", "kB/s wrt",
		"errors", "retrans", "switches", "denied", "mount point");
	for (size_t n = 0; lines && n < count && n < room; n++)
		put_mount(to, lines[n].report);
	free(lines);
}

static void put_busiest(FILE *to, const json_t *reports, size_t room)
{
	size_t count = count_operations(reports);
	struct top_line *lines = calloc(count + 1, sizeof(*lines));

	if (!lines)
		return;
	count = collect(reports, lines, count);
	qsort(lines, count, sizeof(*lines), compare);
	(void)fprintf(to, "\n%-24s " OPERATION_HEAD, "mount point", "operation", "path", "ops/s", "kB/s", "kB/op",
		"errors", "avg exe ms", "p50 ms", "p90 ms", "p99 ms");
	for (size_t n = 0; n < count && n < room; n++) {
		const char *place = report_string(lines[n].report, "mountpoint");
		size_t length = strlen(place);

		(void)fprintf(to, "%-24s ", length > 24 ? place + length - 24 : place);
		put_operation(to, lines[n].operation);
	}
	free(lines);
}

void report_top(FILE *to, const json_t *reports, size_t lines)
{
	size_t mounts = MIN(json_array_size(reports), MAX(lines / 2, (size_t)1)), heads = 3;

	put_mounts(to, reports, mounts);
	put_busiest(to, reports, lines > mounts + heads ? lines - mounts - heads : 0);
}
