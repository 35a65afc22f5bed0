/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "fuse/fs/open_hold.h"

void removal_holds_opens(struct inode **removing, struct inode *i)
{
	if (*removing)
		return;
	i->removing++;
	*removing = inode_ref(i);
}

void removal_lets_opens_go(struct inode *i)
{
	struct list ready;

	list_init(&ready);
	{
		LOCKED(&i->lock);
		i->removing--;
		LIST_FOREACH (pos, &i->held) {
			if (i->removing > 0)
				break;
			list_remove(pos);
			list_append(&ready, pos);
		}
	}
	LIST_FOREACH (pos, &ready) {
		struct open_hold *h = CONTAINER_OF(pos, struct open_hold, node);

		list_remove(pos);
		h->go_on(h, 0);
	}
}

void removal_ended(struct fs *fs, struct inode **removing)
{
	if (!*removing)
		return;
	removal_lets_opens_go(*removing);
	*removing = inode_unref(fs->inodes, *removing);
}

void held_opens_given_up(struct inode *i)
{
	struct list killed;

	list_init(&killed);
	{
		LOCKED(&i->lock);
		LIST_FOREACH (pos, &i->held) {
			struct open_hold *h = CONTAINER_OF(pos, struct open_hold, node);

			if (!h->given_up(h))
				continue;
			list_remove(pos);
			list_append(&killed, pos);
		}
	}
	LIST_FOREACH (pos, &killed) {
		struct open_hold *h = CONTAINER_OF(pos, struct open_hold, node);

		list_remove(pos);
		h->go_on(h, -EINTR);
	}
}

bool open_begins(struct fs *fs, struct inode *i, struct open_hold *h)
{
	fs->opening++;
	LOCKED(&i->lock);
	i->opening++;
	if (i->removing == 0)
		return true;
	list_append(&i->held, &h->node);
	return false;
}

void open_becomes_file(struct fs *fs, struct inode *i)
{
	i->opening--;
	fs->opening--;
}

void open_becomes_none(struct fs *fs, struct inode *i)
{
	i->opening++;
	fs->opening++;
}

bool open_ends(struct fs *fs, struct inode *i)
{
	bool last;

	{
		LOCKED(&i->lock);
		i->opening--;
		last = i->silly && !inode_is_open(i);
	}
	fs->opening--;
	return last;
}

bool inode_loses_name(struct inode *i)
{
	LOCKED(&i->lock);
	return i->silly || i->taking > 0;
}
