/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "fuse/local/idle_ids.h"

#include <sys/stat.h>

#include "base/clock.h"
#include "fuse/local/granted_file.h"

struct idle_inodes {
	struct list listed; /* struct inode.idle, the longest there first */
	atomic_size_t idle;
	size_t max; /* constant */
};

struct idle_ids {
	struct inode_table *inodes;
	struct backing_ids *ids;

	pthread_mutex_t lock;
	struct idle_inodes files, directories; /* apart, so that directories take no file's place */
	bool expires;                          /* idle_ids_expire() will be called before the first one is due */
	struct list granted;                   /* struct inode.granted_node */
};

static struct idle_inodes *inodes_like(struct idle_ids *d, const struct inode *i)
{
	return i->type == S_IFDIR ? &d->directories : &d->files;
}

int idle_ids_new(struct inode_table *inodes, struct backing_ids *ids, struct idle_ids **ret)
{
	struct idle_ids *d = calloc(1, sizeof(*d));

	if (!d)
		return -ENOMEM;
	d->inodes = inodes;
	d->ids = ids;
	(void)pthread_mutex_init(&d->lock, NULL);
	list_init(&d->files.listed);
	d->files.max = MIN((size_t)IDLE_IDS_MAX, backing_ids_max_descriptors(ids) / 2);
	list_init(&d->directories.listed);
	d->directories.max = MIN((size_t)IDLE_IDS_DIRECTORIES, backing_ids_max_descriptors(ids) / 4);
	list_init(&d->granted);
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

/* The caller holds the inode's lock. */
static void enlist(struct idle_ids *d, struct inode *i)
{
	bool expires;

	i->listed = true;
	{
		LOCKED(&d->lock);
		i->listed_ms = work_ms();
		list_append(&inodes_like(d, i)->listed, &i->idle);
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
	i->idle_since = work_ms();
	inodes_like(d, i)->idle++;
	if (!i->listed)
		enlist(d, i);
}

static void become_busy(struct idle_ids *d, struct inode *i)
{
	if (i->idle_since != 0)
		inodes_like(d, i)->idle--;
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

void idle_ids_looked(struct inode *dir)
{
	LOCKED(&dir->lock);
	if (dir->idle_since != 0)
		dir->idle_since = work_ms();
}

static void set_looker(struct idle_ids *d, struct inode *dir, struct granted_file *looker)
{
	struct granted_file *old;

	{
		LOCKED(&dir->lock);
		old = dir->looks;
		dir->looks = looker;
		become_busy(d, dir);
		become_idle(d, dir);
	}
	(void)granted_file_unref(old);
	idle_ids_trim(d);
}

void idle_ids_take_looker(struct fs *fs, struct inode *dir, uint64_t session, const struct setting *setting, int *fd)
{
	struct granted_file *looker = *fd < 0 ? NULL : granted_file_new(fs, steal_fd(fd), false, 0, session);

	if (!looker)
		return;
	if (setting)
		looker->setting = *setting;
	set_looker(fs->idle, dir, looker);
}

/* Takes the first inode off the list, with a reference, if it was listed before that time; NULL otherwise. */
static struct inode *take_listed(struct idle_ids *d, struct idle_inodes *of, uint64_t before, uint64_t *ret_listed_ms)
{
	LOCKED(&d->lock);
	while (!list_empty(&of->listed)) {
		struct inode *i = CONTAINER_OF(of->listed.next, struct inode, idle);

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
static void trim(struct idle_ids *d, struct idle_inodes *of)
{
	uint64_t begin = work_ms(), listed_ms;
	struct inode *i;

	while (of->idle > of->max && (i = take_listed(d, of, begin, &listed_ms)))
		look_at(d, i, listed_ms);
	while (of->idle > of->max && (i = take_listed(d, of, UINT64_MAX, &listed_ms)))
		look_at(d, i, UINT64_MAX);
}

void idle_ids_trim(struct idle_ids *d)
{
	trim(d, &d->files);
	trim(d, &d->directories);
}

static void give_back_before(struct idle_ids *d, struct idle_inodes *of, uint64_t before)
{
	uint64_t listed_ms;
	struct inode *i;

	while ((i = take_listed(d, of, before, &listed_ms)))
		look_at(d, i, before);
}

/* When the first inode of the list was listed; UINT64_MAX if there is none. The caller holds the lock. */
static uint64_t first_listed(const struct idle_inodes *of)
{
	return list_empty(&of->listed) ? UINT64_MAX : CONTAINER_OF(of->listed.next, struct inode, idle)->listed_ms;
}

int idle_ids_expire(struct idle_ids *d)
{
	uint64_t now = work_ms(), before = now - MIN(now, IDLE_IDS_LOOK_MS), first;

	give_back_before(d, &d->files, before);
	give_back_before(d, &d->directories, before);
	LOCKED(&d->lock);
	first = MIN(first_listed(&d->files), first_listed(&d->directories));
	d->expires = first != UINT64_MAX;
	return d->expires ? (int)(first + IDLE_IDS_LOOK_MS + 1 - now) : -1;
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
	give_back_before(d, &d->directories, UINT64_MAX);
}

void idle_ids_new_session(struct idle_ids *d)
{
	give_back_before(d, &d->files, UINT64_MAX); /* an earlier session has registered the ids that are idle now */
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
	return d->files.idle;
}
