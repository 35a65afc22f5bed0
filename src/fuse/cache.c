/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "fuse/cache.h"

#include <string.h>
#include <sys/random.h>

#include "util.h"

struct answer {
	struct list used; /* the least recently used one is first */
	struct answer *next;
	uint16_t key_size, value_size;
	uint8_t bytes[]; /* the key and the value */
};

struct cache {
	pthread_mutex_t lock;
	struct list used;
	size_t count, max;
	size_t nbuckets; /* a power of two */
	uint64_t seed;   /* names and handles come from elsewhere: they must not choose the buckets */
	struct answer *buckets[];
};

int cache_new(size_t max, struct cache **ret)
{
	struct cache *c;
	size_t n = 1;

	while (n < max)
		n *= 2;
	c = calloc(1, sizeof(*c) + n * sizeof(c->buckets[0]));
	if (!c)
		return -ENOMEM;
	c->nbuckets = n;
	c->max = max;
	list_init(&c->used);
	(void)getrandom(&c->seed, sizeof(c->seed), 0);
	(void)pthread_mutex_init(&c->lock, NULL);
	*ret = c;
	return 0;
}

struct cache *cache_free(struct cache *c)
{
	if (!c)
		return NULL;
	LIST_FOREACH(pos, &c->used)
	{
		free(CONTAINER_OF(pos, struct answer, used));
	}
	(void)pthread_mutex_destroy(&c->lock);
	free(c);
	return NULL;
}

/* The pointer that leads to the answer, or to the end of the chain where it would be. */
static struct answer **find(struct cache *c, const void *key, size_t key_size)
{
	struct answer **p = &c->buckets[hash_bytes(c->seed, key, key_size) & (c->nbuckets - 1)];

	while (*p && ((*p)->key_size != key_size || memcmp((*p)->bytes, key, key_size) != 0))
		p = &(*p)->next;
	return p;
}

static void drop(struct cache *c, struct answer **p)
{
	struct answer *a = *p;

	if (!a)
		return;
	*p = a->next;
	list_remove(&a->used);
	free(a);
	c->count--;
}

void cache_put(struct cache *c, const void *key, size_t key_size, const void *value, size_t value_size)
{
	struct answer *a = malloc(sizeof(*a) + key_size + value_size), **p;

	LOCKED(&c->lock);
	drop(c, find(c, key, key_size));
	if (!a)
		return;
	if (c->count == c->max) {
		const struct answer *oldest = CONTAINER_OF(c->used.next, struct answer, used);

		drop(c, find(c, oldest->bytes, oldest->key_size));
	}
	a->key_size = (uint16_t)key_size;
	a->value_size = (uint16_t)value_size;
	memcpy(a->bytes, key, key_size);
	memcpy(a->bytes + key_size, value, value_size);
	p = find(c, key, key_size);
	a->next = *p;
	*p = a;
	list_append(&c->used, &a->used);
	c->count++;
}

bool cache_get(struct cache *c, const void *key, size_t key_size, void *ret, size_t value_size)
{
	LOCKED(&c->lock);
	struct answer *a = *find(c, key, key_size);

	if (!a || a->value_size != value_size)
		return false;
	list_remove(&a->used);
	list_append(&c->used, &a->used);
	memcpy(ret, a->bytes + key_size, value_size);
	return true;
}

void cache_drop(struct cache *c, const void *key, size_t key_size)
{
	LOCKED(&c->lock);
	drop(c, find(c, key, key_size));
}
