/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "fuse/writes/data_write.h"

#include <string.h>

static struct {
	pthread_mutex_t lock;
	struct list free; /* struct data_write.kept, of full size */
} pool = {PTHREAD_MUTEX_INITIALIZER, {&pool.free, &pool.free}};

static struct data_write *take_free(void)
{
	struct list *last;

	LOCKED(&pool.lock);
	if (list_empty(&pool.free))
		return NULL;
	last = pool.free.prev; /* the processor's caches may still have it */
	list_remove(last);
	return CONTAINER_OF(last, struct data_write, kept);
}

struct data_write *data_write_new(size_t size)
{
	bool full_size = size > DATA_WRITE_MAX / 2 && size <= DATA_WRITE_MAX;
	struct data_write *w = full_size ? take_free() : NULL;

	if (!w)
		w = malloc(sizeof(*w) + (full_size ? DATA_WRITE_MAX : size));
	if (!w)
		return NULL;
	memset(w, 0, sizeof(*w));
	list_init(&w->kept);
	w->full_size = full_size;
	return w;
}

struct data_write *data_write_free(struct data_write *w)
{
	if (w && w->full_size) {
		LOCKED(&pool.lock);
		list_append(&pool.free, &w->kept);
	} else {
		free(w);
	}
	return NULL;
}

void data_write_trim(void)
{
	struct list unused;

	list_init(&unused);
	{
		LOCKED(&pool.lock);
		list_splice(&unused, &pool.free);
	}
	LIST_FOREACH (pos, &unused) {
		free(CONTAINER_OF(pos, struct data_write, kept));
	}
}
