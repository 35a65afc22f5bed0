/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "pacing/backoff.h"

#include <sys/random.h>

#include "base/util.h"

unsigned backoff_next(struct backoff *b, const struct backoff_limits *limits, uint32_t random)
{
	b->wait_ms = MIN(MAX(b->wait_ms * 2, limits->least_ms), limits->most_ms);
	return b->wait_ms + random % (b->wait_ms / limits->jitter_part + 1);
}

uint32_t backoff_random(void)
{
	uint32_t random = 0;

	(void)!getrandom(&random, sizeof(random), GRND_NONBLOCK);
	return random;
}
