/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "fuse/control/status.h"

#include <inttypes.h>
#include <string.h>

#include <jansson.h>

#include "fuse/known/known.h"
#include "fuse/lease/lease.h"
#include "fuse/operations/operations.h"
#include "localiofs/status_keys.h"

static json_t *json_of_CODE(const char *code)
{
	return json_string(code);
}

/* Text from outside may not be UTF-8, but JSON must be. Then all bytes that are not ASCII become '?'. */
static json_t *json_of_TEXT(const char *text)
{
	json_t *json = json_string(text);
	char copy[1024];
	size_t n = 0;

	if (json)
		return json;
	for (; text[n] != '\0' && n + 1 < sizeof(copy); n++)
		copy[n] = (unsigned char)text[n] < 0x80 ? text[n] : '?';
	copy[n] = '\0';
	return json_string(copy);
}

static json_t *json_of_FLAG(bool flag)
{
	return json_boolean(flag);
}

static json_t *json_of_NUMBER(int64_t number)
{
	return json_integer(number);
}

static json_t *json_of_COUNTER(uint64_t number)
{
	return json_integer((json_int_t)number);
}

static json_t *json_of_TIME(int64_t seconds)
{
	return json_integer(seconds);
}

static json_t *json_of_TREE(json_t *tree)
{
	return tree;
}

/* Puts a value at a path of at most two words into the tree; takes the value. */
static void put(json_t *root, const char *path, json_t *value)
{
	const char *dot = strchr(path, '.');
	char group[32];
	json_t *object;

	if (!dot) {
		(void)json_object_set_new(root, path, value);
		return;
	}
	(void)snprintf(group, sizeof(group), "%.*s", (int)(dot - path), path);
	object = json_object_get(root, group);
	if (!object) {
		object = json_object();
		(void)json_object_set_new(root, group, object);
	}
	(void)json_object_set_new(object, dot + 1, value);
}

static json_t *connections_json(const struct server_stats *stats)
{
	json_t *all = json_array();

	for (unsigned n = 0; n < stats->nconnections; n++) {
		const struct connection_stats *c = &stats->connections[n];
		json_t *one = json_object();

#define X(key, type, unit, value, meaning) put(one, key, json_of_##type(value));
		STATUS_CONNECTION_KEYS(X)
#undef X
		(void)json_array_append_new(all, one);
	}
	return all;
}

/* Procedures that were never called are left out. */
static json_t *calls_json(const struct server_stats *stats, const uint64_t *numbers, uint64_t divisor)
{
	json_t *calls = json_object();

	for (int n = 0; n < NFS_PROC_COUNT; n++)
		if (stats->calls[n] > 0)
			(void)json_object_set_new(calls, nfs_proc_name((enum nfs_proc)n),
				json_integer((json_int_t)(numbers[n] / divisor)));
	return calls;
}

/* The buckets that are not empty, each by its upper bound in microseconds. */
static json_t *latency_json(const struct histogram_counts *c)
{
	json_t *buckets = json_object();
	char bound[24];

	for (unsigned n = 0; n < HISTOGRAM_BUCKETS; n++) {
		if (c->counts[n] == 0)
			continue;
		if (n < HISTOGRAM_BOUNDS)
			(void)snprintf(bound, sizeof(bound), "%" PRIu64, histogram_bound_us(n));
		else
			(void)snprintf(bound, sizeof(bound), "more");
		(void)json_object_set_new(buckets, bound, json_integer((json_int_t)c->counts[n]));
	}
	return buckets;
}

static json_t *operation_json(const struct operation_counts *c, bool with_latency)
{
	json_t *one = json_object();

	(void)json_object_set_new(one, "count", json_integer((json_int_t)c->count));
	(void)json_object_set_new(one, "errors", json_integer((json_int_t)c->errors));
	(void)json_object_set_new(one, "bytes", json_integer((json_int_t)c->bytes));
	(void)json_object_set_new(one, "microseconds", json_integer((json_int_t)(c->latency.ns / 1000)));
	if (with_latency)
		(void)json_object_set_new(one, "latency", latency_json(&c->latency));
	return one;
}

/* By operation and path. Those that never happened are left out. */
static json_t *operations_json(const struct status_view *v)
{
	json_t *all = json_object();

	for (unsigned kind = 0; kind < OPERATION_COUNT; kind++) {
		json_t *paths = json_object();

		for (unsigned path = 0; path < OPERATION_PATHS; path++) {
			struct operation_counts c = {0};

			operations_read(v->fs->operations, kind, path, &c);
			if (c.count > 0)
				(void)json_object_set_new(paths, operation_path_name(path),
					operation_json(&c, v->with_latency));
		}
		if (json_object_size(paths) > 0)
			(void)json_object_set(all, operation_name(kind), paths);
		json_decref(paths);
	}
	return all;
}

char *status_text(const struct status_view *v)
{
	json_t *root = json_object();
	char *text;

#define X(key, type, unit, value, meaning) put(root, key, json_of_##type(value));
	STATUS_KEYS(X)
#undef X
	text = json_dumps(root, JSON_COMPACT);
	json_decref(root);
	return text;
}
