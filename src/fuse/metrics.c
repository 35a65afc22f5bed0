/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The mount's numbers for monitoring, by the option metrics=: the status keys that are numbers, the connections and
 * calls of the server, and the operations. The set of series depends on nconnect= alone. A line of STATUS_KEYS is a
 * metric by itself; localiofs-metrics(7) lists all. Runs on the exporter's thread.
 */
#include "fuse/daemon_parts.h"

#include "fuse/lease/lease.h"
#include "fuse/operations/operations.h"
#include "fuse/control/status_view.h"
#include "localiofs/reason.h"
#include "localiofs/status_keys.h"
#include "metrics/exporter.h"

/* The things that are counted are no unit of OpenMetrics, where the metric's name ends with the unit. */
static const char *unit_of(const char *unit)
{
	return strcmp(unit, "bytes") == 0 || strcmp(unit, "seconds") == 0 ? unit : "";
}

static void put(struct metrics_text *m, enum metrics_type type, const char *name, const char *unit, const char *help,
	int64_t value)
{
	metrics_family(m, type, name, unit_of(unit), help);
	metrics_value(m, NULL, 0, value);
}

/* Words and text change their value, and would make a series per value. */
#define PUT_CODE(key, unit, value, meaning)
#define PUT_TEXT(key, unit, value, meaning)
#define PUT_TREE(key, unit, value, meaning)
#define PUT_FLAG(key, unit, value, meaning)    put(m, METRICS_GAUGE, key, unit, meaning, (value) ? 1 : 0);
#define PUT_NUMBER(key, unit, value, meaning)  put(m, METRICS_GAUGE, key, unit, meaning, (int64_t)(value));
#define PUT_COUNTER(key, unit, value, meaning) put(m, METRICS_COUNTER, key, unit, meaning, (int64_t)(value));
#define PUT_TIME(key, unit, value, meaning) \
	put(m, METRICS_GAUGE, key "_timestamp", unit, meaning ", in seconds since 1970", value);

static void put_keys(struct metrics_text *m, struct status_view *v)
{
#define X(key, type, unit, value, meaning) PUT_##type(key, unit, value, meaning)
	STATUS_KEYS(X)
#undef X
}

/* The only labels that come from outside. */
static void put_mount(struct metrics_text *m, const struct daemon *d)
{
	const struct metrics_label about[] = {{"version", LOCALIOFS_VERSION}, {"spec", d->fs.spec},
		{"mountpoint", d->options->directory ? d->options->directory : ""},
		{"local", local_mode_name(d->fs.options->local)}};

	metrics_family(m, METRICS_INFO, "mount", "",
		"The mount: its daemon's version, SERVER:/EXPORT, place and local=");
	metrics_info(m, about, ARRAY_SIZE(about));
}

static void put_state(struct metrics_text *m, const struct status_view *v)
{
	metrics_family(m, METRICS_STATESET, "state", "", "The mount's state");
	for (unsigned n = 0; n <= PROBE_STATE_REMOTE; n++)
		metrics_state(m, status_state_name(n), v->probe.state == n);
	metrics_family(m, METRICS_STATESET, "reason", "", "The reason for the state");
#define X(name, number, code, text) metrics_state(m, code, v->probe.reason == REASON_##name);
	REASON_TABLE(X)
#undef X
}

static void put_connections(struct metrics_text *m, const struct server_stats *stats)
{
	char number[16];
	const struct metrics_label label = {"connection", number};

	metrics_family(m, METRICS_GAUGE, "server.connection_up", "", "True if the connection is up");
	for (unsigned n = 0; n < stats->nconnections; n++) {
		(void)snprintf(number, sizeof(number), "%u", n);
		metrics_value(m, &label, 1, stats->connections[n].connected);
	}
	metrics_family(m, METRICS_COUNTER, "server.connection_answered", "",
		"Calls that were answered on the connection");
	for (unsigned n = 0; n < stats->nconnections; n++) {
		(void)snprintf(number, sizeof(number), "%u", n);
		metrics_value(m, &label, 1, (int64_t)stats->connections[n].answered);
	}
}

static void put_calls(struct metrics_text *m, const struct server_stats *stats)
{
	metrics_family(m, METRICS_COUNTER, "server.calls", "", "Calls that were answered, by NFS procedure");
	for (unsigned n = 0; n < NFS_PROC_COUNT; n++)
		metrics_value(m, &(struct metrics_label){"procedure", nfs_proc_name(n)}, 1, (int64_t)stats->calls[n]);
	metrics_family(m, METRICS_COUNTER, "server.round_trip", "seconds",
		"The time of these calls from the last sending to the answer");
	for (unsigned n = 0; n < NFS_PROC_COUNT; n++)
		metrics_seconds(m, &(struct metrics_label){"procedure", nfs_proc_name(n)}, 1, stats->round_trip_ns[n]);
}

typedef struct operation_counts operation_matrix[OPERATION_COUNT][OPERATION_PATHS];

/* The counters of operations: each is a member of struct operation_counts. */
static const struct {
	const char *name, *unit, *help;
	size_t member;
} operation_counters[] = {
	{"operations", "", "FUSE requests that were answered, by operation and the path of the answer",
		offsetof(struct operation_counts, count)},
	{"operation_errors", "", "Those that were answered with an error", offsetof(struct operation_counts, errors)},
	{"operation_data", "bytes", "Bytes of data that these operations read or wrote through the daemon",
		offsetof(struct operation_counts, bytes)},
	{"operation_time", "seconds", "The time of these operations from their begin to the answer",
		offsetof(struct operation_counts, latency.ns)},
};

static bool moves_data(enum operation_kind kind)
{
	return kind == OPERATION_READ || kind == OPERATION_WRITE || kind == OPERATION_COPY_FILE_RANGE;
}

static void put_counter(struct metrics_text *m, operation_matrix all, size_t which)
{
	const char *unit = operation_counters[which].unit;

	metrics_family(m, METRICS_COUNTER, operation_counters[which].name, unit, operation_counters[which].help);
	for (unsigned n = 0; n < OPERATION_COUNT * OPERATION_PATHS; n++) {
		unsigned kind = n / OPERATION_PATHS, path = n % OPERATION_PATHS;
		const struct metrics_label labels[] = {{"operation", operation_name(kind)},
			{"path", operation_path_name(path)}};
		uint64_t value;

		memcpy(&value, (const char *)&all[kind][path] + operation_counters[which].member, sizeof(value));
		if (strcmp(unit, "seconds") == 0)
			metrics_seconds(m, labels, ARRAY_SIZE(labels), value);
		else if (strcmp(unit, "bytes") != 0 || moves_data(kind))
			metrics_value(m, labels, ARRAY_SIZE(labels), (int64_t)value);
	}
}

static void put_operations(struct metrics_text *m, struct operations *o)
{
	operation_matrix all = {0};

	for (unsigned kind = 0; kind < OPERATION_COUNT; kind++)
		for (unsigned path = 0; path < OPERATION_PATHS; path++)
			operations_read(o, kind, path, &all[kind][path]);
	for (size_t n = 0; n < ARRAY_SIZE(operation_counters); n++)
		put_counter(m, all, n);
	metrics_family(m, METRICS_HISTOGRAM, "operation_duration", "seconds",
		"The time of FUSE requests from their begin to the answer, over all paths");
	for (unsigned kind = 0; kind < OPERATION_COUNT; kind++) {
		struct histogram_counts sum = {0};

		for (unsigned path = 0; path < OPERATION_PATHS; path++) {
			for (unsigned n = 0; n < HISTOGRAM_BUCKETS; n++)
				sum.counts[n] += all[kind][path].latency.counts[n];
			sum.ns += all[kind][path].latency.ns;
		}
		metrics_histogram(m, &(struct metrics_label){"operation", operation_name(kind)}, 1, &sum);
	}
}

static void on_scrape(struct metrics_text *m, void *arg)
{
	struct daemon *d = arg;
	struct status_view v;

	status_view_init(&v, &d->fs, false);
	put_mount(m, d);
	put_state(m, &v);
	put_keys(m, &v);
	put_connections(m, &v.server);
	put_calls(m, &v.server);
	put_operations(m, d->fs.operations);
}

int metrics_open(struct daemon *d, char *sentence, size_t size)
{
	const struct exporter_options options = {.path = d->fs.options->metrics,
		.prefix = "localiofs",
		.on_scrape = on_scrape,
		.arg = d};

	return options.path[0] != '\0' ? exporter_open(&options, &d->exporter, sentence, size) : 0;
}
