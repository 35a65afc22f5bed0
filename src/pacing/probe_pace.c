/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "pacing/probe_pace.h"

#include "base/util.h"

#define ATTEMPT_MIN_MS   200
#define ATTEMPT_CHEAP_MS 1400  /* at most, while no sidecar listens */
#define RECHECKS         3     /* questions in the time for which the sidecar believes the last one */
#define RECHECK_RETRY_MS 20000 /* at most, until a repetition that failed is tried again */
#define JITTER_PART      4

unsigned probe_pace_attempt(struct backoff *b, enum reason reason, unsigned reprobe_s, uint32_t random)
{
	struct backoff_limits limits = {.least_ms = ATTEMPT_MIN_MS,
		.most_ms = reprobe_s * 1000U,
		.jitter_part = JITTER_PART};

	if (reason == REASON_NO_REGISTRY || reason == REASON_NO_BROKER)
		limits.most_ms = MIN(limits.most_ms, (unsigned)ATTEMPT_CHEAP_MS);
	return backoff_next(b, &limits, random);
}

unsigned probe_pace_recheck(unsigned believed_s, bool good, uint32_t random)
{
	unsigned every = MAX(believed_s, 1U) * 1000U / RECHECKS;

	if (!good)
		every = MIN(every, (unsigned)RECHECK_RETRY_MS);
	/* Sooner, not later, so that the sidecar believes the last match until the third question after it. */
	return every - random % (every / JITTER_PART + 1);
}
