/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Repeatable random numbers: splitmix64. Each operation has its own generator, made from the seed and the operation's
 * number, so that the numbers of an operation do not depend on earlier operations. A plain value.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct rng {
	uint64_t state;
};

static inline uint64_t rng_next(struct rng *r)
{
	uint64_t z = (r->state += 0x9e3779b97f4a7c15);

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
	z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
	return z ^ (z >> 31);
}

static inline struct rng rng_make(uint64_t seed, uint64_t number)
{
	struct rng r = {seed * 0xd1342543de82ef95 + number};

	(void)rng_next(&r);
	return r;
}

/* 0 to n - 1; n is not 0. */
static inline uint64_t rng_below(struct rng *r, uint64_t n)
{
	return rng_next(r) % n;
}

static inline bool rng_percent(struct rng *r, unsigned percent)
{
	return rng_below(r, 100) < percent;
}

#define RNG_PICK(r, array) ((array)[rng_below((r), sizeof(array) / sizeof((array)[0]))])

static inline void rng_fill(uint64_t seed, uint8_t *to, size_t size)
{
	struct rng r = rng_make(seed, size);

	for (size_t n = 0; n < size; n += 8) {
		uint64_t word = rng_next(&r);

		__builtin_memcpy(to + n, &word, size - n < 8 ? size - n : 8);
	}
}
