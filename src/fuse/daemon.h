/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A mount from its options to its end: asks the mount daemon for the export, connects to the server, mounts, runs the
 * FUSE loop, and stops and frees all parts in the order in which they need each other.
 *
 * One daemon per process. The main thread calls daemon_run(), which owns all state. The callbacks run on its thread,
 * except ready(), which runs on one of libfuse's threads.
 */
#pragma once

#include "mount/mount_spec.h"
#include "mount/options.h"

struct daemon_options {
	const struct mount_options *mount;
	const struct mount_spec *spec;
	const char *spec_text;
	const char *defaults;  /* the options among mount that the defaults file gave */
	const char *directory; /* absolute; unused with fuse_fd */
	int fuse_fd;           /* the descriptor of an existing mount, which the daemon takes over; -1: mount */
	bool foreign_users;    /* that mount was made in another user namespace, so its ids are not translated */
	bool foreign_pids;     /* that mount was made in another pid namespace, or in an unknown one */
	/*
	 * Called once, when the kernel has accepted the mount and the daemon can answer requests. A negative errno ends
	 * the mount.
	 */
	int (*ready)(void *arg);
	/*
	 * Called once, when the server does not answer and the daemon goes on trying in the background (bg). The
	 * sentence says why. A negative errno ends the attempts.
	 */
	int (*waiting)(void *arg, const char *sentence);
	/*
	 * Called once, right before the file system is mounted, for the caller's last checks. A negative errno, with a
	 * sentence that says why, ends the mount.
	 */
	int (*begin)(void *arg, char *sentence, size_t size);
	void *arg;
};

/*
 * Runs the mount until it is unmounted or a signal ends it. Returns 0, or a negative errno and a sentence that says why
 * mounting failed (-EPERM: this user may not mount there, or not at all).
 */
int daemon_run(const struct daemon_options *options, char *sentence, size_t size);
