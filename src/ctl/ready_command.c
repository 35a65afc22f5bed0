/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* localioctl ready: true if each mount answers. For startup probes, and for units that need a mount. */
#include "base/log.h"
#include "ctl/mounts/ask.h"
#include "ctl/ctl_command.h"

int ready_command(const struct ctl_arguments *a)
{
	int failed = 0;

	if (a->mounts.count == 0) {
		log_error("no localiofs mount is there");
		return 1;
	}
	for (size_t n = 0; n < a->mounts.count; n++)
		if (ask_answers(a->mounts.dirs[n]) < 0)
			failed = 1;
	return failed;
}
