/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A FUSE mount whose daemon is another process. The struct is a value of its owner; one thread.
 *
 * The mount is made with fsopen(2), fsmount(2) and move_mount(2) on descriptors. The directory is opened once, before
 * the first mount: a user who controls a directory on the path cannot move a later mount, or the unmounting, elsewhere.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

struct fuse_mount_options {
	const char *directory; /* for messages */
	int directory_fd;      /* O_PATH; of fuse_mount_open_directory() */
	const char *source;    /* SERVER:/EXPORT, shown in /proc/mounts */
	uid_t uid;             /* of the daemon: user_id and group_id of the mount */
	gid_t gid;
	unsigned long
		flags; /* MS_RDONLY, MS_NOEXEC ...; nosuid and nodev are always set, since the daemon is a stranger */
};

struct fuse_mount {
	int fuse_fd;  /* of /dev/fuse, for the daemon; -1 after the handover */
	int mount_fd; /* of the mount; -1 if there is none */
};

#define FUSE_MOUNT_NONE ((struct fuse_mount){.fuse_fd = -1, .mount_fd = -1})

/* Opens the directory; refuses a symbolic link. Returns the descriptor, or a negative errno and a sentence. */
int fuse_mount_open_directory(const char *directory, char *sentence, size_t size);

/* Mounts. Returns 0, or a negative errno and a sentence. */
int fuse_mount(const struct fuse_mount_options *o, struct fuse_mount *ret, char *sentence, size_t size);

/* Unmounts, lazily, and closes both descriptors. Without a mount it only closes. */
void fuse_mount_end(struct fuse_mount *m);
