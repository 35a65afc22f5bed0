/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What is known before an operation runs: whether it can run at all, and which listed differences it
 * may show, decided from the reference's state by the rules of difference.h.
 */
#pragma once

#include "difference.h"
#include "world.h"

struct expectation {
	bool skip;         /* nothing to do it with, or it could not be compared */
	struct key target; /* what path leads to on the reference, before; links followed if the kind does */
	mode_t type;       /* its type, 0 for none */
	struct key victim; /* a file that loses a name while it is open */
	struct key victim_dir;
	int victim_dir_fd; /* on the server; -1 */
	const struct user *remover;
	bool silly_directory;    /* the directory that is to go has a .nfs name in it and nothing else */
	bool io_refused;         /* the server may refuse what the open had been allowed */
	const struct slot *late; /* written to: the mount may answer before the server has refused it */
	bool setid;          /* truncates, changes the owner, or writes with rights that are not just the caller's */
	bool special;        /* opens a pipe or a device */
	bool instead;        /* the reference does something else */
	bool squashed_owner; /* ... if the mount succeeds */
	struct op reference; /* that */
};

void expect(struct world *w, const struct op *op, struct expectation *ret);
void expectation_done(struct expectation *e);
