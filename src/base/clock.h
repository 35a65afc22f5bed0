/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The clock for deadlines and intervals. Any thread may call. */
#pragma once

#include <stdint.h>

/* The time of CLOCK_MONOTONIC in milliseconds. */
uint64_t now_ms(void);

/* The same in nanoseconds, to measure how long something takes. */
uint64_t now_ns(void);

/*
 * The time of a piece of work: a thread that serves requests or messages reads the clock when each of them comes, and
 * not for each age and each limit that the request touches. (One created file took 79 readings. A reading is a system
 * call where the kernel has no vDSO for its clock: with some clocks of virtual machines, and in user-mode Linux.)
 *
 * work_begins() belongs behind the wait for a request; it returns now_ns(). work_ms() is the time of the last
 * work_begins() of the calling thread, in milliseconds, and now_ms() for a thread without any, or after its
 * work_ends(). Work that waits for a disk or a peer uses now_ms() after the wait. A loop that computes its next wait
 * from work_ms() waits longer by the time that the work took.
 */
uint64_t work_begins(void);
void work_ends(void);
uint64_t work_ms(void);

/*
 * The time from then to now, two readings of one of these clocks. 0 if then is later than now: another thread may have
 * read the clock after this thread has.
 */
static inline uint64_t time_since(uint64_t then, uint64_t now)
{
	return now > then ? now - then : 0;
}
