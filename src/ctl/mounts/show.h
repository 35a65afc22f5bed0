/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A mount's status for people and for programs, on a stream. The daemon that made the status may be anybody's: nothing
 * in its answers is believed to be text, or to be there. No state; any thread. Nothing fails but for memory.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

#include "localiofs/control.h"

/*
 * Lines of text about the mount on that directory. The lines and the keys in them are a table in show.c. Changes the
 * JSON: characters of its strings that are not text become '?'.
 */
void show_text(FILE *to, const char *dir, json_t *status);

/*
 * A line per mount of an array, with a head; "-" for what is no string. Changes the JSON as show_text() does.
 */
void show_list(FILE *to, json_t *mounts);

/* A line about a request that has ended, for people and as JSON. */
void show_event(FILE *to, const struct control_event *event);
void show_event_json(FILE *to, const struct control_event *event);

/*
 * Indented JSON of printable ASCII alone: other characters are escaped, which changes nothing for readers of JSON.
 */
void show_json(FILE *to, const json_t *json);

/* True if the JSON has the strings that each status has. */
bool show_is_status(const json_t *json);
