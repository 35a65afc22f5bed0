/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The command line of localiofs or mount.localiofs, parsed and checked. A plain value, constant after parsing. The
 * strings belong to argv. No state; one thread.
 */
#pragma once

#include "mount/mount_spec.h"
#include "mount/options.h"

/* mount(8), EXIT STATUS. */
enum exit_code {
	EXIT_OK = 0,
	EXIT_USAGE = 1,       /* wrong arguments, or the user is not allowed to mount */
	EXIT_SYSTEM = 2,      /* out of memory or processes */
	EXIT_INTERNAL = 4,    /* a bug in localiofs */
	EXIT_INTERRUPTED = 8, /* by the user */
	EXIT_FAIL = 32,
};

#define COMMAND_LISTS_MAX 64 /* switches -o in one command line */

struct command {
	bool helper; /* called as mount.localiofs */
	bool foreground, fake, sloppy;
	const char *spec_text;
	struct mount_spec spec;
	char directory[4096];                 /* absolute, no links; empty if the mount exists already */
	int fuse_fd;                          /* /dev/fd/N: the descriptor of an existing mount; otherwise -1 */
	const char *fuse_socket;              /* --fuse-socket: where a mounter hands over the descriptor; or NULL */
	const char *lists[COMMAND_LISTS_MAX]; /* the values of -o, in their order */
	int nlists;
	struct mount_options options; /* the defaults, changed by the defaults file, then by lists */
	char defaults[1024];          /* the options of the defaults file */
};

/*
 * Returns EXIT_OK, or the exit status of the program after one line on stderr. --help and --version print and exit. The
 * function does not access the directory, which may be an automount point or a dead mount.
 */
int command_parse(struct command *c, int argc, char **argv);

/*
 * version.c: what --version prints, a line per library. libnfs and libcap-ng do not tell their version: their lines
 * have the version at the time of the build, and that of libnfs the file that is loaded.
 */
void version_print(void);
