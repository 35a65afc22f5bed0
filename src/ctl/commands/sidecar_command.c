/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* localioctl sidecar: the view of the sidecar on this host, by its control socket. For root of the host. */
#include "base/log.h"
#include "ctl/commands/ctl_command.h"
#include "ctl/mounts/show.h"
#include "ctl/sidecar/ask_sidecar.h"
#include "ctl/sidecar/show_sidecar.h"
#include "localiofs/sidecar_control.h"

int sidecar_command(const struct ctl_arguments *a)
{
	json_t *json;

	if (!a->all_mounts) {
		log_error("localioctl sidecar takes no mount point; --control names another sidecar's socket");
		return 1;
	}
	json = ask_sidecar(a->control ? a->control : SIDECAR_CONTROL_DEFAULT);
	if (!json)
		return 1;
	if (a->as_json)
		show_json(stdout, json);
	else
		show_sidecar(stdout, json);
	json_decref(json);
	return 0;
}
