/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sidecar/session/backing_table.h"

static struct backing *find(const struct backing_table *t, int32_t id)
{
	const struct list *bucket = &t->buckets[(uint32_t)id % BACKING_BUCKETS];

	LIST_FOREACH (pos, bucket) {
		struct backing *b = CONTAINER_OF(pos, struct backing, node);

		if (b->id == id)
			return b;
	}
	return NULL;
}

static void drop(struct backing_table *t, struct backing *b)
{
	list_remove(&b->node);
	(void)close_fd(b->fd);
	(void)export_mount_unref(b->mount);
	free(b);
	t->count--;
}

void backing_table_init(struct backing_table *t)
{
	for (size_t i = 0; i < BACKING_BUCKETS; i++)
		list_init(&t->buckets[i]);
	t->count = 0;
}

void backing_table_done(struct backing_table *t)
{
	for (size_t i = 0; i < BACKING_BUCKETS; i++)
		LIST_FOREACH (pos, &t->buckets[i])
			drop(t, CONTAINER_OF(pos, struct backing, node));
}

int backing_table_add(struct backing_table *t, const struct backing *what)
{
	struct backing *b = malloc(sizeof(*b)), *old = find(t, what->id);

	if (b == NULL)
		return -ENOMEM;
	if (old != NULL)
		drop(t, old);
	*b = *what;
	(void)export_mount_ref(b->mount);
	list_append(&t->buckets[(uint32_t)b->id % BACKING_BUCKETS], &b->node);
	t->count++;
	return 0;
}

const struct backing *backing_table_find(const struct backing_table *t, int32_t id)
{
	return find(t, id);
}

void backing_table_withdraw(struct backing_table *t)
{
	for (size_t i = 0; i < BACKING_BUCKETS; i++)
		LIST_FOREACH (pos, &t->buckets[i])
			CONTAINER_OF(pos, struct backing, node)->writable = false;
}

int backing_table_remove(struct backing_table *t, int32_t id)
{
	struct backing *b = find(t, id);

	if (b == NULL)
		return -ENOENT;
	drop(t, b);
	return 0;
}
