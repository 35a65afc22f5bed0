/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A report on what a mount has done between two moments, as JSON, made from its status (status_keys.h) at both. The
 * words are those of nfsiostat(8) where it has one: ops/s, kB/s, kB/op, retrans, avg RTT, avg exe; times are
 * milliseconds. localiofs-metrics(7) lists the keys.
 *
 * The daemon that made the status may be anybody's: nothing in the JSON is believed to be there, and names from it are
 * text in the report. No state; any thread.
 */
#pragma once

#include <jansson.h>
#include <stdint.h>

/*
 * before: NULL for the time since the mount's start. If the daemon is another one than before, its whole time counts.
 * seconds: the time between both. NULL without memory; the caller frees the report.
 */
json_t *report_make(const json_t *before, const json_t *after, double seconds);

/* The number at a key of a report or of a line in it; 0 where there is none. */
double report_number(const json_t *of, const char *key);

/* The text, likewise; "" where there is none. */
const char *report_string(const json_t *of, const char *key);
