/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The witness is another client of the server: a remote mount of the same export that changes no file. Close-to-open:
 * after the last close of a file on the mount, the next open on the witness must find the size and content that the
 * server's directory has. Real root checks some of the closes. Only the main thread calls it.
 */
#pragma once

#include "compare.h"

#define WITNESS_EVERY 2 /* closes with a number that is a multiple of this are checked */

/* Before an operation: true if it is a close to be checked. *ret keeps the file for witness_look(). */
struct closing {
	struct object *object;
	char path[OP_PATH_MAX]; /* absolute */
};
bool witness_notes(const struct world *w, const struct op *op, struct closing *ret);

/* After the close: compares the file on the witness and on the server. */
void witness_look(struct world *w, const struct closing *c, struct verdict *v);

/* The number of files that were compared. */
unsigned witness_count(void);
