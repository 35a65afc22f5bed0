/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The clock for deadlines and intervals. Any thread may call. */
#pragma once

#include <stdint.h>

/* The time of CLOCK_MONOTONIC in milliseconds. */
uint64_t now_ms(void);

/* The same in nanoseconds, to measure how long something takes. */
uint64_t now_ns(void);

/*
 * The time from the one reading of the clock to the other. 0 if the earlier reading was made later: another thread may
 * have made it after this thread has read the clock.
 */
static inline uint64_t time_since(uint64_t then, uint64_t now)
{
	return now > then ? now - then : 0;
}
