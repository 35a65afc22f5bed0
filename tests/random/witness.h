/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Another client of the server: a remote mount of the same export, through which nothing is changed. Close-to-open:
 * after the last close of a file it finds, at its next open, the size and content that the server's own directory has.
 * Some closes are looked at, by the operation's number, as real root.
 */
#pragma once

#include "compare.h"

#define WITNESS_EVERY 2 /* closes are that many operations apart, about */

/* To be asked before a close: what witness_look() needs of the slot. False: not this close. */
struct closing {
	struct object *object;
	char path[OP_PATH_MAX]; /* absolute */
};
bool witness_notes(const struct world *w, const struct op *op, struct closing *ret);

/* After the close was answered, and counted. */
void witness_look(struct world *w, const struct closing *c, struct verdict *v);

/* How many files it has seen. */
unsigned witness_count(void);
