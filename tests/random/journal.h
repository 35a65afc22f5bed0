/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The last operations and their results, for the report about a difference. Only the main thread uses it. */
#pragma once

#include "step.h"

/* trace: the file to which each operation is written for --replay, or NULL. */
void journal_open(const char *trace);

/* Before the operation runs. If it does not return, a signal handler prints it and ends the program. */
void journal_begin(const struct op *op);

/* After the operation. */
void journal_end(const struct world *w, const struct op *op, const struct step *s);

/* Prints the last operations, and older ones with the same files, names or open files as the last one. */
void journal_report(void);

/* Prints "kind NAME DONE SUCCEEDED" and "errno NAME COUNT", one per line. */
void journal_summary(void);
