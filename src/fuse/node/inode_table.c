/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "fuse/node/inode_table.h"

#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>

#define FIRST_BUCKETS 1024

struct inode_table {
	pthread_mutex_t lock;
	struct list all; /* retired ones too */
	struct inode **buckets;
	size_t nbuckets; /* a power of two */
	size_t count;    /* hashed */
	atomic_size_t total;
	uint64_t next_generation;
	uint64_t seed; /* handles come from the server: it must not choose the buckets */
	void (*on_free)(void *arg, struct inode *i);
	void *arg;
};

/* What an inode is found by. */
struct inode_key {
	const struct nfs_fh *fh;
	bool decoy;
	uint32_t decoy_uid; /* 0 of all others */
};

static struct inode_key key_of(const struct inode *i)
{
	return (struct inode_key){.fh = &i->fh, .decoy = i->decoy, .decoy_uid = i->decoy_uid};
}

static struct inode **bucket(const struct inode_table *t, struct inode_key key)
{
	uint64_t seed = t->seed + (key.decoy ? UINT64_C(1) + key.decoy_uid : 0);

	return &t->buckets[hash_bytes(seed, key.fh->data, key.fh->len) & (t->nbuckets - 1)];
}

int inode_table_new(struct inode_table **ret)
{
	struct inode_table *t = calloc(1, sizeof(*t));

	if (!t)
		return -ENOMEM;
	t->nbuckets = FIRST_BUCKETS;
	t->buckets = calloc(t->nbuckets, sizeof(*t->buckets));
	if (!t->buckets) {
		free(t);
		return -ENOMEM;
	}
	list_init(&t->all);
	(void)!getrandom(&t->seed, sizeof(t->seed), 0);
	(void)pthread_mutex_init(&t->lock, NULL);
	*ret = t;
	return 0;
}

/* A table that cannot grow works on with longer chains. */
static void grow(struct inode_table *t)
{
	struct inode **old = t->buckets;
	size_t n = t->nbuckets;

	if (t->count < n)
		return;
	t->buckets = calloc(n * 2, sizeof(*t->buckets));
	if (!t->buckets) {
		t->buckets = old;
		return;
	}
	t->nbuckets = n * 2;
	for (size_t b = 0; b < n; b++)
		for (struct inode *i = old[b], *next; i; i = next) {
			struct inode **head = bucket(t, key_of(i));

			next = i->hash_next;
			i->hash_next = *head;
			*head = i;
		}
	free(old);
}

static void unhash(struct inode_table *t, struct inode *i)
{
	if (!i->hashed)
		return;
	for (struct inode **p = bucket(t, key_of(i)); *p; p = &(*p)->hash_next)
		if (*p == i) {
			*p = i->hash_next;
			break;
		}
	i->hashed = false;
	t->count--;
}

static void free_inode(struct inode_table *t, struct inode *i)
{
	if (t->on_free)
		t->on_free(t->arg, i);
	LIST_FOREACH (pos, &i->opened) {
		struct opened *o = CONTAINER_OF(pos, struct opened, node);

		o->free(o);
	}
	write_log_done(&i->writes);
	free(i->silly);
	(void)pthread_mutex_destroy(&i->lock);
	free(i);
	t->total--;
}

struct inode_table *inode_table_free(struct inode_table *t)
{
	if (!t)
		return NULL;
	LIST_FOREACH (pos, &t->all) {
		free_inode(t, CONTAINER_OF(pos, struct inode, all));
	}
	(void)pthread_mutex_destroy(&t->lock);
	free(t->buckets);
	free(t);
	return NULL;
}

static struct inode *find_locked(struct inode_table *t, struct inode_key key)
{
	for (struct inode *i = *bucket(t, key); i; i = i->hash_next)
		if (i->decoy == key.decoy && i->decoy_uid == key.decoy_uid && nfs_fh_equal(&i->fh, key.fh))
			return i;
	return NULL;
}

struct inode *inode_table_find(struct inode_table *t, const struct nfs_fh *fh)
{
	LOCKED(&t->lock);
	struct inode *i = find_locked(t, (struct inode_key){.fh = fh});

	return i ? inode_ref(i) : NULL;
}

static int get(struct inode_table *t, struct inode_key key, const struct nfs_attr *attr, struct inode **ret)
{
	LOCKED(&t->lock);
	struct inode *i = find_locked(t, key), **head;

	if (i && i->fileid == attr->fileid && i->type == (attr->mode & S_IFMT)) {
		*ret = inode_ref(i);
		return 0;
	}
	if (i)
		unhash(t, i);
	i = calloc(1, sizeof(*i));
	if (!i)
		return -ENOMEM;
	grow(t);
	i->fh = *key.fh;
	i->decoy = key.decoy;
	i->decoy_uid = key.decoy_uid;
	i->fileid = attr->fileid;
	i->type = attr->mode & S_IFMT;
	i->generation = ++t->next_generation;
	i->refs = 1;
	(void)pthread_mutex_init(&i->lock, NULL);
	write_log_init(&i->writes);
	list_init(&i->idle);
	list_init(&i->granted_node);
	write_behind_init(&i->behind);
	list_init(&i->appends);
	list_init(&i->opened);
	list_init(&i->held);
	head = bucket(t, key);
	i->hash_next = *head;
	*head = i;
	i->hashed = true;
	list_append(&t->all, &i->all);
	t->count++;
	t->total++;
	*ret = i;
	return 0;
}

int inode_table_get(struct inode_table *t, const struct nfs_fh *fh, const struct nfs_attr *attr, struct inode **ret)
{
	return get(t, (struct inode_key){.fh = fh}, attr, ret);
}

int inode_table_get_decoy(struct inode_table *t, const struct nfs_fh *fh, const struct nfs_attr *attr, uint32_t uid,
	struct inode **ret)
{
	return get(t, (struct inode_key){.fh = fh, .decoy = true, .decoy_uid = uid}, attr, ret);
}

void inode_table_looked_up(struct inode_table *t, struct inode *i)
{
	LOCKED(&t->lock);
	/* The kernel's lookups together hold one reference. */
	if (i->lookups++ == 0)
		(void)inode_ref(i);
}

void inode_table_forget(struct inode_table *t, struct inode *i, uint64_t n)
{
	bool last;

	{
		LOCKED(&t->lock);
		last = i->lookups > 0 && n >= i->lookups;
		i->lookups = last ? 0 : i->lookups - MIN(n, i->lookups);
	}
	if (last)
		(void)inode_unref(t, i);
}

void inode_table_retire(struct inode_table *t, struct inode *i)
{
	LOCKED(&t->lock);
	unhash(t, i);
}

struct inode *inode_ref(struct inode *i)
{
	(void)atomic_fetch_add(&i->refs, 1);
	return i;
}

bool inode_ref_unless_freed(struct inode *i)
{
	unsigned refs = i->refs;

	while (refs > 0)
		if (atomic_compare_exchange_weak(&i->refs, &refs, refs + 1))
			return true;
	return false;
}

struct inode *inode_unref(struct inode_table *t, struct inode *i)
{
	unsigned refs;

	if (!i)
		return NULL;
	refs = i->refs;
	while (refs > 1)
		if (atomic_compare_exchange_weak(&i->refs, &refs, refs - 1))
			return NULL;
	{
		/* The last one, unless somebody found the inode through the hash meanwhile. */
		LOCKED(&t->lock);
		if (atomic_fetch_sub(&i->refs, 1) > 1)
			return NULL;
		unhash(t, i);
		list_remove(&i->all);
	}
	free_inode(t, i);
	return NULL;
}

void inode_table_foreach(struct inode_table *t, void (*fn)(void *arg, struct inode *i), void *arg)
{
	LOCKED(&t->lock);
	LIST_FOREACH (pos, &t->all) {
		fn(arg, CONTAINER_OF(pos, struct inode, all));
	}
}

size_t inode_table_count(struct inode_table *t)
{
	return t->total;
}

void inode_table_on_free(struct inode_table *t, void (*fn)(void *arg, struct inode *i), void *arg)
{
	t->on_free = fn;
	t->arg = arg;
}
