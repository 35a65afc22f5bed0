/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "fuse/local/backing_ids.h"

#include <stdatomic.h>
#include <sys/resource.h>

#include "base/clock.h"
#include "base/log.h"

#define DESCRIPTORS_UNKNOWN 1024 /* when getrlimit(2) fails */

/* An id on its way to the sidecar, or left over. */
struct closing {
	struct broker_call call;
	struct list node;
	struct backing_ids *ids;
	int id;
};

struct backing_ids {
	struct probe *probe;

	pthread_mutex_t lock;
	struct list left_over; /* struct closing.node */
	size_t nleft_over;
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

static void on_closed(struct broker_call *call, int error, const void *body)
{
	struct closing *c = CONTAINER_OF(call, struct closing, call);
	const struct broker_status *status = body;

	/* The daemon itself has closed a descriptor, and the sidecar keeps none of a session that has ended. */
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
		log_warning_limited("out of memory: backing id %d stays registered until the mount ends", id);
		return;
	}
	c->call.done = on_closed;
	c->ids = b;
	c->id = id;
	send_close(b, c);
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
		send_close(b, CONTAINER_OF(pos, struct closing, node));
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
