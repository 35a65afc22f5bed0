/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The clock of all deadlines and intervals. Any thread. */
#pragma once

#include <stdint.h>

/* Milliseconds of CLOCK_MONOTONIC. */
uint64_t now_ms(void);
