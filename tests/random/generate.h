/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The next operation: from the seed, its number, and what the reference looks like now, so that a
 * seed always makes the same ones. Most have a chance to succeed, some are nonsense.
 */
#pragma once

#include "pool.h"

void generate(struct pool *p, const struct world *w, uint64_t seed, unsigned number, struct op *ret);
