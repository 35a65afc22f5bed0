/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "fuse/local/idle_ids.h"

#include "base/clock.h"
#include "fuse/local/granted_file.h"

struct idle_ids {
	struct inode_table *inodes;
	struct backing_ids *ids;

	pthread_mutex_t lock;
	struct list listed;  /* struct inode.idle, the longest there first */
	bool expires;        /* idle_ids_expire() will be called before the first one is due */
	struct list granted; /* struct inode.granted_node */
	atomic_size_t idle;
	size_t max_idle; /* constant */
};

int idle_ids_new(struct inode_table *inodes, struct backing_ids *ids, struct idle_ids **ret)
{
	struct idle_ids *d = calloc(1, sizeof(*d));

	if (!d)
		return -ENOMEM;
	d->inodes = inodes;
	d->ids = ids;
	(void)pthread_mutex_init(&d->lock, NULL);
	list_init(&d->listed);
	list_init(&d->granted);
	d->max_idle = MIN((size_t)IDLE_IDS_MAX, backing_ids_max_descriptors(ids) / 2);
	*ret = d;
	return 0;
}

struct idle_ids *idle_ids_free(struct idle_ids *d)
{
	if (!d)
		return NULL;
	(void)pthread_mutex_destroy(&d->lock);
	free(d);
	return NULL;
}

struct granted_file *idle_ids_set_granted(struct idle_ids *d, struct inode *i, struct granted_file *g)
{
	struct granted_file *old = i->granted;

	LOCKED(&d->lock);
	i->granted = g;
	list_remove(&i->granted_node);
	if (g)
		list_append(&d->granted, &i->granted_node);
	return old;
}

/* An inode, with a reference, whose granted file is of another session; NULL when there is none. */
static struct inode *take_of_others(struct idle_ids *d, uint64_t generation)
{
	LOCKED(&d->lock);
	LIST_FOREACH (pos, &d->granted) {
		struct inode *i = CONTAINER_OF(pos, struct inode, granted_node);

		if (!granted_file_serves(i->granted, generation) && inode_ref_unless_freed(i))
			return i;
	}
	return NULL;
}

void idle_ids_end_sessions_but(struct idle_ids *d, uint64_t generation)
{
	struct inode *i;

	while ((i = take_of_others(d, generation))) {
		struct granted_file *gone = NULL;

		{
			LOCKED(&i->lock);
			if (i->granted && !granted_file_serves(i->granted, generation)) {
				/* Of a file that is not open the kernel itself tells the next opener. */
				if (open_mode_total(&i->mode) > 0)
					granted_file_take_error(i->granted, i);
				gone = idle_ids_set_granted(d, i, NULL);
			}
		}
		(void)granted_file_unref(gone);
		(void)inode_unref(d->inodes, i);
	}
}

/* The caller holds the inode's lock. */
static void enlist(struct idle_ids *d, struct inode *i)
{
	bool expires;

	i->listed = true;
	{
		LOCKED(&d->lock);
		i->listed_ms = now_ms();
		list_append(&d->listed, &i->idle);
		expires = d->expires;
		d->expires = true;
	}
	if (!expires)
		backing_ids_wake(d->ids);
}

static void become_idle(struct idle_ids *d, struct inode *i)
{
	if (i->idle_since != 0)
		return;
	i->idle_since = now_ms();
	d->idle++;
	if (!i->listed)
		enlist(d, i);
}

static void become_busy(struct idle_ids *d, struct inode *i)
{
	if (i->idle_since != 0)
		d->idle--;
	i->idle_since = 0;
}

void idle_ids_opens_changed(struct idle_ids *d, struct inode *i)
{
	if ((i->mode.backing_id > 0 && open_mode_registered(&i->mode) == 0) ||
		(i->granted && open_mode_total(&i->mode) == 0))
		become_idle(d, i);
	else
		become_busy(d, i);
}

/* Takes the first inode off the list, with a reference, if it was listed before that time; NULL otherwise. */
static struct inode *take_listed(struct idle_ids *d, uint64_t before, uint64_t *ret_listed_ms)
{
	LOCKED(&d->lock);
	while (!list_empty(&d->listed)) {
		struct inode *i = CONTAINER_OF(d->listed.next, struct inode, idle);

		if (i->listed_ms >= before)
			break;
		list_remove(&i->idle);
		*ret_listed_ms = i->listed_ms;
		if (inode_ref_unless_freed(i))
			return i;
	}
	return NULL;
}

/*
 * Of an inode that was taken off the list: closes the id that is idle since that time at the latest, else lists it
 * again.
 */
static void look_at(struct idle_ids *d, struct inode *i, uint64_t since)
{
	struct granted_file *granted = NULL, *looker = NULL;
	int id = 0;

	{
		LOCKED(&i->lock);
		i->listed = false;
		if (i->idle_since > since) {
			enlist(d, i);
		} else if (i->idle_since != 0) {
			become_busy(d, i);
			id = open_mode_take_id(&i->mode);
			looker = granted_file_take_looker(i);
			if (open_mode_total(&i->mode) == 0)
				granted = idle_ids_set_granted(d, i, NULL);
		}
	}
	(void)granted_file_unref(looker);
	backing_ids_close(d->ids, id);
	(void)granted_file_unref(granted);
	(void)inode_unref(d->inodes, i);
}

/* An id that was used since it was listed gets a second chance. */
void idle_ids_trim(struct idle_ids *d)
{
	uint64_t begin = now_ms(), listed_ms;
	struct inode *i;

	while (d->idle > d->max_idle && (i = take_listed(d, begin, &listed_ms)))
		look_at(d, i, listed_ms);
	while (d->idle > d->max_idle && (i = take_listed(d, UINT64_MAX, &listed_ms)))
		look_at(d, i, UINT64_MAX);
}

int idle_ids_expire(struct idle_ids *d)
{
	uint64_t now = now_ms(), before = now - MIN(now, IDLE_IDS_LOOK_MS), listed_ms;
	struct inode *i;

	while ((i = take_listed(d, before, &listed_ms)))
		look_at(d, i, before);
	LOCKED(&d->lock);
	d->expires = !list_empty(&d->listed);
	if (!d->expires)
		return -1;
	i = CONTAINER_OF(d->listed.next, struct inode, idle);
	return (int)(i->listed_ms + IDLE_IDS_LOOK_MS + 1 - now);
}

void idle_ids_new_session(struct idle_ids *d)
{
	uint64_t listed_ms;
	struct inode *i;

	/* An earlier session has registered the ids that are idle now. */
	while ((i = take_listed(d, UINT64_MAX, &listed_ms)))
		look_at(d, i, UINT64_MAX);
}

void idle_ids_inode_freed(struct idle_ids *d, struct inode *i)
{
	become_busy(d, i);
	{
		LOCKED(&d->lock);
		list_remove(&i->idle);
	}
	(void)granted_file_unref(idle_ids_set_granted(d, i, NULL));
	(void)granted_file_unref(granted_file_take_looker(i));
	backing_ids_close(d->ids, open_mode_take_id(&i->mode));
}

size_t idle_ids_count(const struct idle_ids *d)
{
	return d->idle;
}
