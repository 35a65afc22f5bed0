/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Makes the next operation from the seed, its number and the current state of the reference, so that a seed always
 * makes the same operations. Most of them can succeed, some cannot.
 */
#pragma once

#include "pool.h"

void generate(struct pool *p, const struct world *w, uint64_t seed, unsigned number, struct op *ret);
