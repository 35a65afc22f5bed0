/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "ctl/sidecar/show_sidecar.h"

#include <inttypes.h>
#include <time.h>

#include "base/util.h"

static const char *text_at(const json_t *json, const char *key)
{
	const char *text = json_string_value(json_object_get(json, key));

	return text ? text : "";
}

static int64_t number_at(const json_t *json, const char *key)
{
	return json_integer_value(json_object_get(json, key));
}

static bool is_at(const json_t *json, const char *key)
{
	return json_is_true(json_object_get(json, key));
}

static const char *time_at(const json_t *json, const char *key, char ret[32])
{
	time_t when = number_at(json, key);
	struct tm tm;

	if (!localtime_r(&when, &tm) || strftime(ret, 32, "%F %T", &tm) == 0)
		ret[0] = '\0';
	return ret;
}

/* "KEY NUMBER, ..." of the numbers that are not 0; "none" without any. */
static void print_counts(FILE *to, const json_t *counts)
{
	bool any = false;

	for (void *i = json_object_iter((json_t *)(uintptr_t)counts); i;
		i = json_object_iter_next((json_t *)(uintptr_t)counts, i)) {
		int64_t number = json_integer_value(json_object_iter_value(i));

		if (number > 0)
			(void)fprintf(to, "%s%s %" PRId64, any ? ", " : "", json_object_iter_key(i), number);
		any |= number > 0;
	}
	(void)fprintf(to, "%s\n", any ? "" : "none");
}

static void show_self(FILE *to, const json_t *view)
{
	const json_t *server = json_object_get(view, "server"), *probes = json_object_get(view, "probes");
	const json_t *opens = json_object_get(view, "opens"), *limits = json_object_get(view, "limits");
	const json_t *sessions = json_object_get(limits, "sessions"), *ids = json_object_get(limits, "ids");
	char when[32];

	(void)fprintf(to, "localiofs-sidecar %s, pid %" PRId64 ", since %s\n", text_at(view, "version"),
		number_at(view, "pid"), time_at(view, "started", when));
	(void)fprintf(to, "  server        %s on port %" PRId64 ", %s; exports in %s\n", text_at(server, "kind"),
		number_at(server, "port"), is_at(server, "serving") ? "serving" : "not serving",
		text_at(server, "config"));
	if (number_at(probes, "port") > 0)
		(void)fprintf(to, "  probes        on port %" PRId64, number_at(probes, "port"));
	else
		(void)fprintf(to, "  probes        on no port");
	(void)fprintf(to, "; matched %" PRId64 ", unknown-nonce %" PRId64 ", not-connected %" PRId64 "\n",
		number_at(probes, "matched"), number_at(probes, "unknown-nonce"), number_at(probes, "not-connected"));
	(void)fprintf(to,
		"  opens         %" PRId64 " asked, %" PRId64 " got an id, %" PRId64 " a descriptor; refused: ",
		number_at(opens, "asked"), number_at(opens, "ids"), number_at(opens, "descriptors"));
	print_counts(to, json_object_get(opens, "refused"));
	(void)fprintf(to,
		"  limits        %" PRId64 " of %" PRId64 " sessions of root, %" PRId64 " of others; %" PRId64
		" of %" PRId64 " ids of root, %" PRId64 " of others; reached: ",
		number_at(sessions, "root"), number_at(sessions, "most_each"), number_at(sessions, "others"),
		number_at(ids, "root"), number_at(ids, "most_each"), number_at(ids, "others"));
	print_counts(to, json_object_get(limits, "reached"));
}

/* The requests of a kind: an object of the view's "requests". */
static int64_t answered(const json_t *request)
{
	return number_at(request, "done") + number_at(request, "error") + number_at(request, "server");
}

static void show_requests(FILE *to, const json_t *view)
{
	const json_t *notices = json_object_get(view, "notices"), *request;
	json_t *requests = json_object_get(view, "requests");
	const char *name, *between = "";

	(void)fprintf(to, "  requests      ");
	json_object_foreach (requests, name, request) {
		(void)fprintf(to, "%s%s %" PRId64, between, name, answered(request));
		between = ", ";
	}
	(void)fprintf(to, "%s\n  left          to the NFS server: ", *between ? "" : "none");
	print_counts(to, json_object_get(view, "left_to_server"));
	if (is_at(notices, "watching"))
		(void)fprintf(to,
			"  notices       %" PRId64 " sessions know %" PRId64 " objects on %" PRId64
			" filesystems; %" PRId64 " events, %" PRId64 " overflows; sent: ",
			number_at(notices, "sessions"), number_at(notices, "objects"),
			number_at(notices, "filesystems"), number_at(notices, "events"),
			number_at(notices, "overflows"));
	else
		(void)fprintf(to, "  notices       none now: see the sidecar's log; %" PRId64 " overflows; sent: ",
			number_at(notices, "overflows"));
	print_counts(to, json_object_get(notices, "sent"));
}

static void show_registries(FILE *to, const json_t *list)
{
	const json_t *r;

	for (size_t n = 0; (r = json_array_get(list, n)) != NULL; n++)
		(void)fprintf(to, "registry %s: claims=%s, %" PRId64 " sessions%s\n", text_at(r, "path"),
			text_at(r, "claims"), number_at(r, "sessions"),
			is_at(r, "lost") ? "; lost: its file was cut short" : "");
}

static void show_exports(FILE *to, const json_t *list, int64_t left_out)
{
	const json_t *e, *r;

	for (size_t n = 0; (e = json_array_get(list, n)) != NULL; n++) {
		(void)fprintf(to, "export %s: %s, device %s%s\n", text_at(e, "path"), text_at(e, "filesystem"),
			text_at(e, "device"), is_at(e, "supported") ? "" : ", no grants");
		for (size_t i = 0; (r = json_array_get(json_object_get(e, "refused"), i)) != NULL; i++)
			(void)fprintf(to, "  %s: no grants (%s: %s)\n",
				*text_at(r, "client") ? text_at(r, "client") : "all clients", text_at(r, "reason"),
				text_at(r, "detail"));
	}
	if (left_out > 0)
		(void)fprintf(to, "%" PRId64 " more exports\n", left_out);
}

static void show_pins(FILE *to, const json_t *session)
{
	const json_t *p;

	for (size_t n = 0; (p = json_array_get(json_object_get(session, "pins"), n)) != NULL; n++)
		(void)fprintf(to,
			"  holds         %s (device %s): its directory and %" PRId64 " files, %" PRId64 " writable\n",
			text_at(p, "export"), text_at(p, "device"), number_at(p, "files"), number_at(p, "writable"));
	for (size_t n = 0; (p = json_array_get(json_object_get(session, "files"), n)) != NULL; n++) {
		if (*text_at(p, "path"))
			(void)fprintf(to, "  file          %s", text_at(p, "path"));
		else
			(void)fprintf(to, "  file          without a known path, inode %" PRId64,
				number_at(p, "inode"));
		(void)fprintf(to, " (%s, %s, for uid %" PRId64 ")\n", text_at(p, "kind"),
			is_at(p, "writable") ? "writable" : "read-only", number_at(p, "uid"));
	}
	if (number_at(session, "files_left_out") > 0)
		(void)fprintf(to, "  file          and %" PRId64 " more\n", number_at(session, "files_left_out"));
}

static void show_session(FILE *to, const json_t *s)
{
	char when[32];

	(void)fprintf(to, "session %" PRId64 " of pid %" PRId64 " (%s), uid %" PRId64 ": %s since %s\n",
		number_at(s, "number"), number_at(s, "pid"), text_at(s, "program"), number_at(s, "uid"),
		text_at(s, "state"), time_at(s, "since", when));
	(void)fprintf(to, "  client        %s, export %s, registry %s, claims=%s, user namespace: %s%s\n",
		*text_at(s, "peer") ? text_at(s, "peer") : "not matched",
		*text_at(s, "export") ? text_at(s, "export") : "none", text_at(s, "registry"), text_at(s, "claims"),
		text_at(s, "user_namespace"), is_at(s, "trusted") ? ", trusted" : "");
	(void)fprintf(to,
		"  grants        %" PRId64 " held of at most %" PRId64 "; %" PRId64 " opens, %" PRId64 " refused",
		number_at(s, "held"), number_at(s, "held_most"), number_at(s, "opens"), number_at(s, "refused"));
	if (number_at(s, "refused") > 0)
		(void)fprintf(to, " (the last: %s)", text_at(s, "last_refusal"));
	(void)fputc('\n', to);
	show_pins(to, s);
}

void show_sidecar(FILE *to, const json_t *view)
{
	const json_t *session;

	show_self(to, view);
	show_requests(to, view);
	show_registries(to, json_object_get(view, "registries"));
	show_exports(to, json_object_get(view, "exports"), number_at(view, "exports_left_out"));
	for (size_t n = 0; (session = json_array_get(json_object_get(view, "sessions"), n)) != NULL; n++)
		show_session(to, session);
}
