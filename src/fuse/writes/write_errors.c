/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "fuse/writes/write_errors.h"

void write_errors_add(struct write_errors *e, int error)
{
	e->count++;
	e->error = error;
}

struct errors_heard write_errors_open(const struct write_errors *e)
{
	return (struct errors_heard){.by_fsync = e->told, .by_close = e->count};
}

int write_errors_tell(struct write_errors *e, struct errors_heard *heard, bool closes)
{
	bool new = (closes ? heard->by_close : heard->by_fsync) != e->count;

	if (!new)
		return 0;
	heard->by_close = e->count;
	if (!closes)
		e->told = heard->by_fsync = e->count;
	return e->error;
}
