/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The clock for deadlines and intervals. Any thread may call. */
#pragma once

#include <stdint.h>

/* The time of CLOCK_MONOTONIC in milliseconds. */
uint64_t now_ms(void);

/* The same in nanoseconds, to measure how long something takes. */
uint64_t now_ns(void);

/*
 * The time from then to now, two readings of one of these clocks. 0 if then is later than now: another thread may have
 * read the clock after this thread has.
 */
static inline uint64_t time_since(uint64_t then, uint64_t now)
{
	return now > then ? now - then : 0;
}
