/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "metrics/metrics_text.h"

#include <inttypes.h>

#include "base/text.h"

#define BOUND_STEP 2 /* of the histogram's bounds in the text */
#define NS_PER_S   UINT64_C(1000000000)

static const char *const type_names[] = {[METRICS_COUNTER] = "counter",
	[METRICS_GAUGE] = "gauge",
	[METRICS_HISTOGRAM] = "histogram",
	[METRICS_INFO] = "info",
	[METRICS_STATESET] = "stateset"};

void metrics_text_open(struct metrics_text *m, enum metrics_format format, const char *prefix)
{
	*m = (struct metrics_text){.format = format, .prefix = prefix};
	m->to = open_memstream(&m->text, &m->size);
}

int metrics_text_close(struct metrics_text *m, char **ret, size_t *ret_size)
{
	bool failed = !m->to;

	if (m->to && m->format == METRICS_OPENMETRICS)
		(void)fputs("# EOF\n", m->to);
	failed = failed || ferror(m->to);
	failed = (m->to && fclose(m->to) != 0) || failed;
	m->to = NULL;
	if (failed) {
		free(STEAL_PTR(m->text));
		return -ENOMEM;
	}
	*ret = STEAL_PTR(m->text);
	*ret_size = m->size;
	return 0;
}

static void put(struct metrics_text *m, const char *text)
{
	if (m->to)
		(void)fputs(text, m->to);
}

static void put_char(struct metrics_text *m, char c)
{
	if (m->to)
		(void)fputc(c, m->to);
}

/* OpenMetrics 1.0, escaped-string; the older format has no escape for a quotation mark in HELP. */
static void put_escaped(struct metrics_text *m, const char *text, bool quotes)
{
	for (; *text != '\0'; text++) {
		if (*text == '\\' || (quotes && *text == '"'))
			put_char(m, '\\');
		if (*text == '\n')
			put(m, "\\n");
		else
			put_char(m, *text);
	}
}

/* The end of the names of samples that makes the family's name in the older format. */
static const char *older_suffix(const struct metrics_text *m)
{
	if (m->format == METRICS_OPENMETRICS)
		return "";
	return m->type == METRICS_COUNTER ? "_total" : m->type == METRICS_INFO ? "_info" : "";
}

static const char *type_name(const struct metrics_text *m)
{
	bool newer = m->type == METRICS_INFO || m->type == METRICS_STATESET;

	return type_names[newer && m->format == METRICS_PROMETHEUS ? METRICS_GAUGE : m->type];
}

static bool ends_with_unit(const char *name, const char *unit)
{
	size_t length = strlen(name), end = strlen(unit);

	return length > end && name[length - end - 1] == '_' && strcmp(name + length - end, unit) == 0;
}

/* Begins a line about the family. */
static void put_about(struct metrics_text *m, const char *what)
{
	put(m, "# ");
	put(m, what);
	put_char(m, ' ');
	put(m, m->family);
	put(m, older_suffix(m));
	put_char(m, ' ');
}

void metrics_family(struct metrics_text *m, enum metrics_type type, const char *name, const char *unit,
	const char *help)
{
	size_t length;

	m->type = type;
	(void)snprintf(m->family, sizeof(m->family), "%s_%s", m->prefix, name);
	for (char *dot = strchr(m->family, '.'); dot; dot = strchr(dot, '.'))
		*dot = '_';
	length = strlen(m->family);
	if (unit[0] != '\0' && !ends_with_unit(m->family, unit))
		(void)snprintf(m->family + length, sizeof(m->family) - length, "_%s", unit);
	put_about(m, "TYPE");
	put(m, type_name(m));
	put_char(m, '\n');
	if (unit[0] != '\0' && m->format == METRICS_OPENMETRICS) {
		put_about(m, "UNIT");
		put(m, unit);
		put_char(m, '\n');
	}
	put_about(m, "HELP");
	put_escaped(m, help, m->format == METRICS_OPENMETRICS);
	put_char(m, '\n');
}

/* A label's value may be from outside: it becomes UTF-8 text on one line, with a limit. */
static void put_label(struct metrics_text *m, const char *before, const char *name, const char *value)
{
	char text[METRICS_LABEL_MAX + 1];

	(void)snprintf(text, sizeof(text), "%s", value);
	text_clean(text);
	put(m, before);
	put(m, name);
	put(m, "=\"");
	put_escaped(m, text, true);
	put_char(m, '"');
}

/* The name of a sample and its labels, the last of which may be a histogram's "le". */
static void put_sample(struct metrics_text *m, const char *suffix, const struct metrics_label *labels, size_t nlabels,
	const char *le)
{
	put(m, m->family);
	put(m, suffix);
	for (size_t n = 0; n < nlabels; n++)
		put_label(m, n == 0 ? "{" : ",", labels[n].name, labels[n].value);
	if (le)
		put_label(m, nlabels == 0 ? "{" : ",", "le", le);
	put(m, nlabels > 0 || le ? "} " : " ");
}

static const char *value_suffix(const struct metrics_text *m)
{
	return m->type == METRICS_COUNTER ? "_total" : "";
}

static void put_number(struct metrics_text *m, int64_t value)
{
	if (m->to)
		(void)fprintf(m->to, "%" PRId64 "\n", value);
}

static void put_ns(struct metrics_text *m, uint64_t ns)
{
	if (m->to)
		(void)fprintf(m->to, "%" PRIu64 ".%09" PRIu64 "\n", ns / NS_PER_S, ns % NS_PER_S);
}

void metrics_value(struct metrics_text *m, const struct metrics_label *labels, size_t nlabels, int64_t value)
{
	put_sample(m, value_suffix(m), labels, nlabels, NULL);
	put_number(m, value);
}

void metrics_seconds(struct metrics_text *m, const struct metrics_label *labels, size_t nlabels, uint64_t ns)
{
	put_sample(m, value_suffix(m), labels, nlabels, NULL);
	put_ns(m, ns);
}

void metrics_info(struct metrics_text *m, const struct metrics_label *labels, size_t nlabels)
{
	put_sample(m, "_info", labels, nlabels, NULL);
	put_number(m, 1);
}

void metrics_state(struct metrics_text *m, const char *state, bool is)
{
	const struct metrics_label label = {.name = m->family, .value = state};

	put_sample(m, "", &label, 1, NULL);
	put_number(m, is);
}

void metrics_histogram(struct metrics_text *m, const struct metrics_label *labels, size_t nlabels,
	const struct histogram_counts *c)
{
	uint64_t count = 0;
	char le[32];

	for (unsigned n = 0; n < HISTOGRAM_BOUNDS; n++) {
		count += c->counts[n];
		if (n % BOUND_STEP != 0)
			continue;
		(void)snprintf(le, sizeof(le), "%.12g", (double)histogram_bound_us(n) / 1e6);
		put_sample(m, "_bucket", labels, nlabels, le);
		put_number(m, (int64_t)count);
	}
	put_sample(m, "_bucket", labels, nlabels, "+Inf");
	put_number(m, (int64_t)histogram_total(c));
	put_sample(m, "_count", labels, nlabels, NULL);
	put_number(m, (int64_t)histogram_total(c));
	put_sample(m, "_sum", labels, nlabels, NULL);
	put_ns(m, c->ns);
}
