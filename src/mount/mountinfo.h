/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The mounts that this process sees, from /proc/self/mountinfo (proc(5)). Reading it asks no file
 * system, so it works for mounts whose server is away or whose daemon has ended.
 */
#pragma once

#include "base/util.h"

/* One line; the strings are unescaped and live until the callback returns. */
struct mountinfo {
	uint64_t id;
	char *device;        /* major:minor, the same for all mounts of one file system */
	char *target;        /* relative to the process's root */
	char *type, *source; /* fuse.localiofs, and what was mounted */
	char *super_options; /* "ro" or "rw" and more, of the file system */
};

#define MOUNTINFO_TYPE "fuse.localiofs" /* what ours are */

/* Calls f for each mount, in the kernel's order, until it returns something else than 0, and returns
 * that, or a negative errno of its own. */
int mountinfo_each(int (*f)(const struct mountinfo *m, void *arg), void *arg);

/*
 * Calls f for the mount that a path ends in, when the path is its root; triggers no automount.
 * -EINVAL when the path is no mount's root, else as above.
 */
int mountinfo_at(const char *path, int (*f)(const struct mountinfo *m, void *arg), void *arg);

/*
 * Calls f for the mount that a descriptor lies on, O_PATH ones included, and asks no file system. -ENOENT where /proc
 * is not mounted, -EINVAL where the mount is not below this process's root, else as above.
 */
int mountinfo_of_fd(int fd, int (*f)(const struct mountinfo *m, void *arg), void *arg);
