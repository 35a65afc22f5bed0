/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A fuzz target is a program of one function, which libFuzzer calls with bytes of its own making.
 * What must hold is asserted; what memory does wrong the sanitizers see. Bytes that found something
 * once are in corpus/NAME, and come first in every run.
 */
#pragma once

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* NDEBUG or not. */
#define CHECK(condition)                                                                                \
	do {                                                                                            \
		if (!(condition)) {                                                                     \
			(void)fprintf(stderr, "%s:%d: not true: %s\n", __FILE__, __LINE__, #condition); \
			abort();                                                                        \
		}                                                                                       \
	} while (0)

/* A copy with a NUL behind it, the caller's. */
static inline char *text_of(const uint8_t *data, size_t size)
{
	char *text = malloc(size + 1);

	CHECK(text);
	memcpy(text, data, size);
	text[size] = '\0';
	return text;
}
