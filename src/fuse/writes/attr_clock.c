/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "fuse/writes/attr_clock.h"

#include <stdatomic.h>

static atomic_uint_fast64_t clock_now;

uint64_t attr_clock(void)
{
	return clock_now;
}

uint64_t attr_clock_tick(void)
{
	return atomic_fetch_add(&clock_now, 1) + 1;
}
