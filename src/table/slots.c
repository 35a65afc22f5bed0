/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "table/slots.h"

#include <errno.h>

#include "base/util.h"

int slots_init(struct slots *s)
{
	s->chunks =
		calloc(SLOTS_CHUNKS, sizeof(*s->chunks)); /* half a MiB of address space; only used pages take memory */
	if (!s->chunks)
		return -ENOMEM;
	(void)pthread_mutex_init(&s->lock, NULL);
	s->used = s->free = 0;
	return 0;
}

void slots_done(struct slots *s)
{
	if (!s->chunks)
		return;
	for (uint32_t n = 0; n < s->used; n += SLOTS_OF_CHUNK)
		free(s->chunks[n / SLOTS_OF_CHUNK]);
	free(STEAL_PTR(s->chunks));
	(void)pthread_mutex_destroy(&s->lock);
}

/* The slot of a number for which there is a chunk. */
static atomic_uintptr_t *slot(struct slots *s, uint64_t number)
{
	return &s->chunks[(number - 1) / SLOTS_OF_CHUNK]->of[(number - 1) % SLOTS_OF_CHUNK];
}

/* A number that no object has had yet, or 0 if there is none. The caller holds the lock. */
static uint32_t new_number(struct slots *s)
{
	if (s->used % SLOTS_OF_CHUNK == 0) {
		struct slots_chunk *chunk = s->used < SLOTS_CHUNKS * SLOTS_OF_CHUNK ? calloc(1, sizeof(*chunk)) : NULL;

		if (!chunk)
			return 0;
		atomic_store_explicit(&s->chunks[s->used / SLOTS_OF_CHUNK], chunk, memory_order_release);
	}
	return ++s->used;
}

uint64_t slots_add(struct slots *s, void *object)
{
	uint32_t number;

	LOCKED(&s->lock);
	number = s->free;
	if (number != 0)
		s->free = (uint32_t)(*slot(s, number) >> 1);
	else
		number = new_number(s);
	if (number != 0)
		atomic_store_explicit(slot(s, number), (uintptr_t)object, memory_order_release);
	return number;
}

void slots_remove(struct slots *s, uint64_t number)
{
	LOCKED(&s->lock);
	*slot(s, number) = (uintptr_t)s->free << 1 | 1;
	s->free = (uint32_t)number;
}
