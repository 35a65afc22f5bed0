/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "fuse/local/backing_ids.h"

#include <sys/resource.h>

#include "fuse/local/granted_file.h"
#include "base/clock.h"
#include "base/log.h"

/* An id on its way to the sidecar, or waiting for one. */
struct closing {
	struct broker_call call;
	struct list node;
	struct backing_ids *ids;
	int id;
};

struct backing_ids {
	struct inode_table *inodes;
	struct probe *probe;

	pthread_mutex_t lock;
	struct list listed;    /* struct inode.idle, the longest there first */
	bool expires;          /* backing_ids_expire() will be called before the first one is due */
	struct list granted;   /* struct inode.granted_node */
	struct list left_over; /* struct closing.node */
	size_t nleft_over;
	atomic_size_t held, idle, descriptors;
	size_t max_descriptors, max_idle; /* constant */
};

int backing_ids_new(struct inode_table *inodes, struct backing_ids **ret)
{
	struct backing_ids *b = calloc(1, sizeof(*b));
	struct rlimit limit;

	if (!b)
		return -ENOMEM;
	b->inodes = inodes;
	(void)pthread_mutex_init(&b->lock, NULL);
	list_init(&b->listed);
	list_init(&b->granted);
	list_init(&b->left_over);
	b->max_descriptors = getrlimit(RLIMIT_NOFILE, &limit) == 0 ? limit.rlim_cur / 2 : BACKING_IDS_IDLE;
	b->max_idle = MIN((size_t)BACKING_IDS_IDLE, b->max_descriptors / 2);
	*ret = b;
	return 0;
}

struct backing_ids *backing_ids_free(struct backing_ids *b)
{
	if (!b)
		return NULL;
	LIST_FOREACH (pos, &b->left_over) {
		free(CONTAINER_OF(pos, struct closing, node));
	}
	(void)pthread_mutex_destroy(&b->lock);
	free(b);
	return NULL;
}

void backing_ids_set_probe(struct backing_ids *b, struct probe *probe)
{
	LOCKED(&b->lock);
	b->probe = probe;
}

struct granted_file *backing_ids_set_granted(struct backing_ids *b, struct inode *i, struct granted_file *g)
{
	struct granted_file *old = i->granted;

	LOCKED(&b->lock);
	i->granted = g;
	list_remove(&i->granted_node);
	if (g)
		list_append(&b->granted, &i->granted_node);
	return old;
}

void backing_ids_descriptors(struct backing_ids *b, int change)
{
	b->descriptors += (size_t)change;
}

bool backing_ids_may_have_descriptor(const struct backing_ids *b)
{
	return b->descriptors < b->max_descriptors;
}

/* An inode, with a reference, whose descriptor is of another session; NULL when there is none. */
static struct inode *take_of_others(struct backing_ids *b, uint64_t generation)
{
	LOCKED(&b->lock);
	LIST_FOREACH (pos, &b->granted) {
		struct inode *i = CONTAINER_OF(pos, struct inode, granted_node);

		if (!granted_file_serves(i->granted, generation) && inode_ref_unless_freed(i))
			return i;
	}
	return NULL;
}

void backing_ids_end_sessions_but(struct backing_ids *b, uint64_t generation)
{
	struct inode *i;

	while ((i = take_of_others(b, generation))) {
		struct granted_file *gone = NULL;

		{
			LOCKED(&i->lock);
			if (i->granted && !granted_file_serves(i->granted, generation)) {
				/* Where nobody has the file open the kernel tells who opens it next. */
				if (open_mode_total(&i->mode) > 0)
					granted_file_take_error(i->granted, i);
				gone = backing_ids_set_granted(b, i, NULL);
			}
		}
		(void)granted_file_unref(gone);
		(void)inode_unref(b->inodes, i);
	}
}

void backing_ids_registered(struct backing_ids *b)
{
	b->held++;
}

/* With the inode's lock. */
static void enlist(struct backing_ids *b, struct inode *i)
{
	bool expires;

	i->listed = true;
	{
		LOCKED(&b->lock);
		i->listed_ms = now_ms();
		list_append(&b->listed, &i->idle);
		expires = b->expires;
		b->expires = true;
	}
	if (!expires)
		probe_wake(b->probe);
}

void backing_ids_idle(struct backing_ids *b, struct inode *i)
{
	if (i->idle_since != 0)
		return;
	i->idle_since = now_ms();
	b->idle++;
	if (!i->listed)
		enlist(b, i);
}

void backing_ids_busy(struct backing_ids *b, struct inode *i)
{
	if (i->idle_since != 0)
		b->idle--;
	i->idle_since = 0;
}

static void closed(struct broker_call *call, int error, const void *body)
{
	struct closing *c = CONTAINER_OF(call, struct closing, call);
	const struct broker_status *status = body;

	/* What was sent is closed here, whoever hears of it; and a session that has ended keeps none. */
	if (error == 0 || c->id < 0) {
		if (error == 0 && status->error < 0)
			log_debug("backing id %d could not be closed: error %d", c->id, status->error);
		c->ids->held--;
		free(c);
		return;
	}
	LOCKED(&c->ids->lock);
	list_append(&c->ids->left_over, &c->node);
	c->ids->nleft_over++;
}

static void send_close(struct backing_ids *b, struct closing *c)
{
	struct broker_release body = {.backing_id = c->id};

	probe_send(b->probe, &c->call, BROKER_RELEASE, &body, sizeof(body));
}

void backing_ids_close(struct backing_ids *b, int id)
{
	struct closing *c;

	if (id == 0)
		return;
	c = calloc(1, sizeof(*c));
	if (!c) {
		log_warning("out of memory: backing id %d stays registered until the mount ends", id);
		return;
	}
	c->call.done = closed;
	c->ids = b;
	c->id = id;
	send_close(b, c);
}

/* The first of the list with a reference, off it, when it was there before the time; NULL otherwise. */
static struct inode *take_listed(struct backing_ids *b, uint64_t before, uint64_t *ret_listed_ms)
{
	LOCKED(&b->lock);
	while (!list_empty(&b->listed)) {
		struct inode *i = CONTAINER_OF(b->listed.next, struct inode, idle);

		if (i->listed_ms >= before)
			break;
		list_remove(&i->idle);
		*ret_listed_ms = i->listed_ms;
		if (inode_ref_unless_freed(i))
			return i;
	}
	return NULL;
}

/* What was taken off the list: closes it when it is idle since that time at the latest, lists it again when later. */
static void look_at(struct backing_ids *b, struct inode *i, uint64_t since)
{
	struct granted_file *granted = NULL;
	int id = 0;

	{
		LOCKED(&i->lock);
		i->listed = false;
		if (i->idle_since > since) {
			enlist(b, i);
		} else if (i->idle_since != 0) {
			backing_ids_busy(b, i);
			id = open_mode_take_id(&i->mode);
			if (open_mode_total(&i->mode) == 0)
				granted = backing_ids_set_granted(b, i, NULL);
		}
	}
	backing_ids_close(b, id);
	(void)granted_file_unref(granted);
	(void)inode_unref(b->inodes, i);
}

/* Who was used since it was listed gets a second chance. */
void backing_ids_trim(struct backing_ids *b)
{
	uint64_t begin = now_ms(), listed_ms;
	struct inode *i;

	while (b->idle > b->max_idle && (i = take_listed(b, begin, &listed_ms)))
		look_at(b, i, listed_ms);
	while (b->idle > b->max_idle && (i = take_listed(b, UINT64_MAX, &listed_ms)))
		look_at(b, i, UINT64_MAX);
}

int backing_ids_expire(struct backing_ids *b)
{
	uint64_t now = now_ms(), before = now - MIN(now, BACKING_IDS_LOOK_MS), listed_ms;
	struct inode *i;

	while ((i = take_listed(b, before, &listed_ms)))
		look_at(b, i, before);
	LOCKED(&b->lock);
	b->expires = !list_empty(&b->listed);
	if (!b->expires)
		return -1;
	i = CONTAINER_OF(b->listed.next, struct inode, idle);
	return (int)(i->listed_ms + BACKING_IDS_LOOK_MS + 1 - now);
}

void backing_ids_new_session(struct backing_ids *b)
{
	uint64_t listed_ms;
	struct list left_over;
	struct inode *i;

	/* Whatever is idle now was registered by an earlier session. */
	while ((i = take_listed(b, UINT64_MAX, &listed_ms)))
		look_at(b, i, UINT64_MAX);
	list_init(&left_over);
	{
		LOCKED(&b->lock);
		list_splice(&left_over, &b->left_over);
		b->nleft_over = 0;
	}
	LIST_FOREACH (pos, &left_over) {
		list_remove(pos);
		send_close(b, CONTAINER_OF(pos, struct closing, node));
	}
}

void backing_ids_inode_freed(struct backing_ids *b, struct inode *i)
{
	backing_ids_busy(b, i);
	{
		LOCKED(&b->lock);
		list_remove(&i->idle);
	}
	(void)granted_file_unref(backing_ids_set_granted(b, i, NULL));
	if (b->probe)
		backing_ids_close(b, open_mode_take_id(&i->mode));
}

void backing_ids_counts(struct backing_ids *b, size_t *ret_held, size_t *ret_idle, size_t *ret_left_over)
{
	LOCKED(&b->lock);
	*ret_held = b->held;
	*ret_idle = b->idle;
	*ret_left_over = b->nleft_over;
}
