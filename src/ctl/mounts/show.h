/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A mount's status for people and for programs, on a stream. The daemon that made the status may be anybody's: nothing
 * in the JSON is believed to be text, or to be there. No state; any thread. Nothing fails but for memory.
 */
#pragma once

#include <jansson.h>
#include <stdio.h>

/*
 * Lines of text about the mount on that directory. The lines and the keys in them are a table in show.c. Changes the
 * JSON: characters of its strings that are not text become '?'.
 */
void show_text(FILE *to, const char *dir, json_t *status);

/* A line per mount of an array, with a head. Changes the JSON as show_text() does. */
void show_list(FILE *to, json_t *mounts);

/*
 * Indented JSON of printable ASCII alone: other characters are escaped, which changes nothing for readers of JSON.
 */
void show_json(FILE *to, const json_t *json);

/* The same in one line. */
void show_json_line(FILE *to, const json_t *json);
