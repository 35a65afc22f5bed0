/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "fuse/known/cache.h"

#include <string.h>
#include <sys/random.h>

#include "base/util.h"

#define PARTS    16 /* of a large cache, so that threads seldom meet */
#define PART_MIN 1024

struct answer {
	struct list used; /* the least recently used one is first */
	struct answer *next;
	uint16_t key_size, value_size;
	uint8_t bytes[]; /* the key and the value */
};

struct part {
	pthread_mutex_t lock;
	struct list used;
	size_t count, max;
	size_t nbuckets; /* a power of two */
	struct answer **buckets;
};

struct cache {
	uint64_t seed; /* names and handles come from elsewhere: they must not choose the buckets */
	size_t nparts; /* a power of two */
	struct part parts[];
};

static int init_part(struct part *t, size_t max)
{
	size_t n = 1;

	while (n < max)
		n *= 2;
	list_init(&t->used);
	(void)pthread_mutex_init(&t->lock, NULL);
	t->max = max;
	t->nbuckets = n;
	t->buckets = calloc(n, sizeof(struct answer *));
	return t->buckets ? 0 : -ENOMEM;
}

int cache_new(size_t max, struct cache **ret)
{
	size_t nparts = max >= PARTS * PART_MIN ? PARTS : 1;
	struct cache *c = calloc(1, sizeof(*c) + nparts * sizeof(c->parts[0]));
	int r = 0;

	if (!c)
		return -ENOMEM;
	(void)!getrandom(&c->seed, sizeof(c->seed), 0);
	for (; c->nparts < nparts && r == 0; c->nparts++)
		r = init_part(&c->parts[c->nparts], max / nparts);
	if (r < 0)
		c = cache_free(c);
	*ret = c;
	return r;
}

struct cache *cache_free(struct cache *c)
{
	for (size_t n = 0; c && n < c->nparts; n++) {
		struct part *t = &c->parts[n];

		LIST_FOREACH (pos, &t->used) {
			free(CONTAINER_OF(pos, struct answer, used));
		}
		(void)pthread_mutex_destroy(&t->lock);
		free(t->buckets);
	}
	free(c);
	return NULL;
}

static uint64_t hash(const struct cache *c, const void *key, size_t key_size)
{
	return hash_bytes(c->seed, key, key_size);
}

static struct part *part_of(struct cache *c, uint64_t h)
{
	return &c->parts[h & (c->nparts - 1)];
}

/* The pointer that leads to the answer, or to the end of the chain where it would be. */
static struct answer **find(struct part *t, uint64_t h, const void *key, size_t key_size)
{
	struct answer **p = &t->buckets[h / PARTS & (t->nbuckets - 1)];

	while (*p && ((*p)->key_size != key_size || memcmp((*p)->bytes, key, key_size) != 0))
		p = &(*p)->next;
	return p;
}

static void drop(struct part *t, struct answer **p)
{
	struct answer *a = *p;

	if (!a)
		return;
	*p = a->next;
	list_remove(&a->used);
	free(a);
	t->count--;
}

void cache_put(struct cache *c, const void *key, size_t key_size, const void *value, size_t value_size)
{
	struct answer *a = malloc(sizeof(*a) + key_size + value_size), **p;
	uint64_t h = hash(c, key, key_size);
	struct part *t = part_of(c, h);

	LOCKED(&t->lock);
	drop(t, find(t, h, key, key_size));
	if (!a)
		return;
	if (t->count == t->max) {
		const struct answer *oldest = CONTAINER_OF(t->used.next, struct answer, used);

		drop(t, find(t, hash(c, oldest->bytes, oldest->key_size), oldest->bytes, oldest->key_size));
	}
	a->key_size = (uint16_t)key_size;
	a->value_size = (uint16_t)value_size;
	memcpy(a->bytes, key, key_size);
	memcpy(a->bytes + key_size, value, value_size);
	p = find(t, h, key, key_size);
	a->next = *p;
	*p = a;
	list_append(&t->used, &a->used);
	t->count++;
}

bool cache_get(struct cache *c, const void *key, size_t key_size, void *ret, size_t value_size)
{
	uint64_t h = hash(c, key, key_size);
	struct part *t = part_of(c, h);

	LOCKED(&t->lock);
	struct answer *a = *find(t, h, key, key_size);

	if (!a || a->value_size != value_size)
		return false;
	list_remove(&a->used);
	list_append(&t->used, &a->used);
	memcpy(ret, a->bytes + key_size, value_size);
	return true;
}

void cache_drop(struct cache *c, const void *key, size_t key_size)
{
	uint64_t h = hash(c, key, key_size);
	struct part *t = part_of(c, h);

	LOCKED(&t->lock);
	drop(t, find(t, h, key, key_size));
}
