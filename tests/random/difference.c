/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "difference.h"

#include <stdio.h>

static const struct {
	const char *name, *whose, *rule;
} table[DIFFERENCE_COUNT] = {
#define DIFFERENCE_ENTRY(id, name, whose, rule) {name, whose, rule},
	DIFFERENCES(DIFFERENCE_ENTRY)
#undef DIFFERENCE_ENTRY
};

static unsigned long counts[DIFFERENCE_COUNT];

void difference_met(enum difference d)
{
	counts[d]++;
}

void difference_summary(void)
{
	for (int d = 0; d < DIFFERENCE_COUNT; d++)
		(void)printf("difference %s %lu (%s: %s)\n", table[d].name, counts[d], table[d].whose, table[d].rule);
}
