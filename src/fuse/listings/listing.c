/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "fuse/listings/listing.h"

#include "base/text.h"
#include "fuse/listings/batch.h"
#include "fuse/known/known.h"

bool listing_may_begin(const struct fs *fs)
{
	return fs->leased != 0;
}

/* The caller holds the directory's lock. */
static void set_same(struct inode *dir, uint64_t state)
{
	dir->listing = state;
	dir->listing_parts = LISTING_SAME;
}

bool listing_shows(struct inode *dir, const struct nfs_attr *attr)
{
	LOCKED(&dir->lock);
	return attr->ctime.tv_nsec != 0 && attr_memory_is_version(&dir->attrs, attr);
}

bool listing_is_good(struct fs *fs, struct inode *dir)
{
	uint64_t state;

	{
		LOCKED(&dir->lock);
		if (dir->listing_parts != LISTING_SAME)
			return false;
		state = dir->listing;
	}
	return listing_may_begin(fs) && known_is_state(fs, dir, state);
}

void listing_open(struct fs *fs, struct inode *dir, struct opened *o, enum listing_use use, struct fuse_file_info *fi)
{
	LOCKED(&dir->lock);
	bool alone = list_empty(&dir->opened);

	list_append(&dir->opened, &o->node);
	fi->keep_cache = true;
	if (!alone || use == LISTING_READ_PAST)
		return;
	fi->cache_readdir = listing_may_begin(fs);
	if (use == LISTING_KEEP && dir->listing_parts == LISTING_SAME)
		return;
	fi->keep_cache = false;
	dir->listing_parts = fi->cache_readdir ? LISTING_EMPTY : LISTING_MIXED;
}

void listing_part(struct inode *dir, uint64_t state)
{
	LOCKED(&dir->lock);

	if (dir->listing_parts == LISTING_EMPTY && state != 0) {
		set_same(dir, state);
	} else if (state == 0 || state != dir->listing) {
		dir->listing_parts = LISTING_MIXED;
	}
}

bool listing_needs_digest(const struct fs *fs, struct inode *dir)
{
	LOCKED(&dir->lock);
	return dir->listing_parts == LISTING_WHOLE && listing_may_begin(fs);
}

void listing_digest(struct inode *dir, uint64_t digest, uint64_t state)
{
	LOCKED(&dir->lock);

	if (dir->listing_parts != LISTING_WHOLE || dir->listing != digest)
		return;
	set_same(dir, state);
}

/* ---- the sum ---- */

void listing_sum_part(struct listing_sum *s, uint64_t offset)
{
	if (offset == 0)
		s->over = s->over || s->begun;
	s->begun = true;
}

void listing_sum_entry(struct listing_sum *s, const struct hash_key *key, uint64_t offset, const struct nfs_entry *e)
{
	if (s->over || offset != s->end)
		return;
	s->end = e->cookie;
	if (is_dot(e->name))
		return;
	s->digest += batch_digest_of(key, e);
	s->over = ++s->names > BROKER_MAX_DIGEST;
}

void listing_sum_proved(struct listing_sum *s, uint64_t digest, uint64_t state)
{
	s->proved = digest;
	s->state = state;
}

void listing_sum_end(struct listing_sum *s, struct inode *dir, uint64_t offset)
{
	if (s->over || offset != s->end)
		return;
	s->over = true;
	LOCKED(&dir->lock);
	if (s->state != 0 && s->digest == s->proved) {
		set_same(dir, s->state);
	} else {
		dir->listing = s->digest;
		dir->listing_parts = LISTING_WHOLE;
	}
}
