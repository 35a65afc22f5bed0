/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Reports (report.h) as text for people, on a stream. No state; any thread. */
#pragma once

#include <jansson.h>
#include <stdio.h>

/* All of one report, a line per operation and path. */
void report_text(FILE *to, const json_t *report);

/*
 * The reports of all mounts as tables: a line per mount, the busiest first, then the operations of all mounts, those
 * with the most time first, in so many lines at most.
 */
void report_top(FILE *to, const json_t *reports, size_t lines);
