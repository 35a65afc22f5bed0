/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The kernel's mount: turns our options into libfuse's options, mounts, and on failure makes one sentence from the
 * messages of libfuse, fusermount3 and the kernel. Only the thread that mounts uses these functions, before the FUSE
 * loop. sentence: the caller's buffer, which gets the reason of a failure.
 */
#pragma once

#include "fuse/fs/fs.h"

/*
 * Checks that this user can open /dev/fuse, before any server is asked. -EPERM if the user may not open the device,
 * another errno if the device does not exist.
 */
int kernel_mount_check_device(char *sentence, size_t size);

/* Makes fs->session from the options; libfuse logs through log.h from then on. */
int kernel_mount_new_session(struct fs *fs, const struct fuse_lowlevel_ops *ops, char *sentence, size_t size);

/* The read-ahead of the mount in bytes: enough for several READs to the server at the same time. */
unsigned kernel_mount_read_ahead(const struct fs *fs);

/*
 * Mounts fs->session on the directory, and sets fs->device. -EPERM if this user may not mount on the directory, -EIO
 * for any other failure.
 */
int kernel_mount(struct fs *fs, const char *directory, char *sentence, size_t size);

/*
 * Takes over the descriptor of a mount that another program has made, and sets fs->device. -EIO if libfuse refuses the
 * descriptor. At the daemon's end the mount stays, without a daemon, until that program unmounts.
 */
int kernel_mount_take(struct fs *fs, int fuse_fd, char *sentence, size_t size);

/* Ends the rings and closes the descriptor of such a mount. */
void kernel_mount_give_up(struct fs *fs);
