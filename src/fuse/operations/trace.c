/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "fuse/operations/trace.h"

#include <time.h>

#include "base/clock.h"

void trace_init(struct trace *t)
{
	*t = (struct trace){0};
	(void)pthread_mutex_init(&t->lock, NULL);
}

void trace_done(struct trace *t)
{
	free(t->events);
	(void)pthread_mutex_destroy(&t->lock);
}

void trace_add(struct trace *t, const struct control_event *event)
{
	struct control_event *e;
	struct timespec now;

	(void)clock_gettime(CLOCK_REALTIME, &now);
	LOCKED(&t->lock);
	if (!t->events)
		return;
	e = &t->events[++t->last % TRACE_EVENTS];
	*e = *event;
	e->number = t->last;
	e->ended_us = now.tv_sec * INT64_C(1000000) + now.tv_nsec / 1000;
}

int trace_answer(struct trace *t, struct control_trace *question)
{
	uint64_t first;

	LOCKED(&t->lock);
	if (!t->events)
		t->events = calloc(TRACE_EVENTS, sizeof(*t->events));
	if (!t->events)
		return -ENOMEM;
	t->until = now_ns() + CONTROL_TRACE_SECONDS * UINT64_C(1000000000);
	first = MIN(question->last, t->last) + 1; /* a number from the future is from another daemon: none */
	question->lost = first + TRACE_EVENTS <= t->last ? t->last - TRACE_EVENTS + 1 - first : 0;
	first += question->lost;
	question->count = (uint32_t)MIN(t->last + 1 - first, (uint64_t)CONTROL_EVENTS);
	for (uint32_t n = 0; n < question->count; n++)
		question->events[n] = t->events[(first + n) % TRACE_EVENTS];
	question->last = first + question->count - 1;
	question->unused = 0;
	return 0;
}
