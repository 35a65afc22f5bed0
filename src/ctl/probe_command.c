/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* localioctl probe: makes each mount find out at once whether its server is on this host. */
#include "ctl/mounts/ask.h"
#include "ctl/ctl_command.h"

int probe_command(const struct ctl_arguments *a)
{
	int failed = 0;

	for (size_t n = 0; n < a->mounts.count; n++)
		if (ask_probe(a->mounts.dirs[n]) < 0)
			failed = 1;
	return failed;
}
