/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "fuse/node/inode_table.h"

#include <string.h>
#include <sys/stat.h>

#include "table/keyed_hash.h"
#include "table/slots.h"

#define FIRST_INODES 1024 /* the table has room for these before it grows */

struct inode_table {
	pthread_mutex_t lock;
	struct list all;             /* struct inode.all; retired inodes too */
	struct hash_table by_handle; /* struct inode.by_handle */
	struct slots numbers;        /* struct inode.number */
	atomic_size_t total;
	uint64_t next_generation;
	void (*on_free)(void *arg, struct inode *i);
	void *arg;
};

/* The key of an inode. */
struct inode_key {
	const struct nfs_fh *fh;
	bool decoy;
	uint32_t decoy_uid; /* 0 if the inode is no decoy */
};

static uint64_t hash_of(const struct inode_key *key)
{
	return key->decoy ? keyed_hash_of_pair(key->decoy_uid, key->fh->data, key->fh->len)
			  : keyed_hash(key->fh->data, key->fh->len);
}

static bool has_key(const struct hash_node *node, const void *arg)
{
	const struct inode *i = CONTAINER_OF(node, struct inode, by_handle);
	const struct inode_key *key = arg;

	return i->decoy == key->decoy && i->decoy_uid == key->decoy_uid && nfs_fh_equal(&i->fh, key->fh);
}

int inode_table_new(struct inode_table **ret)
{
	struct inode_table *t = calloc(1, sizeof(*t));

	if (!t)
		return -ENOMEM;
	if (slots_init(&t->numbers) < 0) {
		free(t);
		return -ENOMEM;
	}
	hash_table_init(&t->by_handle);
	if (hash_table_reserve(&t->by_handle, FIRST_INODES) < 0) {
		slots_done(&t->numbers);
		free(t);
		return -ENOMEM;
	}
	list_init(&t->all);
	(void)pthread_mutex_init(&t->lock, NULL);
	*ret = t;
	return 0;
}

/*
 * Takes the inode out of the hash: the next lookup of its handle does not find it. The caller holds the table's lock.
 */
static void unhash(struct inode_table *t, struct inode *i)
{
	if (!i->hashed)
		return;
	hash_table_remove(&t->by_handle, &i->by_handle);
	i->hashed = false;
}

static void free_inode(struct inode_table *t, struct inode *i)
{
	if (t->on_free)
		t->on_free(t->arg, i);
	LIST_FOREACH (pos, &i->opened) {
		struct opened *o = CONTAINER_OF(pos, struct opened, node);

		o->free(o);
	}
	slots_remove(&t->numbers, i->number);
	write_log_done(&i->writes);
	free(i->silly);
	if (i->known.whole)
		number_set_clear(&i->known.whole->names);
	free(i->known.whole);
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
	hash_table_done(&t->by_handle);
	slots_done(&t->numbers);
	free(t);
	return NULL;
}

/* The caller holds the table's lock. */
static struct inode *find(struct inode_table *t, uint64_t hash, const struct inode_key *key)
{
	struct hash_node *node = hash_table_find(&t->by_handle, hash, has_key, key);

	return node ? CONTAINER_OF(node, struct inode, by_handle) : NULL;
}

struct inode *inode_table_find(struct inode_table *t, const struct nfs_fh *fh)
{
	struct inode_key key = {.fh = fh};
	uint64_t hash = hash_of(&key);

	LOCKED(&t->lock);
	struct inode *i = find(t, hash, &key);

	return i ? inode_ref(i) : NULL;
}

static int get(struct inode_table *t, const struct inode_key *key, const struct nfs_attr *attr, struct inode **ret)
{
	uint64_t hash = hash_of(key);

	LOCKED(&t->lock);
	struct inode *i = find(t, hash, key);

	if (i && i->fileid == attr->fileid && i->type == (attr->mode & S_IFMT)) {
		*ret = inode_ref(i);
		return 0;
	}
	if (i)
		unhash(t, i);
	i = calloc(1, sizeof(*i));
	if (!i)
		return -ENOMEM;
	i->number = slots_add(&t->numbers, i);
	if (i->number == 0) {
		free(i);
		return -ENOMEM;
	}
	i->fh = *key->fh;
	i->decoy = key->decoy;
	i->decoy_uid = key->decoy_uid;
	i->fileid = attr->fileid;
	i->type = attr->mode & S_IFMT;
	i->generation = ++t->next_generation;
	i->refs = 1;
	(void)pthread_mutex_init(&i->lock, NULL);
	write_log_init(&i->writes);
	list_init(&i->idle);
	list_init(&i->granted_node);
	write_behind_init(&i->behind, &i->lock);
	list_init(&i->appends);
	list_init(&i->opened);
	list_init(&i->held);
	hash_table_insert(&t->by_handle, &i->by_handle, hash);
	i->hashed = true;
	list_append(&t->all, &i->all);
	t->total++;
	*ret = i;
	return 0;
}

int inode_table_get(struct inode_table *t, const struct nfs_fh *fh, const struct nfs_attr *attr, struct inode **ret)
{
	return get(t, &(struct inode_key){.fh = fh}, attr, ret);
}

int inode_table_get_decoy(struct inode_table *t, const struct nfs_fh *fh, const struct nfs_attr *attr, uint32_t uid,
	struct inode **ret)
{
	return get(t, &(struct inode_key){.fh = fh, .decoy = true, .decoy_uid = uid}, attr, ret);
}

struct inode *inode_table_numbered(const struct inode_table *t, uint64_t number)
{
	return slots_get(&t->numbers, number);
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
		/* This is the last reference, unless another thread has just found the inode in the hash table. */
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
