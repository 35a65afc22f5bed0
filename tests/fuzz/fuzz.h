/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A fuzz target is a program with one function, which libFuzzer calls with the bytes that it generates. CHECK() tests
 * what must be true; the sanitizers find wrong accesses to memory. corpus/NAME has the bytes that have found a fault
 * earlier, and each run begins with them.
 */
#pragma once

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Ends the program if the condition is false, also with NDEBUG. */
#define CHECK(condition)                                                                                \
	do {                                                                                            \
		if (!(condition)) {                                                                     \
			(void)fprintf(stderr, "%s:%d: not true: %s\n", __FILE__, __LINE__, #condition); \
			abort();                                                                        \
		}                                                                                       \
	} while (0)

/* A copy with a NUL at its end. The caller frees it. */
static inline char *text_of(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1);

	CHECK(text);
	memcpy(text, data, size);
	text[size] = '\0';
	return text;
}
