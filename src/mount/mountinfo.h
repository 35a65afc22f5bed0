/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The mounts that this process sees, from /proc/self/mountinfo (proc(5)). Reading the table asks no file system, so it
 * works for mounts whose server is away or whose daemon has ended. No state; any thread.
 */
#pragma once

#include "base/util.h"

/* A line of the table. The strings are unescaped and live until the callback returns. */
struct mountinfo {
	uint64_t id;
	char *device;        /* major:minor, the same for all mounts of one file system */
	char *target;        /* relative to the process's root */
	char *type, *source; /* such as fuse.localiofs, and SERVER:/EXPORT */
	char *super_options; /* "ro" or "rw" and more, of the file system */
};

/* The number of this process's mount namespace, the inode number of /proc/self/ns/mnt; 0 if that is not visible. */
uint32_t mountinfo_namespace(void);

#define MOUNTINFO_TYPE "fuse.localiofs" /* the type of localiofs mounts */

/*
 * Calls f for each mount, in the kernel's order, until f returns another value than 0. Returns that value, or -errno.
 */
int mountinfo_each(int (*f)(const struct mountinfo *m, void *arg), void *arg);

/* The same for the mounts that another process sees. */
int mountinfo_each_of(pid_t pid, int (*f)(const struct mountinfo *m, void *arg), void *arg);

/*
 * Calls f for the topmost mount whose root is the path; triggers no automount. -EINVAL if the path is not the root of a
 * mount, otherwise as above.
 */
int mountinfo_at(const char *path, int (*f)(const struct mountinfo *m, void *arg), void *arg);

/*
 * Calls f for the mount of a descriptor, which may be O_PATH, and asks no file system. -ENOENT if /proc is not mounted,
 * -EINVAL if the mount is not below this process's root, otherwise as above.
 */
int mountinfo_of_fd(int fd, int (*f)(const struct mountinfo *m, void *arg), void *arg);
