/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The expectation before an operation runs: whether it can run, and which listed differences it may show. It depends on
 * the state of the reference and the rules in difference.h. Only the main thread uses it.
 */
#pragma once

#include "difference.h"
#include "world.h"

struct expectation {
	bool skip; /* an open file is missing, or the results could not be compared */
	struct key
		target; /* the file of path on the reference before the operation; of a link's target if op_follows() */
	mode_t type;    /* the type of target, 0 for none */
	struct key victim; /* a file that loses a name while it is open */
	struct key victim_dir;
	int victim_dir_fd; /* on the server; -1 */
	const struct user *remover;
	bool silly_directory;    /* the directory to be removed contains only .nfs names */
	bool io_refused;         /* the server may refuse I/O, though the file could be opened */
	const struct slot *late; /* the slot of a write that the mount may answer before the server refuses it */
	bool setid;              /* a truncation, a chown, or a write with other rights than those of the caller */
	bool special;            /* opens a pipe, a socket or a device */
	bool instead;            /* the reference runs the operation in the member reference */
	bool squashed_owner;     /* the same, but only if the mount succeeds */
	struct op reference;
};

/* Fills *ret, to be freed by expectation_done(). */
void expect(struct world *w, const struct op *op, struct expectation *ret);
void expectation_done(struct expectation *e);
