/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Whether both sides did the same: results first, then what can be seen afterwards. A listed
 * difference that changed one side only is mended on the reference, so that the run can go on.
 */
#pragma once

#include "expect.h"

#define ATTRIBUTES_MS 3500 /* acregmin, for which the kernel may believe attributes, and some time to look */

struct verdict {
	bool differs;
	char sentence[1000];
};

void differs(struct verdict *v, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* After the mount's call: it refused what NFSv3 cannot do, and the reference need not try. */
bool compare_refusal(struct world *w, const struct op *op, const struct expectation *e);

/* After both calls: results, errors and data. */
void compare_results(struct world *w, const struct op *op, const struct expectation *e, struct verdict *v);

/* What was looked at on both sides. */
void compare_seen(struct world *w, const struct op *op, const struct expectation *e, struct verdict *v);

/* Two files' attributes; where says which. No times. */
void compare_attributes(const struct object *o, const struct statx *mount, const struct statx *reference,
	const char *where, struct verdict *v);

/* Set-id bits and nothing else differ: the reference gets the mount's, and the difference is counted. */
bool compare_mend_setid(int reference_fd, const struct statx *mount, struct statx *reference, enum difference why);

const char *error_name(int error);
