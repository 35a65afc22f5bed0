/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * When a mount probes: plain functions of what has happened, without a clock, for probe.c and for tools/bench scale,
 * which runs a million mounts in simulated time. The caller owns and guards the struct backoff; there is no other
 * state.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "pacing/backoff.h"
#include "localiofs/reason.h"

/*
 * The milliseconds until the next attempt, after an attempt or a session that ended for the reason. reprobe_s is the
 * mount option. While no sidecar listens an attempt is one connect(2), so the waits stay short: 1.75 seconds at most.
 */
unsigned probe_pace_attempt(struct backoff *b, enum reason reason, unsigned reprobe_s, uint32_t random);

/*
 * The milliseconds until the question is repeated in a session, whose last match the sidecar believes for believed_s
 * seconds. good: the last question was answered and matched. Three questions fit into that time.
 */
unsigned probe_pace_recheck(unsigned believed_s, bool good, uint32_t random);
