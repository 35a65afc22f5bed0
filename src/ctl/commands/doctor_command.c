/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* localioctl doctor: what must be true for the fast path, what is, and what to do. */
#include "base/log.h"
#include "ctl/commands/ctl_command.h"
#include "ctl/doctor/doctor_checks.h"
#include "ctl/mounts/show.h"

static int print(const struct doctor_facts *f, bool as_json)
{
	struct finding *findings = calloc(doctor_checks_size, sizeof(*findings));
	json_t *json;
	int status;

	if (!findings)
		return 2;
	doctor_judge(f, findings);
	status = doctor_exit_status(findings);
	json = as_json ? doctor_json(findings) : NULL;
	if (json)
		show_json(stdout, json);
	else
		doctor_print_text(stdout, findings);
	json_decref(json);
	free(findings);
	return status;
}

int doctor_command(const struct ctl_arguments *a)
{
	_cleanup_free_ struct doctor_facts *f = calloc(1, sizeof(*f));
	int status;

	if (!f || (!a->one_mount && !a->all_mounts)) {
		log_error("doctor: expected no word, or one: SERVER:/EXPORT, a mount point, or a file in a mount");
		return 2;
	}
	/* The findings say what is wrong. */
	log_to(LOG_TO_NOBODY);
	options_init(&f->options);
	facts_of_machine(&f->machine);
	if (a->one_mount)
		facts_of_target(f, a->mounts.dirs[0], a->options);
	else
		facts_of_defaults(f);
	(void)snprintf(f->registry.path, sizeof(f->registry.path), "%s", f->options.registry);
	facts_of_registry(&f->registry, &f->sidecar);
	if (f->subject >= DOCTOR_SERVER && f->spec_error == 0 && f->spec.host[0])
		facts_of_server(f);
	status = print(f, a->as_json);
	facts_done(f);
	return status;
}
