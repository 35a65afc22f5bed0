/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sidecar/notices/told.h"

#include <stdlib.h>
#include <string.h>

#include "base/util.h"
#include "handle/nfs_handle.h"
#include "table/keyed_hash.h"

void told_init(struct told_table *t)
{
	hash_table_init(&t->all);
}

static void free_entry(void *arg, struct hash_node *node)
{
	told_remove(arg, CONTAINER_OF(node, struct told, node));
}

void told_forget(struct told_table *t)
{
	hash_table_foreach(&t->all, free_entry, t);
}

void told_done(struct told_table *t)
{
	told_forget(t);
	hash_table_done(&t->all);
}

static uint64_t hash_of(const struct event_fid *fid)
{
	uint64_t number = ((uint64_t)fid->fsid[0] << 32 | fid->fsid[1]) ^ (uint64_t)(uint32_t)fid->type;

	return keyed_hash_of_pair(number, fid->bytes, fid->length);
}

static bool is_file(const struct hash_node *node, const void *arg)
{
	const struct told *e = CONTAINER_OF(node, struct told, node);
	const struct event_fid *fid = arg;

	return e->type == fid->type && e->fid_length == fid->length && e->fsid[0] == fid->fsid[0] &&
	       e->fsid[1] == fid->fsid[1] && memcmp(e->bytes, fid->bytes, fid->length) == 0;
}

struct told *told_find(const struct told_table *t, const struct event_fid *fid)
{
	struct hash_node *node = fid->length > 0 ? hash_table_find(&t->all, hash_of(fid), is_file, fid) : NULL;

	return node != NULL ? CONTAINER_OF(node, struct told, node) : NULL;
}

bool told_add(struct told_table *t, const struct event_fid *fid, const struct broker_fh *fh, bool directory)
{
	struct told *e = told_find(t, fid);

	if (e != NULL && directory)
		e->once = false;
	if (e != NULL)
		return e->fh_length == fh->length && memcmp(e->bytes + e->fid_length, fh->data, fh->length) == 0;
	if (t->all.count >= (directory ? TOLD_MAX : TOLD_MAX_FILES) || fid->length == 0)
		return false;
	e = malloc(sizeof(*e) + fid->length + fh->length);
	if (e == NULL)
		return false;
	memcpy(e->fsid, fid->fsid, sizeof(e->fsid));
	e->type = fid->type;
	e->fid_length = fid->length;
	e->fh_length = fh->length;
	e->turn = 0;
	e->once = !directory;
	e->names = TOLD_NAMES_UNDECIDED;
	memcpy(e->bytes, fid->bytes, fid->length);
	memcpy(e->bytes + fid->length, fh->data, fh->length);
	hash_table_insert(&t->all, &e->node, hash_of(fid));
	return true;
}

bool told_add_beside(struct told_table *t, const struct told *dir, const struct event_fid *fid)
{
	struct nfs_handle kernel = {.kernel_type = fid->type, .kernel_length = fid->length};
	struct broker_fh known, fh;

	if (fid->length == 0 || fid->length > sizeof(kernel.kernel))
		return false;
	memcpy(kernel.kernel, fid->bytes, fid->length);
	told_handle(dir, &known);
	return nfs_handle_of_kernel(&known, &kernel, &fh) >= 0 && told_add(t, fid, &fh, true);
}

void told_handle(const struct told *e, struct broker_fh *ret)
{
	*ret = (struct broker_fh){.length = e->fh_length};
	memcpy(ret->data, e->bytes + e->fid_length, e->fh_length);
}

void told_remove(struct told_table *t, struct told *e)
{
	hash_table_remove(&t->all, &e->node);
	free(e);
}
