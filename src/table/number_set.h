/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A set of numbers that only grows, for example of keyed hashes. A value of its owner, who also locks it. Zeros are an
 * empty set.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct number_set {
	uint64_t *slots; /* 0: free */
	size_t room;     /* slots; 0 or a power of 2 */
	size_t count;
};

/* Frees the numbers; the set is empty then. */
void number_set_clear(struct number_set *s);

/* Adds a number, which may be there. 0; -ENOSPC for one more than max numbers; -ENOMEM. */
int number_set_add(struct number_set *s, uint64_t number, size_t max);

bool number_set_has(const struct number_set *s, uint64_t number);
