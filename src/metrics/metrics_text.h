/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Writes metrics as text. The rules: OpenMetrics 1.0 (RFC-style specification of prometheus/OpenMetrics), and
 * Prometheus' own text format 0.0.4, which node_exporter's textfile collector reads: it lacks UNIT, EOF, info and
 * stateset, and its counters have _total in the family's name, too.
 *
 *	metrics_text_open(&m, METRICS_OPENMETRICS, "localiofs");
 *	metrics_family(&m, METRICS_COUNTER, "probe.attempts", "", "Probes that were started");
 *	metrics_value(&m, NULL, 0, 7);
 *	...
 *	r = metrics_text_close(&m, &text, &size);
 *
 * The writer belongs to one thread. What fails is known at the end. The set of series is the caller's: labels take
 * their values from tables of the program, or from what never changes, and never from files, users or time.
 */
#pragma once

#include <stddef.h>

#include "base/util.h"
#include "metrics/histogram.h"

#define METRICS_LABEL_MAX 512 /* bytes of a label's value; longer values are cut */

enum metrics_format {
	METRICS_OPENMETRICS,
	METRICS_PROMETHEUS,
};

enum metrics_type {
	METRICS_COUNTER,
	METRICS_GAUGE,
	METRICS_HISTOGRAM,
	METRICS_INFO,
	METRICS_STATESET,
};

struct metrics_label {
	const char *name, *value;
};

struct metrics_text {
	FILE *to; /* NULL: without memory */
	char *text;
	size_t size;
	enum metrics_format format;
	const char *prefix; /* of all names */
	enum metrics_type type;
	char family[128]; /* the name of the present family, with prefix and unit */
};

/* metrics_text_close() follows in any case. */
void metrics_text_open(struct metrics_text *m, enum metrics_format format, const char *prefix);

/* 0 and the text, which the caller frees, or -ENOMEM. */
int metrics_text_close(struct metrics_text *m, char **ret, size_t *ret_size);

/*
 * Begins a family, to which all samples up to the next one belong. Dots in the name become underscores. The unit is
 * "bytes", "seconds" or another base unit, which the name gets as its end, or "" for plain numbers: the things that are
 * counted are no unit. The help is a sentence without its end.
 */
void metrics_family(struct metrics_text *m, enum metrics_type type, const char *name, const char *unit,
	const char *help);

/* A sample of a gauge or counter. */
void metrics_value(struct metrics_text *m, const struct metrics_label *labels, size_t nlabels, int64_t value);

/* The same for a family in seconds. */
void metrics_seconds(struct metrics_text *m, const struct metrics_label *labels, size_t nlabels, uint64_t ns);

/* A sample of an info family: all it says is in its labels. */
void metrics_info(struct metrics_text *m, const struct metrics_label *labels, size_t nlabels);

/* One state of a stateset; the caller writes all states, and one of them is true. */
void metrics_state(struct metrics_text *m, const char *state, bool is);

/* The samples of one histogram. The text has every second bound: 1 us, 4 us ... 2^24 us. */
void metrics_histogram(struct metrics_text *m, const struct metrics_label *labels, size_t nlabels,
	const struct histogram_counts *c);
