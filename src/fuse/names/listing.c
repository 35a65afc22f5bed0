/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "fuse/names/listing.h"

#include "fuse/known/known.h"

bool listing_is_good(struct fs *fs, struct inode *dir)
{
	uint64_t state;

	{
		LOCKED(&dir->lock);
		if (dir->listing_parts != LISTING_SAME)
			return false;
		state = dir->listing;
	}
	return known_is_state(fs, dir, state);
}

void listing_open(struct fs *fs, struct inode *dir, struct opened *o, enum listing_use use, struct fuse_file_info *fi)
{
	LOCKED(&dir->lock);
	bool alone = list_empty(&dir->opened);

	list_append(&dir->opened, &o->node);
	if (use == LISTING_READ_PAST)
		return;
	if (use == LISTING_KEEP && dir->listing_parts == LISTING_SAME) {
		fi->cache_readdir = fi->keep_cache = true;
		return;
	}
	fi->cache_readdir = alone && fs->leased != 0;
	dir->listing_parts = fi->cache_readdir ? LISTING_EMPTY : LISTING_MIXED;
}

void listing_part(struct inode *dir, uint64_t state)
{
	LOCKED(&dir->lock);

	if (dir->listing_parts == LISTING_EMPTY && state != 0) {
		dir->listing = state;
		dir->listing_parts = LISTING_SAME;
	} else if (state == 0 || state != dir->listing) {
		dir->listing_parts = LISTING_MIXED;
	}
}
