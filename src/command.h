/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The words localiofs or mount.localiofs was called with, taken apart and checked. A plain value,
 * constant after parsing; the strings are argv's.
 */
#pragma once

#include "mount/mount_spec.h"
#include "mount/options.h"

/* mount(8), EXIT STATUS. */
enum exit_code {
	EXIT_OK = 0,
	EXIT_USAGE = 1,       /* wrong words, or this user may not */
	EXIT_SYSTEM = 2,      /* no process, no memory */
	EXIT_INTERNAL = 4,    /* a bug of ours */
	EXIT_INTERRUPTED = 8, /* by the user */
	EXIT_FAIL = 32,
};

#define COMMAND_LISTS_MAX 64 /* -o on one command line */

struct command {
	bool helper; /* called as mount.localiofs */
	bool foreground, fake, sloppy;
	const char *spec_text;
	struct mount_spec spec;
	char directory[4096];                 /* absolute, no links */
	const char *lists[COMMAND_LISTS_MAX]; /* of -o, in their order */
	int nlists;
	struct mount_options options; /* these lists, on the defaults */
};

/*
 * EXIT_OK, or after one line on stderr what to exit with. --help and --version print and exit.
 * Nothing is asked of a file system: the directory may be an automount trap, or a dead mount.
 */
int command_parse(struct command *c, int argc, char **argv);
