/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sidecar/names/alone.h"

#include <stdatomic.h>

#define STRIPES 512

static struct {
	atomic_uint_fast64_t begun, ended;
} stripes[STRIPES];

struct alone alone_begin(uint64_t device, uint64_t inode)
{
	struct alone a = {.stripe = (unsigned)((inode ^ device * 31) % STRIPES)};

	a.number = atomic_fetch_add(&stripes[a.stripe].begun, 1);
	a.until_now = atomic_load(&stripes[a.stripe].ended) == a.number;
	return a;
}

bool alone_end(const struct alone *a)
{
	bool alone = a->until_now && atomic_load(&stripes[a->stripe].begun) == a->number + 1;

	atomic_fetch_add(&stripes[a->stripe].ended, 1);
	return alone;
}
