/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The commands of localioctl. A new command is a function in a file of this folder, its line here, and a line in the
 * table of main.c. One thread.
 */
#pragma once

#include "ctl/mounts/mount_list.h"

struct ctl_arguments {
	struct mount_list mounts;
	bool one_mount;     /* exactly one mount point was given as a word */
	bool all_mounts;    /* no mount point was given */
	char *const *words; /* those behind the mount point, for commands that are about one mount */
	size_t nwords;
	bool as_json;        /* --json */
	unsigned interval;   /* --interval in seconds; 0: not given */
	unsigned count;      /* --count; 0: not given */
	bool batch;          /* --batch */
	const char *options; /* -o, or NULL */
	const char *control; /* --control; NULL: not given */
};

/* Each returns the exit status: 0, or 1 after a line on stderr for each mount that did not answer; doctor also 2. */
int status_command(const struct ctl_arguments *a);
int list_command(const struct ctl_arguments *a);
int set_command(const struct ctl_arguments *a);
int trace_command(const struct ctl_arguments *a);
int probe_command(const struct ctl_arguments *a);
int ready_command(const struct ctl_arguments *a);
int sidecar_command(const struct ctl_arguments *a); /* 1 also if the sidecar does not answer */
int stats_command(const struct ctl_arguments *a);
int top_command(const struct ctl_arguments *a);
int doctor_command(const struct ctl_arguments *a);
