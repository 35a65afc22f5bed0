/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Rounds of questions to mounts: each round has a report per mount that answers, on the time since the round before, or
 * since the mount's start for a mount that was not asked before. The caller owns the rounds; zeroed is before the first
 * round. One thread. A mount whose daemon has ended has a report without numbers, with the state "dead".
 */
#pragma once

#include <jansson.h>
#include <stdint.h>

#include "ctl/mounts/mount_list.h"

struct rounds {
	json_t *before; /* by mount point: the status of the last round, with the time of the question; NULL: none */
};

/*
 * An array of reports, which the caller frees. *ret_failed: a mount did not answer, as a line on stderr says. NULL
 * without memory.
 */
json_t *rounds_next(struct rounds *r, const struct mount_list *mounts, bool *ret_failed);

void rounds_done(struct rounds *r);
