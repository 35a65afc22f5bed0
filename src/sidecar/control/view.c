/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sidecar/control/view.h"

#include "base/text.h"
#include "base/whole_io.h"
#include "sidecar/exports/export_table.h"
#include "sidecar/exports/server_kind.h"

json_t *view_text(const char *text)
{
	_cleanup_free_ char *copy = strdup(text);

	if (!copy)
		return NULL;
	text_clean(copy);
	return json_string(copy);
}

static json_int_t value(atomic_uint_fast64_t *counter)
{
	return (json_int_t)atomic_load_explicit(counter, memory_order_relaxed);
}

static void set_number(json_t *to, const char *key, json_int_t number)
{
	(void)json_object_set_new(to, key, json_integer(number));
}

/* ---- the parts of the sidecar ---- */

static void add_server(json_t *to, const struct view *v, const struct export_table *t)
{
	json_t *server = json_object();

	(void)json_object_set_new(server, "kind", json_string(t->server->name));
	(void)json_object_set_new(server, "config", view_text(v->config));
	set_number(server, "port", t->server->port(t));
	(void)json_object_set_new(server, "serving", json_boolean(server_kind_serves(t)));
	(void)json_object_set_new(to, "server", server);
}

static void add_probes(json_t *to, const struct view *v)
{
	static const char *const words[] = {
#define X(name, word) word,
		COUNTERS_PROBES(X)
#undef X
	};
	json_t *probes = json_object();

	set_number(probes, "port", v->brokers[0].probeport);
	for (size_t n = 0; n < ARRAY_SIZE(words); n++)
		set_number(probes, words[n], value(&v->counters->probes[n]));
	(void)json_object_set_new(to, "probes", probes);
}

static void add_opens(json_t *to, const struct view *v)
{
	json_t *opens = json_object(), *refused = json_object();

	set_number(opens, "asked", value(&v->counters->opens));
	set_number(opens, "ids", value(&v->counters->ids));
	set_number(opens, "descriptors", value(&v->counters->descriptors));
	for (unsigned n = 0; n < COUNTERS_REASONS; n++)
		if (value(&v->counters->refusals[n]) > 0)
			set_number(refused, reason_code(n), value(&v->counters->refusals[n]));
	(void)json_object_set_new(opens, "refused", refused);
	(void)json_object_set_new(to, "opens", opens);
}

static void add_limits(json_t *to, const struct view *v)
{
	static const char *const words[] = {
#define X(name, word) word,
		COUNTERS_LIMITS(X)
#undef X
	};
	json_t *limits = json_object(), *reached = json_object();
	struct account_totals now;

	account_totals(v->account, &now);
	(void)json_object_set_new(limits, "sessions",
		json_pack("{s:i, s:i, s:i}", "root", (int)now.sessions[1], "others", (int)now.sessions[0], "most_each",
			ACCOUNT_SESSIONS / 2));
	(void)json_object_set_new(limits, "ids",
		json_pack("{s:i, s:i, s:i}", "root", (int)now.ids[1], "others", (int)now.ids[0], "most_each",
			ACCOUNT_IDS / 2));
	for (size_t n = 0; n < ARRAY_SIZE(words); n++)
		set_number(reached, words[n], value(&v->counters->limits[n]));
	(void)json_object_set_new(limits, "reached", reached);
	(void)json_object_set_new(to, "limits", limits);
}

/* ---- registries and sessions ---- */

/* What /proc tells of the process, whose pid may belong to another process by now. */
static void add_process(json_t *session)
{
	json_int_t pid = json_integer_value(json_object_get(session, "pid"));
	char path[64], own[4096], others[4096];
	const char *namespace = "unknown";

	if (pid > 0) {
		(void)snprintf(path, sizeof(path), "/proc/%d/comm", (int)pid);
		if (read_small_file(path, others, sizeof(others)) > 0) {
			others[strcspn(others, "\n")] = '\0';
			(void)json_object_set_new(session, "program", view_text(others));
		}
		(void)snprintf(path, sizeof(path), "/proc/%d/uid_map", (int)pid);
		if (read_small_file(path, others, sizeof(others)) > 0 &&
			read_small_file("/proc/self/uid_map", own, sizeof(own)) > 0)
		namespace = strcmp(own, others) == 0 ? "host" : "other";
	}
	(void)json_object_set_new(session, "user_namespace", json_string(namespace));
}

/* The sessions of one registry. */
static json_t *sessions_of(struct broker *b, unsigned *files)
{
	json_t *list = json_array();

	LOCKED(&b->lock);
	LIST_FOREACH (pos, &b->sessions)
		(void)json_array_append_new(list, view_session(CONTAINER_OF(pos, struct broker_session, node), files));
	return list;
}

static void add_registries(json_t *to, const struct view *v)
{
	json_t *registries = json_array(), *sessions = json_array();
	unsigned files = VIEW_FILES;

	for (unsigned n = 0; n < v->nbrokers; n++) {
		struct broker *b = &v->brokers[n];
		json_t *list = sessions_of(b, &files), *session;

		for (size_t i = 0; (session = json_array_get(list, i)) != NULL; i++)
			add_process(session);
		(void)json_array_append_new(registries,
			json_pack("{s:o, s:s, s:b, s:i}", "path", view_text(b->path), "claims",
				b->claims_of_peer ? "peer" : "any", "lost", (int)b->registry_lost, "sessions",
				(int)json_array_size(list)));
		(void)json_array_extend(sessions, list);
		json_decref(list);
	}
	(void)json_object_set_new(to, "registries", registries);
	(void)json_object_set_new(to, "sessions", sessions);
}

json_t *view_json(const struct view *v)
{
	struct export_table *t = export_store_get(v->exports);
	json_t *all = json_object();

	(void)json_object_set_new(all, "version", json_string(LOCALIOFS_VERSION));
	set_number(all, "pid", getpid());
	set_number(all, "started", v->started);
	add_server(all, v, t);
	view_add_exports(all, t);
	add_probes(all, v);
	add_registries(all, v);
	add_opens(all, v);
	view_add_requests(all, v);
	add_limits(all, v);
	(void)export_table_unref(t);
	return all;
}
