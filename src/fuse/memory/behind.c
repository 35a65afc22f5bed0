/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "fuse/memory/behind.h"

#include "base/clock.h"
#include "table/keyed_hash.h"

static bool has_handle(const struct hash_node *node, const void *key)
{
	return nfs_fh_equal(&CONTAINER_OF(node, const struct behind, node)->fh, key);
}

struct behind *behind_find_any(const struct memory *m, const struct nfs_fh *fh)
{
	struct hash_node *node = hash_table_find(&m->behind, keyed_hash(fh->data, fh->len), has_handle, fh);

	return node ? CONTAINER_OF(node, struct behind, node) : NULL;
}

struct behind *behind_find(const struct memory *m, const struct nfs_fh *fh)
{
	struct behind *b = behind_find_any(m, fh);

	return b && !b->recent ? b : NULL;
}

bool behind_wait(struct memory *m, struct behind *b, uint64_t due)
{
	struct list *before = m->idle.prev;

	b->due = due;
	while (before != &m->idle && CONTAINER_OF(before, struct behind, order)->due > due)
		before = before->prev;
	list_append(before->next, &b->order);
	return before == &m->idle;
}

static void drop(struct memory *m, struct behind *b)
{
	hash_table_remove(&m->behind, &b->node);
	list_remove(&b->order);
	free(b);
}

bool behind_begin(struct memory *m, struct behind *b, unsigned within_ms)
{
	if (b->recent) {
		list_remove(&b->order);
		m->nrecent--;
		b->recent = false;
		within_ms = MEMORY_TICK_MS; /* since the last look at least as much */
	}
	m->count++;
	return behind_wait(m, b, work_ms() + within_ms);
}

struct behind *behind_add(struct memory *m, const struct nfs_fh *fh)
{
	struct behind *b = calloc(1, sizeof(*b));

	if (!b)
		return NULL;
	b->fh = *fh;
	list_init(&b->order);
	list_init(&b->waiters);
	hash_table_insert(&m->behind, &b->node, keyed_hash(fh->data, fh->len));
	return b;
}

static void count_down(struct memory *m)
{
	m->count--;
	if (m->count == 0)
		(void)pthread_cond_broadcast(&m->emptied);
}

void behind_forget(struct memory *m, struct behind *b)
{
	drop(m, b);
	count_down(m);
}

void behind_caught_up(struct memory *m, struct behind *b)
{
	b->recent = true;
	b->looked = attr_clock_tick();
	list_append(&m->recent, &b->order);
	m->nrecent++;
	if (m->nrecent > MEMORY_RECENT_MAX) {
		struct behind *oldest = CONTAINER_OF(m->recent.next, struct behind, order);

		m->horizon = oldest->looked;
		m->nrecent--;
		drop(m, oldest);
	}
	count_down(m);
}

static void free_node(void *arg, struct hash_node *node)
{
	free(CONTAINER_OF(node, struct behind, node));
}

void behind_free_all(struct memory *m)
{
	hash_table_foreach(&m->behind, free_node, NULL);
}
