/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The mount itself: from options to libfuse's words, and from what libfuse, fusermount3 and the
 * kernel say on failure to one sentence. Used by the thread that mounts, before the FUSE loop.
 */
#pragma once

#include "fuse/fs/fs.h"

/*
 * Whether /dev/fuse can be opened, so that a server is not asked in vain. -EPERM when this user may
 * not, another errno when it is not there.
 */
int kernel_mount_check_device(char *sentence, size_t size);

/* Makes fs->session from the options; libfuse logs through log.h from then on. */
int kernel_mount_new_session(struct fs *fs, const struct fuse_lowlevel_ops *ops, char *sentence, size_t size);

/* Bytes of read-ahead that a mount should have: several READs on their way to the server. */
unsigned kernel_mount_read_ahead(const struct fs *fs);

/*
 * Mounts fs->session on the directory, and learns fs->device. -EPERM when this user may not mount
 * there, -EIO when something else is in the way.
 */
int kernel_mount(struct fs *fs, const char *directory, char *sentence, size_t size);
