/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "fuse/names/listing.h"

#include "fuse/known/known.h"

bool listing_may_begin(const struct fs *fs)
{
	return fs->leased != 0 && !fs_server_remembers(fs);
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
		dir->listing = state;
		dir->listing_parts = LISTING_SAME;
	} else if (state == 0 || state != dir->listing) {
		dir->listing_parts = LISTING_MIXED;
	}
}
