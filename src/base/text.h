/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Text that peers, the kernel or the user give: made fit for terminals and logs, parsed, shortened. Any thread. */
#pragma once

#include <stdint.h>
#include <string.h>

#include "base/util.h"

/* Arguments for printf(): the format and the parts of a text that is cut after n bytes, with dots behind a cut. */
#define SHORT         "%.*s%s"
#define SHORTEN(s, n) (int)MIN(strlen(s), (size_t)(n)), (s), strlen(s) > (n) ? "..." : ""

/* Parses a decimal number without sign or blanks, in [min, max]; -EINVAL or -ERANGE, *ret untouched on failure. */
int parse_u64(const char *s, uint64_t min, uint64_t max, uint64_t *ret);

/*
 * Replaces \ooo, which the kernel writes in its tables for white space, backslash and #, by the byte itself. In place;
 * returns text.
 */
char *unescape_octal(char *text);

/*
 * Puts '?' in the place of everything that a terminal or a reader of lines could take for more than text: control
 * characters, also those of Unicode (C1), its separators of lines and paragraphs, characters that change the direction
 * of writing, and bytes that are not UTF-8. In place.
 */
void text_clean(char *s);
