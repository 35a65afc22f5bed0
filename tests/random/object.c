/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "object.h"

#include <fcntl.h>

#include "base/util.h"

#define BUCKETS 1024

struct objects {
	struct object *buckets[BUCKETS];
};

struct objects *objects_new(void)
{
	struct objects *os = calloc(1, sizeof(*os));

	if (!os)
		abort();
	return os;
}

static void free_object(struct object *o)
{
	(void)close_fd(o->silly_dir_fd);
	free(o);
}

struct objects *objects_free(struct objects *os)
{
	for (size_t n = 0; os && n < BUCKETS; n++)
		while (os->buckets[n]) {
			struct object *o = os->buckets[n];

			os->buckets[n] = o->next;
			free_object(o);
		}
	free(os);
	return NULL;
}

struct object *objects_find(struct objects *os, struct key key)
{
	for (struct object *o = os->buckets[key.ino % BUCKETS]; o; o = o->next)
		if (key_equal(o->key, key))
			return o;
	return NULL;
}

struct object *objects_get(struct objects *os, struct key key)
{
	struct object *o = objects_find(os, key);

	if (o)
		return o;
	o = calloc(1, sizeof(*o));
	if (!o)
		abort();
	o->key = key;
	o->silly_dir_fd = -1;
	o->next = os->buckets[key.ino % BUCKETS];
	os->buckets[key.ino % BUCKETS] = o;
	return o;
}

bool objects_silly_in(struct objects *os, struct key dir)
{
	for (size_t n = 0; n < BUCKETS; n++)
		for (const struct object *o = os->buckets[n]; o; o = o->next)
			if (o->silly && key_equal(o->silly_dir, dir))
				return true;
	return false;
}

void objects_each(struct objects *os, void (*fn)(void *arg, struct object *o), void *arg)
{
	for (size_t n = 0; n < BUCKETS; n++)
		for (struct object *o = os->buckets[n]; o; o = o->next)
			fn(arg, o);
}

void objects_sweep(struct objects *os, unsigned mark)
{
	for (size_t n = 0; n < BUCKETS; n++)
		for (struct object **at = &os->buckets[n]; *at;) {
			struct object *o = *at;

			if (o->mark == mark || o->refs > 0 || o->silly) {
				at = &o->next;
				continue;
			}
			*at = o->next;
			free_object(o);
		}
}

void object_loosen(struct object *o, enum difference why)
{
	o->times_loose = true;
	o->loose_why = why;
}

void object_synced(struct object *o)
{
	o->map_dirty = false;
	object_loosen(o, DIFFERENCE_MAP_TIMES);
}

struct key key_of(const struct statx *stx)
{
	return (struct key){.ino = stx->stx_ino,
		.birth = stx->stx_btime.tv_sec * 1000000000LL + stx->stx_btime.tv_nsec};
}

struct key key_of_fd(int fd)
{
	struct statx stx;

	if (fd < 0 || statx(fd, "", AT_EMPTY_PATH, STATX_BASIC_STATS | STATX_BTIME, &stx) < 0)
		return (struct key){0};
	return key_of(&stx);
}
