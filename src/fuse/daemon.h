/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A mount from its options to its end: asks mountd, connects, mounts, runs the FUSE loop, and takes
 * everything down in the order in which the parts need each other.
 */
#pragma once

#include "mount/mount_spec.h"
#include "mount/options.h"

struct daemon_options {
	const struct mount_options *mount;
	const struct mount_spec *spec;
	const char *spec_text;
	const char *directory; /* absolute */
	/*
	 * Called once, when the kernel has accepted the mount and requests are answered. A negative
	 * errno ends the mount.
	 */
	int (*ready)(void *arg);
	/*
	 * Called once when the server does not answer and mounting goes on without anybody waiting (bg).
	 * A negative errno ends that.
	 */
	int (*waiting)(void *arg, const char *sentence);
	/* Called once before the file system is mounted, for a last look; a negative errno and a sentence end that. */
	int (*begin)(void *arg, char *sentence, size_t size);
	void *arg;
};

/*
 * Runs the mount until it is unmounted or a signal ends it. 0, or a negative errno with the
 * sentence saying why mounting failed (-EPERM: this user may not mount there, or not at all); after
 * ready() was called it returns 0.
 */
int daemon_run(const struct daemon_options *options, char *sentence, size_t size);
