/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/clock.h"

#include <time.h>

/* When the calling thread's piece of work began, now_ms(); 0: the thread is not at work. */
static _Thread_local uint64_t began_ms;

uint64_t now_ms(void)
{
	return now_ns() / 1000000;
}

uint64_t now_ns(void)
{
	struct timespec ts;

	(void)clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

uint64_t work_begins(void)
{
	uint64_t ns = now_ns();

	began_ms = ns / 1000000;
	return ns;
}

void work_ends(void)
{
	began_ms = 0;
}

uint64_t work_ms(void)
{
	return began_ms != 0 ? began_ms : now_ms();
}
