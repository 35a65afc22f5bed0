/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sidecar/control/view.h"

#include "sidecar/notices/notices.h"
#include "wire/broker_messages.h"

static json_int_t value(atomic_uint_fast64_t *counter)
{
	return (json_int_t)atomic_load_explicit(counter, memory_order_relaxed);
}

const char *view_request_name(uint32_t type)
{
	const struct broker_message *m = broker_message_find(type);

	return m != NULL && m->states == SESSION_READY ? m->name : NULL;
}

/* The requests of a type by their answers; NULL if there was none. */
static json_t *answers(struct counters *c, uint32_t type)
{
	static const char *const words[] = {
#define X(name, word) word,
		COUNTERS_ANSWERS(X)
#undef X
	};
	json_t *json = json_object();
	json_int_t all = 0;

	for (size_t n = 0; n < ARRAY_SIZE(words); n++) {
		(void)json_object_set_new(json, words[n], json_integer(value(&c->requests[type][n])));
		all += value(&c->requests[type][n]);
	}
	if (all > 0)
		return json;
	json_decref(json);
	return NULL;
}

static void add_requests(json_t *to, struct counters *c)
{
	json_t *requests = json_object(), *left = json_object(), *of;

	for (uint32_t type = 0; type < COUNTERS_TYPES; type++) {
		of = view_request_name(type) != NULL ? answers(c, type) : NULL;
		if (of != NULL)
			(void)json_object_set_new(requests, view_request_name(type), of);
	}
	for (unsigned n = 0; n < COUNTERS_REASONS; n++)
		if (value(&c->left[n]) > 0)
			(void)json_object_set_new(left, reason_code(n), json_integer(value(&c->left[n])));
	(void)json_object_set_new(to, "requests", requests);
	(void)json_object_set_new(to, "left_to_server", left);
}

static void add_notices(json_t *to, const struct view *v)
{
	static const char *const words[] = {
#define X(name, word) [COUNTERS_NOTICE_##name] = word,
		COUNTERS_NOTICES(X)
#undef X
	};
	json_t *sent = json_object();
	struct notices_state now;

	notices_look(v->brokers[0].notices, &now);
	for (size_t n = 0; n < ARRAY_SIZE(words); n++)
		if (words[n] != NULL)
			(void)json_object_set_new(sent, words[n], json_integer(value(&v->counters->notices[n])));
	(void)json_object_set_new(to, "notices",
		json_pack("{s:b, s:i, s:i, s:I, s:I, s:I, s:o}", "watching", (int)now.watching, "sessions",
			(int)now.sessions, "filesystems", (int)now.filesystems, "objects", (json_int_t)now.objects,
			"events", (json_int_t)now.events, "overflows", (json_int_t)now.overflows, "sent", sent));
}

void view_add_requests(json_t *to, const struct view *v)
{
	add_requests(to, v->counters);
	add_notices(to, v);
}
