/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The last operations and what came of them, for the report about one that differs. */
#pragma once

#include "step.h"

/* trace: where each operation is written for --replay, or NULL. */
void journal_open(const char *trace);

/* Before it runs: also shown when it never returns. */
void journal_begin(const struct op *op);

void journal_end(const struct world *w, const struct op *op, const struct step *s);

/* The operations about the same files, names and open files as the last one, and the very last. */
void journal_report(void);

/* "kind NAME DONE SUCCEEDED" and "errno NAME COUNT", one a line. */
void journal_summary(void);
