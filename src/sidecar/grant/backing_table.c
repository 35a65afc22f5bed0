/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sidecar/grant/backing_table.h"

#include <fcntl.h>
#include <string.h>

#include "table/keyed_hash.h"
#include "base/util.h"

/* A client influences the kernel's choice of ids by closing some of them. */
static uint64_t hash_of(int32_t id)
{
	return keyed_hash(&id, sizeof(id));
}

static struct backing *backing_of(const struct hash_node *node)
{
	return CONTAINER_OF(node, struct backing, by_id);
}

static bool has_id(const struct hash_node *node, const void *id)
{
	return backing_of(node)->id == *(const int32_t *)id;
}

static struct backing *find(const struct backing_table *t, int32_t id)
{
	struct hash_node *node = hash_table_find(&t->by_id, hash_of(id), has_id, &id);

	return node != NULL ? backing_of(node) : NULL;
}

struct file_key {
	const struct broker_fh *fh;
	const struct export_mount *mount;
};

static bool is_file(const struct hash_node *node, const void *key)
{
	const struct backing *b = CONTAINER_OF(node, struct backing, by_handle);
	const struct file_key *k = key;

	return b->mount == k->mount && b->handle_length == k->fh->length &&
	       memcmp(b->handle, k->fh->data, k->fh->length) == 0;
}

static void drop(struct backing_table *t, struct backing *b)
{
	{
		LOCKED(&t->lock);
		hash_table_remove(&t->by_id, &b->by_id);
		hash_table_remove(&t->by_handle, &b->by_handle);
	}
	(void)close_fd(b->fd);
	(void)export_mount_unref(b->mount);
	free(b);
}

static void drop_node(void *table, struct hash_node *node)
{
	drop(table, backing_of(node));
}

void backing_table_init(struct backing_table *t)
{
	(void)pthread_mutex_init(&t->lock, NULL);
	hash_table_init(&t->by_id);
	hash_table_init(&t->by_handle);
}

void backing_table_done(struct backing_table *t)
{
	hash_table_foreach(&t->by_id, drop_node, t);
	hash_table_done(&t->by_id);
	hash_table_done(&t->by_handle);
}

size_t backing_table_count(const struct backing_table *t)
{
	return t->by_id.count;
}

int backing_table_add(struct backing_table *t, const struct backing *what, const struct broker_fh *fh)
{
	struct backing *b = malloc(sizeof(*b) + fh->length), *old = find(t, what->id);

	if (b == NULL)
		return -ENOMEM;
	if (old != NULL)
		drop(t, old);
	*b = *what;
	b->handle_length = fh->length;
	memcpy(b->handle, fh->data, fh->length);
	(void)export_mount_ref(b->mount);
	LOCKED(&t->lock);
	hash_table_insert(&t->by_id, &b->by_id, hash_of(b->id));
	hash_table_insert(&t->by_handle, &b->by_handle, keyed_hash(b->handle, b->handle_length));
	return 0;
}

const struct backing *backing_table_find(const struct backing_table *t, int32_t id)
{
	return find(t, id);
}

static struct backing *find_file(const struct backing_table *t, const struct broker_fh *fh,
	const struct export_mount *mount)
{
	const struct file_key key = {.fh = fh, .mount = mount};
	struct hash_node *node = hash_table_find(&t->by_handle, keyed_hash(fh->data, fh->length), is_file, &key);

	return node != NULL ? CONTAINER_OF(node, struct backing, by_handle) : NULL;
}

const struct backing *backing_table_find_file(const struct backing_table *t, const struct broker_fh *fh,
	const struct export_mount *mount)
{
	return find_file(t, fh, mount);
}

int backing_table_copy(const struct backing_table *t, const struct broker_fh *fh, const struct export_mount *mount)
{
	const struct backing *b = export_mount_handles_last(mount) ? find_file(t, fh, mount) : NULL;

	return b == NULL || !b->writable ? -1 : fcntl(b->fd, F_DUPFD_CLOEXEC, 3);
}

int backing_table_lend(struct backing_table *t, const struct broker_fh *fh, const struct export_mount *mount)
{
	struct backing *b = find_file(t, fh, mount);
	int fd = b == NULL || b->lent ? -1 : fcntl(b->fd, F_DUPFD_CLOEXEC, 3);

	if (fd >= 0)
		b->lent = true;
	return fd;
}

static void make_read_only(void *unused, struct hash_node *node)
{
	(void)unused;
	backing_of(node)->writable = false;
}

void backing_table_withdraw(struct backing_table *t)
{
	LOCKED(&t->lock);
	hash_table_foreach(&t->by_id, make_read_only, NULL);
}

struct visit {
	void (*look)(const struct backing *b, void *arg);
	void *arg;
};

static void visit_node(void *arg, struct hash_node *node)
{
	const struct visit *v = arg;

	v->look(backing_of(node), v->arg);
}

void backing_table_look(struct backing_table *t, void (*look)(const struct backing *b, void *arg), void *arg)
{
	struct visit v = {.look = look, .arg = arg};

	LOCKED(&t->lock);
	hash_table_foreach(&t->by_id, visit_node, &v);
}

int backing_table_remove(struct backing_table *t, int32_t id)
{
	struct backing *b = find(t, id);

	if (b == NULL)
		return -ENOENT;
	drop(t, b);
	return 0;
}
