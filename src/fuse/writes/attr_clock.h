/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A clock that goes on whenever the server has answered a change of this mount: attributes that were asked for
 * earlier may not show the change. A counter, not a time. It is atomic; any thread.
 */
#pragma once

#include <stdint.h>

uint64_t attr_clock(void);

/* Goes on by one, and returns the new time. */
uint64_t attr_clock_tick(void);
