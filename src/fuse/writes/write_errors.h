/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The losses of one file's data after its writer was answered, and the open files that have heard of them.
 *
 * fsync(2) follows the kernel's rule (lib/errseq.c, mm/filemap.c file_check_and_advance_wb_err): each open file hears
 * of a loss once, also an open file that has written nothing. A loss that no fsync has told yet is told to later opens,
 * too. close(2) tells once of the losses since the open, unless fsync did. It takes nothing from any fsync: maybe no
 * program has looked at the result of close(2), for example when a child exits that had inherited the descriptor.
 *
 * A value. The lock of the write log that contains it guards it, and struct errors_heard.
 *
 * The kernel has this state per open file, with one descriptor each. Here many open files share one descriptor: the
 * sidecar's, the daemon's or the server's, and this descriptor reports a loss once. So each error is kept per inode and
 * counted per open file. Nobody asks a backing id for errors when the id is given back: the kernel tells an error that
 * nobody has seen to the next opener of the file.
 */
#pragma once

#include <stdbool.h>

struct write_errors {
	unsigned count; /* losses so far */
	unsigned told;  /* number of the last loss that an fsync has told */
	int error;      /* of the last loss */
};

/* The number of the last loss that one open file has heard of. */
struct errors_heard {
	unsigned by_fsync, by_close;
};

void write_errors_add(struct write_errors *e, int error);

/* The losses that a new open has heard of. */
struct errors_heard write_errors_open(const struct write_errors *e);

/* The result of fsync or close: 0, or the error of the last loss, which is told from then on. */
int write_errors_tell(struct write_errors *e, struct errors_heard *heard, bool closes);
