/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "fuse/known/cache.h"

#include <string.h>

#include "table/hash_table.h"
#include "table/keyed_hash.h"
#include "base/list.h"
#include "base/util.h"

#define PARTS    16   /* of a large cache, so that threads seldom wait for the same lock */
#define PART_MIN 1024 /* answers per part */

struct answer {
	struct list used; /* in struct part.used */
	struct hash_node by_key;
	uint16_t key_size, value_size;
	uint8_t bytes[]; /* the key and the value */
};

struct part {
	pthread_mutex_t lock;
	struct list used; /* of struct answer.used; the least recently used answer is first */
	struct hash_table by_key;
	size_t max; /* answers */
};

struct cache {
	size_t nparts; /* a power of two */
	struct part parts[];
};

static int init_part(struct part *t, size_t max)
{
	list_init(&t->used);
	(void)pthread_mutex_init(&t->lock, NULL);
	t->max = max;
	hash_table_init(&t->by_key);
	return hash_table_reserve(&t->by_key, max);
}

int cache_new(size_t max, struct cache **ret)
{
	size_t nparts = max >= PARTS * PART_MIN ? PARTS : 1;
	struct cache *c = calloc(1, sizeof(*c) + nparts * sizeof(c->parts[0]));
	int r = 0;

	if (!c)
		return -ENOMEM;
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
		hash_table_done(&t->by_key);
	}
	free(c);
	return NULL;
}

/* The highest bits choose the part, because the hash table of the part uses the lowest ones. */
static struct part *part_of(struct cache *c, uint64_t hash)
{
	return &c->parts[hash / (UINT64_MAX / PARTS + 1) & (c->nparts - 1)];
}

struct key {
	const void *bytes;
	size_t size;
};

static bool has_key(const struct hash_node *node, const void *arg)
{
	const struct answer *a = CONTAINER_OF(node, struct answer, by_key);
	const struct key *key = arg;

	return a->key_size == key->size && memcmp(a->bytes, key->bytes, key->size) == 0;
}

/* The answer, or NULL. The caller holds the lock of the part. */
static struct answer *find(struct part *t, uint64_t hash, const void *key, size_t key_size)
{
	struct hash_node *node = hash_table_find(&t->by_key, hash, has_key, &(struct key){key, key_size});

	return node ? CONTAINER_OF(node, struct answer, by_key) : NULL;
}

/* Takes NULL. The caller holds the lock of the part. */
static void drop(struct part *t, struct answer *a)
{
	if (!a)
		return;
	hash_table_remove(&t->by_key, &a->by_key);
	list_remove(&a->used);
	free(a);
}

void cache_put(struct cache *c, const void *key, size_t key_size, const void *value, size_t value_size)
{
	struct answer *a = malloc(sizeof(*a) + key_size + value_size);
	uint64_t hash = keyed_hash(key, key_size);
	struct part *t = part_of(c, hash);

	LOCKED(&t->lock);
	drop(t, find(t, hash, key, key_size));
	if (!a)
		return;
	if (t->by_key.count == t->max)
		drop(t, CONTAINER_OF(t->used.next, struct answer, used));
	a->key_size = (uint16_t)key_size;
	a->value_size = (uint16_t)value_size;
	memcpy(a->bytes, key, key_size);
	memcpy(a->bytes + key_size, value, value_size);
	hash_table_insert(&t->by_key, &a->by_key, hash);
	list_append(&t->used, &a->used);
}

bool cache_get(struct cache *c, const void *key, size_t key_size, void *ret, size_t value_size)
{
	uint64_t hash = keyed_hash(key, key_size);
	struct part *t = part_of(c, hash);

	LOCKED(&t->lock);
	struct answer *a = find(t, hash, key, key_size);

	if (!a || a->value_size != value_size)
		return false;
	list_remove(&a->used);
	list_append(&t->used, &a->used);
	memcpy(ret, a->bytes + key_size, value_size);
	return true;
}

void cache_drop(struct cache *c, const void *key, size_t key_size)
{
	uint64_t hash = keyed_hash(key, key_size);
	struct part *t = part_of(c, hash);

	LOCKED(&t->lock);
	drop(t, find(t, hash, key, key_size));
}
