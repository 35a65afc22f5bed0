/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The clock for deadlines and intervals. Any thread may call. */
#pragma once

#include <stdint.h>

/* The time of CLOCK_MONOTONIC in milliseconds. */
uint64_t now_ms(void);

/* The same in nanoseconds, to measure how long something takes. */
uint64_t now_ns(void);
