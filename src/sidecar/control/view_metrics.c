/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sidecar/control/view_metrics.h"

#include "sidecar/exports/export_table.h"
#include "sidecar/exports/server_kind.h"
#include "sidecar/notices/notices.h"

static int64_t value(atomic_uint_fast64_t *counter)
{
	return (int64_t)atomic_load_explicit(counter, memory_order_relaxed);
}

/* A sample with one label. */
static void labelled(struct metrics_text *m, const char *name, const char *word, int64_t number)
{
	metrics_value(m, &(struct metrics_label){name, word}, 1, number);
}

static void put_server(struct metrics_text *m, const struct view *v)
{
	struct export_table *t = export_store_get(v->exports);
	const struct metrics_label about[] = {{"version", LOCALIOFS_VERSION}, {"server", t->server->name}};
	int64_t refused = 0;

	for (size_t n = 0; n < t->nentries; n++)
		refused += t->entries[n].refusal.text != NULL;
	metrics_family(m, METRICS_INFO, "build", "", "The sidecar's version and the kind of NFS server");
	metrics_info(m, about, ARRAY_SIZE(about));
	metrics_family(m, METRICS_GAUGE, "started_timestamp", "seconds", "When the sidecar was started");
	metrics_value(m, NULL, 0, v->started);
	metrics_family(m, METRICS_GAUGE, "serving", "", "True if the NFS server serves");
	metrics_value(m, NULL, 0, server_kind_serves(t));
	metrics_family(m, METRICS_GAUGE, "probe_port", "", "The TCP port for probes, or 0 without one");
	metrics_value(m, NULL, 0, v->brokers[0].probeport);
	metrics_family(m, METRICS_GAUGE, "exports", "", "Exports of the NFS server");
	metrics_value(m, NULL, 0, (int64_t)t->nentries);
	metrics_family(m, METRICS_GAUGE, "exports_refused", "", "Exports that get no grants for any client");
	metrics_value(m, NULL, 0, refused);
	(void)export_table_unref(t);
}

/* By the registry's number: its path might name a tenant. */
static void put_registries(struct metrics_text *m, const struct view *v)
{
	char number[16];

	metrics_family(m, METRICS_GAUGE, "sessions", "", "Sessions of clients, by registry");
	for (unsigned n = 0; n < v->nbrokers; n++) {
		unsigned sessions;

		{
			LOCKED(&v->brokers[n].lock);
			sessions = v->brokers[n].nsessions;
		}
		(void)snprintf(number, sizeof(number), "%u", n);
		labelled(m, "registry", number, sessions);
	}
	metrics_family(m, METRICS_GAUGE, "registry_lost", "", "True if a client has destroyed the registry");
	for (unsigned n = 0; n < v->nbrokers; n++) {
		(void)snprintf(number, sizeof(number), "%u", n);
		labelled(m, "registry", number, v->brokers[n].registry_lost);
	}
}

static void put_held(struct metrics_text *m, const struct view *v)
{
	struct account_totals now;

	account_totals(v->account, &now);
	metrics_family(m, METRICS_GAUGE, "owner_sessions", "", "Sessions of root and of all other users");
	labelled(m, "owner", "root", now.sessions[1]);
	labelled(m, "owner", "others", now.sessions[0]);
	metrics_family(m, METRICS_GAUGE, "owner_ids", "", "Backing ids of root and of all other users");
	labelled(m, "owner", "root", now.ids[1]);
	labelled(m, "owner", "others", now.ids[0]);
}

static void put_counters(struct metrics_text *m, struct counters *c)
{
	metrics_family(m, METRICS_COUNTER, "sessions_accepted", "", "Sessions that have begun");
	metrics_value(m, NULL, 0, value(&c->sessions));
	metrics_family(m, METRICS_COUNTER, "probes", "", "Probes by result");
#define X(name, word) labelled(m, "result", word, value(&c->probes[COUNTERS_PROBE_##name]));
	COUNTERS_PROBES(X)
#undef X
	metrics_family(m, METRICS_COUNTER, "opens", "", "Requests for a file");
	metrics_value(m, NULL, 0, value(&c->opens));
	metrics_family(m, METRICS_COUNTER, "grants", "", "Files that were granted, by kind");
	labelled(m, "kind", "id", value(&c->ids));
	labelled(m, "kind", "descriptor", value(&c->descriptors));
	metrics_family(m, METRICS_COUNTER, "refusals", "",
		"Requests for a file or a session that were refused, by reason");
#define X(name, number, code, text) labelled(m, "reason", code, value(&c->refusals[number]));
	REASON_TABLE(X)
#undef X
	metrics_family(m, METRICS_COUNTER, "limits_reached", "", "How often a limit was reached");
#define X(name, word) labelled(m, "limit", word, value(&c->limits[COUNTERS_LIMIT_##name]));
	COUNTERS_LIMITS(X)
#undef X
}

static void put_requests(struct metrics_text *m, struct counters *c)
{
	static const char *const words[] = {
#define X(name, word) word,
		COUNTERS_ANSWERS(X)
#undef X
	};

	metrics_family(m, METRICS_COUNTER, "requests", "", "Requests on files and names, by answer");
	for (uint32_t type = 0; type < COUNTERS_TYPES; type++) {
		const char *request = view_request_name(type);

		for (size_t n = 0; request != NULL && n < ARRAY_SIZE(words); n++) {
			const struct metrics_label labels[] = {{"request", request}, {"answer", words[n]}};

			metrics_value(m, labels, ARRAY_SIZE(labels), value(&c->requests[type][n]));
		}
	}
	metrics_family(m, METRICS_COUNTER, "left_to_server", "", "Requests that only the NFS server can answer");
#define X(name, number, code, text) labelled(m, "reason", code, value(&c->left[number]));
	REASON_TABLE(X)
#undef X
}

static void put_notices(struct metrics_text *m, const struct view *v)
{
	struct notices_state now;

	notices_look(v->brokers[0].notices, &now);
	metrics_family(m, METRICS_GAUGE, "notices_watching", "", "True if the sidecar can watch filesystems");
	metrics_value(m, NULL, 0, now.watching);
	metrics_family(m, METRICS_GAUGE, "notices_sessions", "", "Sessions that asked for notices of changes");
	metrics_value(m, NULL, 0, now.sessions);
	metrics_family(m, METRICS_GAUGE, "notices_filesystems", "", "Filesystems that are watched");
	metrics_value(m, NULL, 0, now.filesystems);
	metrics_family(m, METRICS_GAUGE, "notices_objects", "", "Files and directories that sessions know");
	metrics_value(m, NULL, 0, (int64_t)now.objects);
	metrics_family(m, METRICS_COUNTER, "notices_events", "", "Changes that the kernel has told");
	metrics_value(m, NULL, 0, (int64_t)now.events);
	metrics_family(m, METRICS_COUNTER, "notices_overflows", "", "How often the kernel lost changes");
	metrics_value(m, NULL, 0, (int64_t)now.overflows);
	metrics_family(m, METRICS_COUNTER, "notices_sent", "", "Notices by kind");
#define X(name, word) labelled(m, "kind", word, value(&v->counters->notices[COUNTERS_NOTICE_##name]));
	COUNTERS_NOTICES(X)
#undef X
}

static void on_scrape(struct metrics_text *m, void *arg)
{
	const struct view *v = arg;

	put_server(m, v);
	put_registries(m, v);
	put_held(m, v);
	put_counters(m, v->counters);
	put_requests(m, v->counters);
	put_notices(m, v);
}

int view_metrics_start(const char *path, struct view *v, struct exporter **ret, char *sentence, size_t size)
{
	const struct exporter_options options = {.path = path,
		.prefix = "localiofs_sidecar",
		.on_scrape = on_scrape,
		.arg = v};

	return exporter_start(&options, ret, sentence, size);
}
