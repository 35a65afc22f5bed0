/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* localioctl list: a line per mount. A mount that does not answer, or may not be asked, has its line, too. */
#include "base/log.h"
#include "ctl/commands/ctl_command.h"
#include "ctl/mounts/ask.h"
#include "ctl/mounts/show.h"

/* The keys of a mount that a list has, where the status has them. */
static const char *const keys[] = {"mountpoint", "spec", "state", "reason", "pid"};

static json_t *line_of(const char *dir)
{
	json_t *status = NULL, *line = json_object();
	int r = ask_status(dir, &status);

	if (r == 0 && !show_is_status(status)) {
		json_decref(status);
		r = -EPROTO;
	}
	if (r < 0)
		status = ask_status_of_silent(dir, r);
	for (size_t n = 0; n < ARRAY_SIZE(keys); n++) {
		json_t *value = json_object_get(status, keys[n]);

		if (value && (json_is_string(value) || strcmp(keys[n], "pid") == 0))
			(void)json_object_set(line, keys[n], value);
	}
	json_decref(status);
	return line;
}

int list_command(const struct ctl_arguments *a)
{
	json_t *lines = json_array();

	log_to(LOG_TO_NOBODY); /* a mount's line says all that errors would say */
	for (size_t n = 0; n < a->mounts.count; n++)
		(void)json_array_append_new(lines, line_of(a->mounts.dirs[n]));
	if (a->as_json)
		show_json(stdout, lines);
	else
		show_list(stdout, lines);
	json_decref(lines);
	return 0;
}
