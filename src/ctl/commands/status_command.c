/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* localioctl status: the state of each mount, as text or as JSON. */
#include "ctl/mounts/ask.h"
#include "ctl/commands/ctl_command.h"
#include "ctl/mounts/show.h"

/* A mount that does not answer has a status of localioctl's own, or none (NULL). */
static json_t *status_of(const char *dir, int *failed)
{
	json_t *status = NULL;
	int r = ask_status(dir, &status);

	if (r >= 0)
		return status;
	*failed = 1;
	return ask_status_of_lost(dir, r);
}

static int show_texts(const struct mount_list *mounts)
{
	int failed = 0;

	for (size_t n = 0; n < mounts->count; n++) {
		json_t *status = status_of(mounts->dirs[n], &failed);

		if (status)
			show_text(stdout, mounts->dirs[n], status);
		json_decref(status);
	}
	return failed;
}

/* One mount that was named is an object, which is missing if the mount does not answer; otherwise an array. */
static int show_jsons(const struct mount_list *mounts, bool one_mount)
{
	json_t *all = json_array();
	int failed = 0;

	for (size_t n = 0; n < mounts->count; n++) {
		json_t *status = status_of(mounts->dirs[n], &failed);

		if (status)
			(void)json_array_append_new(all, status);
	}
	if (!one_mount)
		show_json(stdout, all);
	else if (json_array_size(all) == 1)
		show_json(stdout, json_array_get(all, 0));
	json_decref(all);
	return failed;
}

int status_command(const struct ctl_arguments *a)
{
	return a->as_json ? show_jsons(&a->mounts, a->one_mount) : show_texts(&a->mounts);
}
