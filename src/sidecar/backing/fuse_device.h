/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The /dev/fuse descriptor of a client, and the backing ids that are registered on it. The functions have no state; any
 * thread may call them.
 *
 * The descriptor is hostile: it may be of any file, also on a filesystem that never answers. So fuse_device_identify()
 * is the first call on the descriptor, and cannot wait. Until it has succeeded, only a separate process has the
 * descriptor (guarded_receive.h). ioctl numbers: include/uapi/linux/fuse.h of Linux 6.9.
 */
#pragma once

#include <stdint.h>

/* 0 if fd is the misc device 10:229 of a mount with passthrough; -ENOTTY, -EPERM, or -EBADF. */
int fuse_device_identify(int fd);

/* Registers the file behind backing with the thread's present credentials. The id (> 0), or a negative errno. */
int fuse_device_backing_open(int fd, int backing);

/* Closes a backing id. -ENOENT for an id that does not exist. */
int fuse_device_backing_close(int fd, int32_t id);
