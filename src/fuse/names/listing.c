/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "fuse/names/listing.h"

#include "fuse/known/known.h"

bool listing_is_good(struct fs *fs, struct inode *dir)
{
	struct listing l;

	{
		LOCKED(&dir->lock);
		l = dir->listing;
	}
	return l.parts == LISTING_SAME && known_is_state(fs, dir, &l.state);
}

void listing_open(struct fs *fs, struct inode *dir, struct opened *o, enum listing_use use, struct fuse_file_info *fi)
{
	LOCKED(&dir->lock);
	bool alone = list_empty(&dir->opened);

	list_append(&dir->opened, &o->node);
	if (use == LISTING_READ_PAST)
		return;
	if (use == LISTING_KEEP && dir->listing.parts == LISTING_SAME) {
		fi->cache_readdir = fi->keep_cache = true;
		return;
	}
	fi->cache_readdir = alone && fs->leased != 0;
	dir->listing.parts = fi->cache_readdir ? LISTING_EMPTY : LISTING_MIXED;
}

void listing_part(struct inode *dir, const struct known_state *state)
{
	LOCKED(&dir->lock);
	struct listing *l = &dir->listing;

	if (l->parts == LISTING_EMPTY && state)
		*l = (struct listing){.state = *state, .parts = LISTING_SAME};
	else if (!state || state->epoch != l->state.epoch || state->changed != l->state.changed)
		l->parts = LISTING_MIXED;
}
