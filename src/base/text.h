/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Parses, cleans and shortens text from peers, the kernel and the user, and writes sentences. Any thread may call. */
#pragma once

#include <stdint.h>
#include <string.h>

#include "base/util.h"

/* Format and arguments for printf() that print the first n bytes of a text, and "..." if the text is longer. */
#define SHORT         "%.*s%s"
#define SHORTEN(s, n) (int)MIN(strlen(s), (size_t)(n)), (s), strlen(s) > (n) ? "..." : ""

/* True for the names of a directory itself and of its parent. */
static inline bool is_dot(const char *name)
{
	return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

/* Writes the sentence about an error, and returns the error. */
int PRINTF(4, 5) sentence_fail(char *sentence, size_t size, int error, const char *format, ...);

/*
 * Parses a decimal number in [min, max]. 0, -EINVAL (also for a sign or a blank) or -ERANGE; a failure leaves *ret
 * unchanged.
 */
int parse_u64(const char *s, uint64_t min, uint64_t max, uint64_t *ret);

/*
 * Replaces each \ooo by the byte with this octal number, in place. Returns text. The kernel writes white space,
 * backslash and # in this way in its tables (mangle_path()).
 */
char *unescape_octal(char *text);

/*
 * Replaces by '?', in place, everything that a terminal or a reader of lines could interpret as more than text: control
 * characters (also C1), Unicode's separators of lines and paragraphs, characters that change the direction of writing,
 * and bytes that are not UTF-8.
 */
void text_clean(char *s);
