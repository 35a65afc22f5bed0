/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "ctl/stats/rounds.h"

#include "base/clock.h"
#include "ctl/mounts/ask.h"
#include "ctl/stats/report.h"

#define ASKED "asked_ms" /* in a remembered status */

/* The seconds since the mount's start. An older daemon does not say, and its rates are totals. */
static double age(const json_t *status)
{
	double started = report_number(status, "started");

	return started > 0 ? MAX((double)time(NULL) - started, 1.0) : 1.0;
}

static json_t *report_on(const struct rounds *r, const char *dir, json_t *status)
{
	const json_t *before = json_object_get(r->before, dir);
	double now = (double)now_ms();

	(void)json_object_set_new(status, ASKED, json_real(now));
	return report_make(before, status, before ? (now - report_number(before, ASKED)) / 1000 : age(status));
}

/* A mount whose daemon has ended or hangs has done nothing that could be told. */
static void add_lost(json_t *reports, const char *dir, int error)
{
	json_t *status = ask_status_of_lost(dir, error);

	if (status)
		(void)json_array_append_new(reports, report_make(status, status, 0));
	json_decref(status);
}

json_t *rounds_next(struct rounds *r, const struct mount_list *mounts, bool *ret_failed)
{
	json_t *reports = json_array(), *statuses = json_object();

	*ret_failed = false;
	for (size_t n = 0; n < mounts->count; n++) {
		json_t *status = NULL;
		int error = ask_status(mounts->dirs[n], &status);

		*ret_failed |= error < 0;
		if (error < 0) {
			add_lost(reports, mounts->dirs[n], error);
			continue;
		}
		(void)json_array_append_new(reports, report_on(r, mounts->dirs[n], status));
		(void)json_object_set_new_nocheck(statuses, mounts->dirs[n], status);
	}
	json_decref(r->before);
	r->before = statuses;
	return reports;
}

void rounds_done(struct rounds *r)
{
	json_decref(r->before);
	r->before = NULL;
}
