/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* localioctl stats: what each mount has done, since its mount and then per interval, as nfsiostat(8) has it. */
#include <poll.h>

#include "base/clock.h"
#include "base/log.h"
#include "ctl/commands/ctl_command.h"
#include "ctl/mounts/show.h"
#include "ctl/stats/report_text.h"
#include "ctl/stats/rounds.h"

/* As localioctl status: one mount that was named is an object, otherwise all are an array. */
static void print_reports(const struct ctl_arguments *a, const json_t *reports)
{
	if (!a->as_json) {
		for (size_t n = 0; n < json_array_size(reports); n++)
			report_text(stdout, json_array_get(reports, n));
	} else if (!a->one_mount) {
		show_json(stdout, reports);
	} else if (json_array_size(reports) > 0) {
		show_json(stdout, json_array_get(reports, 0));
	}
}

/* Waits for a moment, now_ms(). */
static void wait_until(uint64_t moment)
{
	for (uint64_t now = now_ms(); now < moment; now = now_ms())
		(void)poll(NULL, 0, (int)(moment - now));
}

int stats_command(const struct ctl_arguments *a)
{
	unsigned count = a->interval > 0 ? a->count : 1; /* 0: without end */
	uint64_t next = now_ms();
	struct rounds rounds = {0};
	bool failed = false;

	if (a->count > 0 && a->interval == 0) {
		log_error("switch --count needs --interval SECONDS");
		return 1;
	}
	for (unsigned n = 0; count == 0 || n < count; n++) {
		json_t *reports;

		wait_until(next);
		next = now_ms() + a->interval * UINT64_C(1000);
		reports = rounds_next(&rounds, &a->mounts, &failed);
		print_reports(a, reports);
		json_decref(reports);
		if (fflush(stdout) != 0)
			break;
	}
	rounds_done(&rounds);
	return failed ? 1 : 0;
}
