/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Numbers for objects whose address must stay secret: each object has a number until its removal, and the number leads
 * to the object. Numbers begin with 1 and are small: a new object gets the number of a removed one.
 *
 * An array of arrays that never move. A lookup takes no lock: the caller has a right to the object, so no thread
 * removes it during the lookup. The table's own lock guards additions and removals; no other lock is taken within it.
 */
#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#define SLOTS_OF_CHUNK 1024U
#define SLOTS_CHUNKS   65536U

struct slots_chunk {
	/* The address of the object. For a free number: the next free number, shifted left, plus 1. */
	atomic_uintptr_t of[SLOTS_OF_CHUNK];
};

struct slots {
	_Atomic(struct slots_chunk *) *chunks;
	pthread_mutex_t lock;
	uint32_t used; /* the highest number that any object has had */
	uint32_t free; /* the first free number up to used; 0: none */
};

/* 0 or -ENOMEM. */
int slots_init(struct slots *s);

/* Frees the table, not the objects. Takes a table of zeros, whose initialization failed. */
void slots_done(struct slots *s);

/* Returns the object's number, or 0 without memory or a free number. The address of the object must be even. */
uint64_t slots_add(struct slots *s, void *object);

/* Frees the number. The caller ensures that no lookup of the number follows or runs. */
void slots_remove(struct slots *s, uint64_t number);

/* Returns the object of the number, or NULL. Any thread may call. */
static inline void *slots_get(const struct slots *s, uint64_t number)
{
	struct slots_chunk *chunk;
	uintptr_t value;

	if (number == 0 || number > (uint64_t)SLOTS_CHUNKS * SLOTS_OF_CHUNK)
		return NULL;
	number--;
	chunk = atomic_load_explicit(&s->chunks[number / SLOTS_OF_CHUNK], memory_order_acquire);
	if (!chunk)
		return NULL;
	value = atomic_load_explicit(&chunk->of[number % SLOTS_OF_CHUNK], memory_order_acquire);
	return value & 1 ? NULL : (void *)value;
}

/* The object of a number that has one: any other number is a fault of the caller, and ends the process. */
static inline void *slots_at(const struct slots *s, uint64_t number)
{
	void *object = slots_get(s, number);

	if (!object)
		abort();
	return object;
}
