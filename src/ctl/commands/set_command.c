/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* localioctl set: changes options of a running mount. */
#include "base/log.h"
#include "ctl/commands/ctl_command.h"
#include "ctl/mounts/ask.h"
#include "localiofs/control.h"

int set_command(const struct ctl_arguments *a)
{
	struct control_setting s = {0};
	size_t used = 0;

	if (a->nwords == 0)
		return log_error_as(1, "no option was given; expected localioctl set MOUNTPOINT OPTION=VALUE...");
	for (size_t n = 0; n < a->nwords && used < sizeof(s.list); n++)
		used += (size_t)snprintf(s.list + used, sizeof(s.list) - used, "%s%s", n == 0 ? "" : ",", a->words[n]);
	if (used >= sizeof(s.list))
		return log_error_as(1, "the options are too long; expected at most %zu bytes", sizeof(s.list) - 1);
	return ask_change(a->mounts.dirs[0], &s) < 0;
}
