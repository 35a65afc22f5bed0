/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The waits between attempts that fail: each wait doubles the last, up to a limit, and jitter is added, so that clients
 * that have lost the same server do not come back at the same time.
 *
 * The owner guards the object. No function reads a clock, so that tools/bench scale can run the callers' rules in
 * simulated time.
 */
#pragma once

#include <stdint.h>

struct backoff {
	unsigned wait_ms; /* the last wait without jitter; 0: no attempt has failed */
};

struct backoff_limits {
	unsigned least_ms, most_ms;
	unsigned jitter_part; /* the jitter is at most one such part of the wait */
};

/* The milliseconds to wait after one more failed attempt. random is any number, see backoff_random(). */
unsigned backoff_next(struct backoff *b, const struct backoff_limits *limits, uint32_t random);

/* A random number that need not be secret. */
uint32_t backoff_random(void);
