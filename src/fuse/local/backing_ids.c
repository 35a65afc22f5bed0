/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "fuse/local/backing_ids.h"

#include <stdatomic.h>
#include <sys/resource.h>

#include "base/clock.h"
#include "base/log.h"

#define DESCRIPTORS_UNKNOWN 1024 /* when getrlimit(2) fails */

/* Ids that one message closes: gathered, on their way to the sidecar, or left over. */
struct closing {
	struct broker_call call;
	struct list node;
	struct backing_ids *ids;
	struct broker_release body;
};

struct backing_ids {
	struct probe *probe;

	pthread_mutex_t lock;
	struct closing *gathered; /* or NULL */
	uint64_t due;             /* now_ms(): when they are closed */
	struct list left_over;    /* struct closing.node */
	size_t nleft_over;        /* ids */
	atomic_size_t held, descriptors;
	size_t max_descriptors; /* constant */
};

int backing_ids_new(struct backing_ids **ret)
{
	struct backing_ids *b = calloc(1, sizeof(*b));
	struct rlimit limit;

	if (!b)
		return -ENOMEM;
	(void)pthread_mutex_init(&b->lock, NULL);
	list_init(&b->left_over);
	b->max_descriptors = getrlimit(RLIMIT_NOFILE, &limit) == 0 ? limit.rlim_cur / 2 : DESCRIPTORS_UNKNOWN;
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
	free(b->gathered);
	(void)pthread_mutex_destroy(&b->lock);
	free(b);
	return NULL;
}

void backing_ids_set_probe(struct backing_ids *b, struct probe *probe)
{
	LOCKED(&b->lock);
	b->probe = probe;
}

void backing_ids_registered(struct backing_ids *b)
{
	b->held++;
}

/* The daemon itself has closed a descriptor, and the sidecar keeps none of a session that has ended. */
static void drop_descriptors(struct closing *c)
{
	struct broker_release *body = &c->body;
	uint32_t nids = 0;

	for (uint32_t n = 0; n < body->count; n++)
		if (body->backing_ids[n] > 0)
			body->backing_ids[nids++] = body->backing_ids[n];
	c->ids->held -= body->count - nids;
	body->count = nids;
}

static void on_closed(struct broker_call *call, int error, const void *body)
{
	struct closing *c = CONTAINER_OF(call, struct closing, call);
	const struct broker_status *status = body;

	if (error == 0) {
		if (status->error < 0)
			log_debug("of %u backing ids one or more could not be closed: error %d", c->body.count,
				status->error);
		c->ids->held -= c->body.count;
		free(c);
		return;
	}
	drop_descriptors(c);
	if (c->body.count == 0) {
		free(c);
		return;
	}
	LOCKED(&c->ids->lock);
	list_append(&c->ids->left_over, &c->node);
	c->ids->nleft_over += c->body.count;
}

static void send_close(struct closing *c)
{
	probe_send(c->ids->probe, &c->call, BROKER_RELEASE, &c->body, sizeof(c->body));
}

/*
 * Adds an id to the gathered ones. *ret_due: the gathered ones, if they are as many as a message takes, or if there is
 * no session, so that they are left over. False without memory.
 */
static bool gather(struct backing_ids *b, int id, bool *ret_first, struct closing **ret_due)
{
	LOCKED(&b->lock);
	*ret_first = !b->gathered;
	if (!b->gathered) {
		b->gathered = calloc(1, sizeof(*b->gathered));
		if (!b->gathered)
			return false;
		b->gathered->call.done = on_closed;
		b->gathered->ids = b;
		b->due = work_ms() + BACKING_IDS_GATHER_MS;
	}
	b->gathered->body.backing_ids[b->gathered->body.count++] = id;
	if (b->gathered->body.count == BROKER_MAX_RELEASE || probe_generation(b->probe) == 0)
		*ret_due = STEAL_PTR(b->gathered);
	return true;
}

void backing_ids_close(struct backing_ids *b, int id)
{
	struct closing *due = NULL;
	bool first;

	if (id == 0)
		return;
	if (!gather(b, id, &first, &due))
		log_warning_limited("out of memory: backing id %d stays registered until the mount ends", id);
	else if (due)
		send_close(due);
	else if (first)
		backing_ids_wake(b);
}

/* Takes the gathered ids if they are due at that time. *ret_left_ms: until they are, or -1. */
static struct closing *take_due(struct backing_ids *b, uint64_t now, int *ret_left_ms)
{
	LOCKED(&b->lock);
	*ret_left_ms = -1;
	if (b->gathered && b->due > now) {
		*ret_left_ms = (int)(b->due - now);
		return NULL;
	}
	return STEAL_PTR(b->gathered);
}

int backing_ids_housekeep(struct backing_ids *b)
{
	int left_ms;
	struct closing *due = take_due(b, work_ms(), &left_ms);

	if (due)
		send_close(due);
	return left_ms;
}

void backing_ids_session_ended(struct backing_ids *b)
{
	int left_ms;
	struct closing *due = take_due(b, UINT64_MAX, &left_ms);

	if (due)
		send_close(due);
}

void backing_ids_new_session(struct backing_ids *b)
{
	struct list left_over;

	list_init(&left_over);
	{
		LOCKED(&b->lock);
		list_splice(&left_over, &b->left_over);
		b->nleft_over = 0;
	}
	LIST_FOREACH (pos, &left_over) {
		list_remove(pos);
		send_close(CONTAINER_OF(pos, struct closing, node));
	}
}

void backing_ids_descriptors(struct backing_ids *b, int change)
{
	b->descriptors += (size_t)change;
}

size_t backing_ids_max_descriptors(const struct backing_ids *b)
{
	return b->max_descriptors;
}

bool backing_ids_may_have_descriptor(const struct backing_ids *b)
{
	return b->descriptors < b->max_descriptors;
}

void backing_ids_wake(struct backing_ids *b)
{
	probe_wake(b->probe);
}

void backing_ids_counts(struct backing_ids *b, size_t *ret_held, size_t *ret_left_over)
{
	LOCKED(&b->lock);
	*ret_held = b->held;
	*ret_left_over = b->nleft_over;
}
