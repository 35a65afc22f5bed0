/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "fuse/listings/batch.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/text.h"
#include "fuse/fs/fs.h"
#include "fuse/known/known.h"

#define KEPT_MS 1000 /* the names stay right, but the attributes in the batch get old */

/* An entry in its own memory. */
struct listed {
	struct nfs_entry entry;
	char name[];
};

void batch_drop(struct batch *b)
{
	for (size_t n = 0; n < b->count; n++)
		free(b->entries[n]);
	free(b->entries);
	*b = (struct batch){0};
}

static struct listed *copy_entry(const struct nfs_entry *e)
{
	size_t length = strlen(e->name) + 1;
	struct listed *l = malloc(sizeof(*l) + length);

	if (!l)
		return NULL;
	l->entry = *e;
	memcpy(l->name, e->name, length);
	l->entry.name = l->name;
	return l;
}

int batch_add(struct batch *b, const struct nfs_call *reply)
{
	size_t count = reply->res.dir.count;
	struct listed **entries = reallocarray(b->entries, b->count + count + 1, sizeof(*entries));

	if (!entries)
		return -ENOMEM;
	b->entries = entries;
	for (size_t n = 0; n < count; n++) {
		struct listed *l = copy_entry(&reply->res.dir.entries[n]);

		if (!l)
			return -ENOMEM;
		b->entries[b->count++] = l;
	}
	b->verf = reply->res.dir.verf;
	b->eof = reply->res.dir.eof;
	return 0;
}

const struct nfs_entry *batch_entry(const struct batch *b, size_t n)
{
	return &b->entries[n]->entry;
}

size_t batch_position(const struct batch *b, uint64_t offset)
{
	if (b->count == 0)
		return b->count;
	if (offset == b->first)
		return 0;
	for (size_t n = 0; n + 1 < b->count; n++)
		if (b->entries[n]->entry.cookie == offset)
			return n + 1;
	return b->count;
}

uint64_t batch_end(const struct batch *b)
{
	return b->count == 0 ? b->first : b->entries[b->count - 1]->entry.cookie;
}

bool batch_ends_at(const struct batch *b, uint64_t offset)
{
	return b->eof && batch_end(b) == offset;
}

uint64_t batch_digest_of(const struct hash_key *key, const struct nfs_entry *e)
{
	return is_dot(e->name) ? 0 : siphash_of_pair(key, e->fileid, e->name, strlen(e->name));
}

uint64_t batch_digest(const struct batch *b, const struct hash_key *key)
{
	uint64_t digest = 0;

	for (size_t n = 0; n < b->count; n++)
		digest += batch_digest_of(key, &b->entries[n]->entry);
	return digest;
}

/* ---- of the directory that was closed last ---- */

struct kept_batch {
	struct batch batch;
	uint64_t generation; /* the directory's inode.generation */
	struct nfs_cred cred;
};

static void free_kept(struct kept_batch *k)
{
	if (k)
		batch_drop(&k->batch);
	free(k);
}

/* True if the batch is the whole directory in one state. */
static bool is_whole(const struct batch *b)
{
	return b->by_sidecar && b->eof && b->first == 0 && b->count > 0 && b->state != 0;
}

void batch_keep(struct fs *fs, const struct inode *dir, const struct nfs_cred *cred, struct batch *b)
{
	struct kept_batch *k = is_whole(b) ? calloc(1, sizeof(*k)) : NULL;

	if (!k)
		return;
	k->batch = *b;
	k->generation = dir->generation;
	k->cred = *cred;
	*b = (struct batch){0};
	free_kept(atomic_exchange(&fs->kept_batch, k));
}

bool batch_holds(struct fs *fs, struct inode *dir, const struct batch *b)
{
	return time_since(b->came_ms, now_ms()) < KEPT_MS && known_is_state(fs, dir, b->state);
}

bool batch_take_kept(struct fs *fs, struct inode *dir, const struct nfs_cred *cred, struct batch *ret)
{
	struct kept_batch *k = atomic_exchange(&fs->kept_batch, NULL);
	bool good = k && k->generation == dir->generation && nfs_cred_equal(&k->cred, cred) &&
		    batch_holds(fs, dir, &k->batch);

	if (good) {
		*ret = k->batch;
		k->batch = (struct batch){0};
	}
	free_kept(k);
	return good;
}

void batch_drop_kept(struct fs *fs)
{
	free_kept(atomic_exchange(&fs->kept_batch, NULL));
}
