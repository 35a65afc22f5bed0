/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * localioctl probe: makes each mount find out at once whether its server is on this host.
 * localioctl ready: true if each mount answers. For startup probes, and for units that need a mount.
 */
#include "base/log.h"
#include "ctl/commands/ctl_command.h"
#include "ctl/mounts/ask.h"

static int ask_each(const struct mount_list *mounts, int (*ask)(const char *dir))
{
	int failed = 0;

	for (size_t n = 0; n < mounts->count; n++)
		if (ask(mounts->dirs[n]) < 0)
			failed = 1;
	return failed;
}

int probe_command(const struct ctl_arguments *a)
{
	return ask_each(&a->mounts, ask_probe);
}

int ready_command(const struct ctl_arguments *a)
{
	if (a->mounts.count == 0)
		return log_error_as(1, "no localiofs mount is there");
	return ask_each(&a->mounts, ask_answers);
}
