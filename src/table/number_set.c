/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "table/number_set.h"

#include <errno.h>
#include <stdlib.h>

#include "base/util.h"

#define FIRST_ROOM 16

/* 0 marks a free slot, so 0 shares the slot of 1: for hashes that is one equal pair more. */
static uint64_t stored(uint64_t number)
{
	return number == 0 ? 1 : number;
}

/* The number's slot, or the free slot where it would be. There is a free slot. */
static uint64_t *find(const struct number_set *s, uint64_t number)
{
	size_t n = (size_t)number & (s->room - 1);

	while (s->slots[n] != 0 && s->slots[n] != number)
		n = (n + 1) & (s->room - 1);
	return &s->slots[n];
}

static int grow(struct number_set *s)
{
	struct number_set more = {.room = s->room == 0 ? FIRST_ROOM : 2 * s->room, .count = s->count};

	more.slots = calloc(more.room, sizeof(*more.slots));
	if (!more.slots)
		return -ENOMEM;
	for (size_t n = 0; n < s->room; n++)
		if (s->slots[n] != 0)
			*find(&more, s->slots[n]) = s->slots[n];
	free(s->slots);
	*s = more;
	return 0;
}

void number_set_clear(struct number_set *s)
{
	free(s->slots);
	*s = (struct number_set){0};
}

int number_set_add(struct number_set *s, uint64_t number, size_t max)
{
	uint64_t *slot;

	if (4 * (s->count + 1) > 3 * s->room && grow(s) < 0)
		return -ENOMEM;
	slot = find(s, stored(number));
	if (*slot != 0)
		return 0;
	if (s->count >= max)
		return -ENOSPC;
	*slot = stored(number);
	s->count++;
	return 0;
}

bool number_set_has(const struct number_set *s, uint64_t number)
{
	return s->room > 0 && *find(s, stored(number)) != 0;
}
