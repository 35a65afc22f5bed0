/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Data of one file that was lost after its writer had been answered, and who has heard of it.
 *
 * fsync(2) follows the kernel's rule (lib/errseq.c, mm/filemap.c file_check_and_advance_wb_err): each open file hears
 * of a loss once, also one that has written nothing; a loss of which no fsync has told yet is told to later opens, too.
 * close(2) tells of what was lost since the open, once, unless fsync did. It takes nothing from any fsync: nobody may
 * have looked at its answer, as when a child exits that had inherited the descriptor.
 *
 * A value; the lock of the write log that has it guards it, and struct errors_heard.
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
	unsigned told;  /* the last one of which an fsync has told */
	int error;      /* the last one's */
};

/* The last loss of which one open file has heard. */
struct errors_heard {
	unsigned by_fsync, by_close;
};

void write_errors_add(struct write_errors *e, int error);

/* What a new open begins with. */
struct errors_heard write_errors_open(const struct write_errors *e);

/* What fsync, or close, is to say: 0, or the error of the last loss, which with that is told. */
int write_errors_tell(struct write_errors *e, struct errors_heard *heard, bool closes);
