/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* One operation on both sides, compared and remembered. */
#pragma once

#include "compare.h"
#include "pool.h"

struct step {
	bool skipped;
	struct expectation expected;
	struct verdict verdict;
};

void step_run(struct world *w, struct pool *p, const struct op *op, struct step *ret);
