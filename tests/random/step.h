/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Runs one operation on both sides, compares them, and records the new state. Only the main thread calls it. */
#pragma once

#include "compare.h"
#include "pool.h"

struct step {
	bool skipped;
	struct expectation expected;
	struct verdict verdict;
};

void step_run(struct world *w, struct pool *p, const struct op *op, struct step *ret);
