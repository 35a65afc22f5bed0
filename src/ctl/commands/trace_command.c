/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* localioctl trace: a line per request of the kernel that has ended on a mount, from now on. */
#include <limits.h>
#include <poll.h>
#include <time.h>

#include "base/log.h"
#include "ctl/commands/ctl_command.h"
#include "ctl/mounts/ask.h"
#include "ctl/mounts/show.h"

#define PAUSE_MS 100 /* between two questions, while little happens */

/* The daemon may be anybody's: its texts may lack an end. */
#define TEXT(array) (int)sizeof(array), (array)

static json_t *event_json(const struct control_event *e)
{
	char operation[sizeof(e->operation) + 1], path[sizeof(e->path) + 1];

	(void)snprintf(operation, sizeof(operation), "%.*s", TEXT(e->operation));
	(void)snprintf(path, sizeof(path), "%.*s", TEXT(e->path));
	return json_pack("{s:I, s:s, s:s, s:I, s:I, s:I, s:I, s:I, s:I, s:i}", "request", (json_int_t)e->request,
		"operation", operation, "path", path, "ended_us", (json_int_t)e->ended_us, "microseconds",
		(json_int_t)e->took_us, "uid", (json_int_t)e->uid, "pid", (json_int_t)e->pid, "fileid",
		(json_int_t)e->fileid, "bytes", (json_int_t)e->bytes, "error", e->error);
}

static void print_text(const struct control_event *e)
{
	time_t seconds = (time_t)(e->ended_us / 1000000);
	char clock[32] = "";
	struct tm tm;

	if (localtime_r(&seconds, &tm))
		(void)strftime(clock, sizeof(clock), "%H:%M:%S", &tm);
	(void)printf("%s.%06d %-15.*s %-7.*s %8u us  uid %-5u pid %-7u file %-12llu %8llu B  %s\n", clock,
		(int)(e->ended_us % 1000000), TEXT(e->operation), TEXT(e->path), e->took_us, e->uid, e->pid,
		(unsigned long long)e->fileid, (unsigned long long)e->bytes, e->error ? strerror(e->error) : "done");
}

/* Prints the answer's events, as many as are still wanted. Returns their number. */
static unsigned print_events(const struct control_trace *t, bool as_json, unsigned wanted)
{
	unsigned n;

	if (t->lost > 0)
		log_warning("%llu requests were too fast to be shown", (unsigned long long)t->lost);
	for (n = 0; n < t->count && n < wanted; n++) {
		if (as_json) {
			json_t *json = event_json(&t->events[n]);

			show_json_line(stdout, json);
			json_decref(json);
		} else {
			print_text(&t->events[n]);
		}
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
