/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The requests that ended last, for localioctl trace: a ring of events (localiofs/control.h). Nothing is recorded
 * unless somebody has asked within the last CONTROL_TRACE_SECONDS, so that a mount without a reader pays one comparison
 * per request. A reader who is too slow learns how many events were overwritten.
 *
 * struct trace belongs to struct operations. Any thread; the struct has a lock of its own.
 */
#pragma once

#include <pthread.h>
#include <stdatomic.h>

#include "localiofs/control.h"
#include "base/util.h"

#define TRACE_EVENTS 4096 /* about 400 KiB, from the first question on */

struct trace {
	pthread_mutex_t lock;
	atomic_uint_fast64_t until; /* now_ns(); events are recorded until then */
	uint64_t last;              /* the number of the last event */
	struct control_event *events;
};

void trace_init(struct trace *t);
void trace_done(struct trace *t);

/* True if events are recorded at that time, by now_ns(). */
static inline bool trace_is_on(const struct trace *t, uint64_t now)
{
	return now < atomic_load_explicit(&t->until, memory_order_relaxed);
}

/* Records an event, and gives it its number and the time of its end. */
void trace_add(struct trace *t, const struct control_event *event);

/* Answers a question in place, and records from now on. -ENOMEM. */
int trace_answer(struct trace *t, struct control_trace *question);
