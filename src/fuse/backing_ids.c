/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "fuse/backing_ids.h"

#include <sys/resource.h>

#include "fuse/granted_file.h"
#include "log.h"

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
	struct list idle; /* struct inode.idle, the longest unused first */
	size_t nidle;
	bool expires; /* backing_ids_expire() will be called before the first one is due */
	struct list granted; /* struct inode.granted_node */
	struct list left_over; /* struct closing.node */
	size_t nleft_over;
	atomic_size_t held, descriptors;
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
	list_init(&b->idle);
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
	LIST_FOREACH(pos, &b->left_over)
	{
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
	LIST_FOREACH(pos, &b->granted)
	{
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
			if (i->granted && !granted_file_serves(i->granted, generation))
				gone = backing_ids_set_granted(b, i, NULL);
		}
		(void)granted_file_unref(gone);
		(void)inode_unref(b->inodes, i);
	}
}

void backing_ids_registered(struct backing_ids *b)
{
	b->held++;
}

void backing_ids_idle(struct backing_ids *b, struct inode *i)
{
	bool expires;

	{
		LOCKED(&b->lock);
		if (!list_empty(&i->idle))
			return;
		i->idle_since = now_ms();
		list_append(&b->idle, &i->idle);
		b->nidle++;
		expires = b->expires;
		b->expires = true;
	}
	if (!expires)
		probe_wake(b->probe);
}

void backing_ids_busy(struct backing_ids *b, struct inode *i)
{
	LOCKED(&b->lock);
	if (list_empty(&i->idle))
		return;
	list_remove(&i->idle);
	b->nidle--;
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

/*
 * The longest idle inode with a reference, off the list, as long as more than keep are idle or it
 * is idle since before the time; NULL otherwise.
 */
static struct inode *take_idle(struct backing_ids *b, size_t keep, uint64_t before)
{
	LOCKED(&b->lock);
	while (!list_empty(&b->idle)) {
		struct inode *i = CONTAINER_OF(b->idle.next, struct inode, idle);

		if (b->nidle <= keep && i->idle_since >= before)
			break;
		list_remove(&i->idle);
		b->nidle--;
		if (inode_ref_unless_freed(i))
			return i;
	}
	return NULL;
}

static void close_idle(struct backing_ids *b, struct inode *i)
{
	struct granted_file *granted = NULL;
	int id;

	{
		LOCKED(&i->lock);
		id = open_mode_take_id(&i->mode);
		if (open_mode_total(&i->mode) == 0)
			granted = backing_ids_set_granted(b, i, NULL);
	}
	backing_ids_close(b, id);
	(void)granted_file_unref(granted);
	(void)inode_unref(b->inodes, i);
}

void backing_ids_trim(struct backing_ids *b)
{
	struct inode *i;

	while ((i = take_idle(b, b->max_idle, 0)))
		close_idle(b, i);
}

int backing_ids_expire(struct backing_ids *b)
{
	uint64_t now = now_ms();
	struct inode *i;

	while ((i = take_idle(b, SIZE_MAX, now > BACKING_IDS_IDLE_MS ? now - BACKING_IDS_IDLE_MS : 0)))
		close_idle(b, i);
	LOCKED(&b->lock);
	b->expires = !list_empty(&b->idle);
	if (!b->expires)
		return -1;
	i = CONTAINER_OF(b->idle.next, struct inode, idle);
	return (int)(i->idle_since + BACKING_IDS_IDLE_MS + 1 - now);
}

void backing_ids_new_session(struct backing_ids *b)
{
	struct list left_over;
	struct inode *i;

	/* Whatever is idle now was registered by an earlier session. */
	while ((i = take_idle(b, 0, 0)))
		close_idle(b, i);
	list_init(&left_over);
	{
		LOCKED(&b->lock);
		list_splice(&left_over, &b->left_over);
		b->nleft_over = 0;
	}
	LIST_FOREACH(pos, &left_over)
	{
		list_remove(pos);
		send_close(b, CONTAINER_OF(pos, struct closing, node));
	}
}

void backing_ids_inode_freed(struct backing_ids *b, struct inode *i)
{
	backing_ids_busy(b, i);
	(void)granted_file_unref(backing_ids_set_granted(b, i, NULL));
	if (b->probe)
		backing_ids_close(b, open_mode_take_id(&i->mode));
}

void backing_ids_counts(
	struct backing_ids *b, size_t *ret_held, size_t *ret_idle, size_t *ret_left_over)
{
	LOCKED(&b->lock);
	*ret_held = b->held;
	*ret_idle = b->nidle;
	*ret_left_over = b->nleft_over;
}
