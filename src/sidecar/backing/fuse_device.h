/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The /dev/fuse descriptor that a client handed over, and the backing ids registered on it.
 *
 * The descriptor is hostile: it may be of any file, one whose filesystem never answers included. So
 * fuse_device_identify() is the first call on it and asks for nothing that could wait; only a process of its own
 * has it until that says what it is (guarded_receive.h). ioctl numbers: include/uapi/linux/fuse.h
 * of Linux 6.9.
 */
#pragma once

#include <stdint.h>

/* 0 when it is the misc device 10:229 of a mount with passthrough; -ENOTTY, -EPERM. */
int fuse_device_identify(int fd);

/* Registers the file behind backing with the credentials of now; the id (> 0) or a negative errno. */
int fuse_device_backing_open(int fd, int backing);

/* -ENOENT for an id that is not there. */
int fuse_device_backing_close(int fd, int32_t id);
