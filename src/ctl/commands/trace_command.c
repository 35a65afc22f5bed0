/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* localioctl trace: a line per request of the kernel that has ended on a mount, from now on. */
#include <limits.h>
#include <poll.h>

#include "base/log.h"
#include "ctl/commands/ctl_command.h"
#include "ctl/mounts/ask.h"
#include "ctl/mounts/show.h"

#define PAUSE_MS 100 /* between two questions, while little happens */

/* Prints the answer's events, as many as are still wanted. Returns their number. */
static unsigned print_events(const struct control_trace *t, bool as_json, unsigned wanted)
{
	unsigned n;

	if (t->lost > 0)
		log_warning("%llu requests were too fast to be shown", (unsigned long long)t->lost);
	for (n = 0; n < t->count && n < wanted; n++) {
		if (as_json)
			show_event_json(stdout, &t->events[n]);
		else
			show_event(stdout, &t->events[n]);
	}
	return n;
}

int trace_command(const struct ctl_arguments *a)
{
	struct control_trace t = {.last = CONTROL_TRACE_NOW};
	const char *dir = a->mounts.dirs[0];
	unsigned left = a->count > 0 ? a->count : UINT_MAX;
	_cleanup_close_ int root = -1;

	if (a->nwords > 0)
		return log_error_as(1, "%s: one mount point is enough", a->words[0]);
	if (ask_answers(dir) < 0)
		return 1;
	root = open(dir, CONTROL_OPEN_FLAGS);
	if (root < 0)
		return log_error_as(1, "%s: %s", dir, strerror(errno));
	while (left > 0) {
		if (ask_trace(dir, root, &t) < 0)
			return 1;
		left -= print_events(&t, a->as_json, left);
		if (fflush(stdout) != 0)
			return 1;
		if (t.count < CONTROL_EVENTS && left > 0)
			(void)poll(NULL, 0, PAUSE_MS);
	}
	return 0;
}
