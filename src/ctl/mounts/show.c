/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "ctl/mounts/show.h"

#include "base/text.h"
#include "base/util.h"
#include "localiofs/status_keys.h"

/*
 * A line of the text: a label, and words in which {KEY} stands for the value of a key of status_keys.h, or a function
 * for the words that depend on values. A function that prints nothing leaves the line out.
 */
struct line {
	const char *label;
	const char *words;
	void (*show)(FILE *to, const char *label, const json_t *status);
};

static void show_state(FILE *to, const char *label, const json_t *status);
static void show_options(FILE *to, const char *label, const json_t *status);
static void show_defaults(FILE *to, const char *label, const json_t *status);
static void show_transport(FILE *to, const char *label, const json_t *status);
static void show_server(FILE *to, const char *label, const json_t *status);
static void show_sidecar(FILE *to, const char *label, const json_t *status);
static void show_names(FILE *to, const char *label, const json_t *status);
static void show_notices(FILE *to, const char *label, const json_t *status);
static void show_locks(FILE *to, const char *label, const json_t *status);

static const struct line lines[] = {
	{"state", NULL, show_state},
	{"options", NULL, show_options},
	{"defaults", NULL, show_defaults},
	{"transport", NULL, show_transport},
	{"server", NULL, show_server},
	{"sidecar", NULL, show_sidecar},
	{"last probe", "{probe.last} ({probe.attempts} so far)", NULL},
	{"opens", "passthrough {opens.passthrough}, uring {opens.uring}, remote {opens.remote}", NULL},
	{"requests",
		"read {requests.read} ({requests.bytes_read} bytes), write {requests.write} ({requests.bytes_written} "
		"bytes) at the daemon",
		NULL},
	{"names", NULL, show_names},
	{"notices", NULL, show_notices},
	{"backing ids",
		"{backing_ids.held} held, {backing_ids.idle} of them idle, {backing_ids.left_over} of ended sessions; "
		"{grants.denied} opens got none (last: {grants.last_denial})",
		NULL},
	{"locks", NULL, show_locks},
};

/* ---- values ---- */

/* The value at a path of at most two words, or NULL. */
static const json_t *value_at(const json_t *status, const char *path)
{
	const char *dot = strchr(path, '.');
	char group[32];

	if (!dot)
		return json_object_get(status, path);
	(void)snprintf(group, sizeof(group), "%.*s", (int)(dot - path), path);
	return json_object_get(json_object_get(status, group), dot + 1);
}

/* The string at a path, or NULL. */
static const char *string_at(const json_t *status, const char *path)
{
	return json_string_value(value_at(status, path));
}

static void print_time(FILE *to, json_int_t seconds)
{
	time_t time = (time_t)seconds;
	char text[64] = "never";
	struct tm tm;

	if (time && localtime_r(&time, &tm))
		(void)strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S", &tm);
	(void)fprintf(to, "%s", text);
}

/* A value of another type than the key's, or none, is an empty string, 0 or false. */
static void print_value(FILE *to, enum status_type type, const json_t *value)
{
	const char *text = json_string_value(value);

	switch (type) {
	case STATUS_CODE:
	case STATUS_TEXT:
		(void)fprintf(to, "%s", text ? text : "");
		break;
	case STATUS_FLAG:
		(void)fprintf(to, "%s", json_is_true(value) ? "true" : "false");
		break;
	case STATUS_NUMBER:
	case STATUS_COUNTER:
		(void)fprintf(to, "%lld", (long long)json_integer_value(value));
		break;
	case STATUS_TIME:
		print_time(to, json_integer_value(value));
		break;
	case STATUS_TREE:
		break;
	}
}

static void print_key(FILE *to, const json_t *status, const char *key, size_t length)
{
	static const struct {
		const char *key;
		enum status_type type;
	} keys[] = {
#define X(key, type, unit, value, meaning) {key, STATUS_##type},
		STATUS_KEYS(X)
#undef X
	};

	for (size_t n = 0; n < ARRAY_SIZE(keys); n++)
		if (strlen(keys[n].key) == length && memcmp(keys[n].key, key, length) == 0)
			print_value(to, keys[n].type, value_at(status, keys[n].key));
}

/* The words, with values in place of {KEY}. */
static void print_words(FILE *to, const json_t *status, const char *words)
{
	while (*words) {
		size_t plain = strcspn(words, "{"), key;

		(void)fprintf(to, "%.*s", (int)plain, words);
		words += plain;
		if (*words == '\0')
			return;
		words++;
		key = strcspn(words, "}");
		print_key(to, status, words, key);
		words += key + (words[key] == '}');
	}
}

static void print_line(FILE *to, const char *label, const json_t *status, const char *words)
{
	(void)fprintf(to, "  %-13s ", label);
	print_words(to, status, words);
	(void)fputc('\n', to);
}

/* ---- lines that depend on values ---- */

static void show_state(FILE *to, const char *label, const json_t *status)
{
	bool plain = strcmp(string_at(status, "state"), string_at(status, "reason")) == 0;

	print_line(to, label, status, plain ? "{state}" : "{state} ({reason}: {detail})");
}

/* Older daemons do not say it. */
static void show_transport(FILE *to, const char *label, const json_t *status)
{
	const char *reason = string_at(status, "transport_reason");

	if (!string_at(status, "transport") || !reason || !string_at(status, "transport_detail"))
		return;
	print_line(to, label, status,
		strcmp(reason, "none") == 0 ? "{transport}" : "{transport} ({transport_reason}: {transport_detail})");
}

static void show_server(FILE *to, const char *label, const json_t *status)
{
	const json_t *connections = value_at(status, "server.connections");
	size_t up = 0, all = json_array_size(connections);
	char words[100];

	for (size_t n = 0; n < all; n++)
		up += json_is_true(json_object_get(json_array_get(connections, n), "connected"));
	if (all > 1)
		(void)snprintf(words, sizeof(words), "{server.address}, %zu of %zu connections up", up, all);
	else
		(void)snprintf(words, sizeof(words), "{server.address}, %s", up > 0 ? "connected" : "not connected");
	print_line(to, label, status, words);
}

/* Says nothing of a mount for which the defaults file has nothing. */
static void show_defaults(FILE *to, const char *label, const json_t *status)
{
	const char *text = string_at(status, "options.defaults");

	if (text && text[0] != '\0')
		print_line(to, label, status, "{options.defaults}");
}

/* An older daemon does not say its options. */
static void show_options(FILE *to, const char *label, const json_t *status)
{
	if (string_at(status, "options.all"))
		print_line(to, label, status, "{options.all}");
}

static void show_sidecar(FILE *to, const char *label, const json_t *status)
{
	if (strcmp(string_at(status, "state"), "local") == 0)
		print_line(to, label, status, "exports {sidecar.export}, sees us at {sidecar.peer}");
}

/* Only of a local mount: otherwise the server is asked, for the reason of the state. Older daemons say nothing. */
static void show_names(FILE *to, const char *label, const json_t *status)
{
	if (strcmp(string_at(status, "state"), "local") != 0 || !string_at(status, "names.reason"))
		return;
	print_line(to, label, status,
		json_is_true(value_at(status, "names.local"))
			? "looked up and changed by the sidecar, {lookups.known} lookups known without a question"
			: "looked up and changed by the NFS server ({names.reason}), {lookups.known} lookups known "
			  "without a "
			  "question");
}

static void show_notices(FILE *to, const char *label, const json_t *status)
{
	const char *now = json_is_true(value_at(status, "notices.leased"))    ? "names are believed for long"
			  : json_is_true(value_at(status, "notices.watched")) ? "the sidecar watches"
									      : "nothing is watched";
	char words[150];

	if (strcmp(string_at(status, "state"), "local") != 0 || !value_at(status, "notices.watched"))
		return;
	(void)snprintf(words, sizeof(words),
		"%s; {notices.received} received, for which the kernel forgot its names {notices.forgotten} times",
		now);
	print_line(to, label, status, words);
}

static void show_locks(FILE *to, const char *label, const json_t *status)
{
	if (json_is_true(value_at(status, "locks.noticed")))
		print_line(to, label, status,
			"{locks.locked} held, {locks.waiting} waited for; on this mount only: other clients do not "
			"see them");
}

/* ---- text and JSON ---- */

/* Makes text of all strings. */
static void clean(json_t *json)
{
	_cleanup_free_ char *text = json_is_string(json) ? strdup(json_string_value(json)) : NULL;

	if (text) {
		text_clean(text);
		(void)json_string_set(json, text);
	}
	for (void *i = json_object_iter(json); i; i = json_object_iter_next(json, i))
		clean(json_object_iter_value(i));
	for (size_t n = 0; n < json_array_size(json); n++)
		clean(json_array_get(json, n));
}

/* True for a mount that cannot say more. */
static bool is_lost(const char *state)
{
	return strcmp(state, "dead") == 0 || strcmp(state, "hung") == 0;
}

bool show_is_status(const json_t *json)
{
	return string_at(json, "spec") && string_at(json, "state") && string_at(json, "reason") &&
	       string_at(json, "detail");
}

void show_text(FILE *to, const char *dir, json_t *status)
{
	_cleanup_free_ char *name = strdup(dir);

	if (!name)
		return;
	text_clean(name);
	clean(status);
	if (!show_is_status(status)) {
		(void)fprintf(to, "%s: the daemon's answer is not the status of a localiofs mount\n", name);
		return;
	}
	(void)fprintf(to, "%s on %s\n", string_at(status, "spec"), name);
	if (is_lost(string_at(status, "state"))) {
		show_state(to, "state", status);
		return;
	}
	for (size_t n = 0; n < ARRAY_SIZE(lines); n++)
		if (lines[n].show)
			lines[n].show(to, lines[n].label, status);
		else
			print_line(to, lines[n].label, status, lines[n].words);
}

/* The string at a path, or a sign for none: a cell of a table. */
static const char *cell(const json_t *line, const char *path)
{
	const char *text = string_at(line, path);

	return text && text[0] != '\0' ? text : "-";
}

void show_list(FILE *to, json_t *mounts)
{
	clean(mounts);
	(void)fprintf(to, "%-8s %-18s %-30s %s\n", "STATE", "REASON", "EXPORT", "MOUNTPOINT");
	for (size_t n = 0; n < json_array_size(mounts); n++) {
		const json_t *m = json_array_get(mounts, n);

		(void)fprintf(to, "%-8s %-18s %-30s %s\n", cell(m, "state"), cell(m, "reason"), cell(m, "spec"),
			cell(m, "mountpoint"));
	}
}

static void print_json(FILE *to, const json_t *json, size_t layout)
{
	_cleanup_free_ char *text = json_dumps(json, layout | JSON_ENSURE_ASCII | JSON_REAL_PRECISION(9));

	for (const char *p = text; p && *p; p++)
		if (*p == 0x7f)
			(void)fputs("\\u007f", to);
		else
			(void)fputc(*p, to);
	(void)fputc('\n', to);
}

void show_json(FILE *to, const json_t *json)
{
	print_json(to, json, JSON_INDENT(2));
}

/* ---- events ---- */

/* The text of an array, which may lack an end. ret: one byte longer. */
static void take_text(char *ret, const char *array, size_t length)
{
	length = strnlen(array, length);
	memcpy(ret, array, length);
	ret[length] = '\0';
	text_clean(ret);
}

struct event_texts {
	char operation[sizeof(((struct control_event *)NULL)->operation) + 1];
	char path[sizeof(((struct control_event *)NULL)->path) + 1];
};

static void take_texts(const struct control_event *e, struct event_texts *ret)
{
	take_text(ret->operation, e->operation, sizeof(e->operation));
	take_text(ret->path, e->path, sizeof(e->path));
}

void show_event_json(FILE *to, const struct control_event *e)
{
	struct event_texts t;
	json_t *json;

	take_texts(e, &t);
	json = json_pack("{s:I, s:s, s:s, s:I, s:I, s:I, s:I, s:I, s:I, s:i}", "request", (json_int_t)e->request,
		"operation", t.operation, "path", t.path, "ended_us", (json_int_t)e->ended_us, "microseconds",
		(json_int_t)e->took_us, "uid", (json_int_t)e->uid, "pid", (json_int_t)e->pid, "fileid",
		(json_int_t)e->fileid, "bytes", (json_int_t)e->bytes, "error", e->error);
	print_json(to, json, JSON_COMPACT);
	json_decref(json);
}

void show_event(FILE *to, const struct control_event *e)
{
	time_t seconds = (time_t)(e->ended_us / 1000000);
	char clock[32] = "";
	struct event_texts t;
	struct tm tm;

	take_texts(e, &t);
	if (localtime_r(&seconds, &tm))
		(void)strftime(clock, sizeof(clock), "%H:%M:%S", &tm);
	(void)fprintf(to, "%s.%06u %-15s %-7s %8u us  uid %-5u pid %-7u file %-12llu %8llu B  %s\n", clock,
		(unsigned)(e->ended_us < 0 ? 0 : e->ended_us % 1000000), t.operation, t.path, e->took_us, e->uid,
		e->pid, (unsigned long long)e->fileid, (unsigned long long)e->bytes,
		e->error ? strerror(e->error) : "done");
}
