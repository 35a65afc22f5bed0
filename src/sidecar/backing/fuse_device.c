/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sidecar/backing/fuse_device.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/stat.h>

#define FUSE_MAJOR 10
#define FUSE_MINOR 229

/* Debian 12's headers are older than passthrough. */
struct backing_map {
	int32_t fd;
	uint32_t flags;
	uint64_t padding;
};
#define BACKING_OPEN  _IOW(229, 1, struct backing_map)
#define BACKING_CLOSE _IOW(229, 2, uint32_t)

int fuse_device_identify(int fd)
{
	struct statx stx;
	int r;

	if (statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_TYPE, &stx) < 0)
		return -errno;
	if (!S_ISCHR(stx.stx_mode) || stx.stx_rdev_major != FUSE_MAJOR || stx.stx_rdev_minor != FUSE_MINOR)
		return -ENOTTY;
	/*
	 * The kernel never assigns this id, so a mount's connection answers -ENOENT. -EPERM: the descriptor has no
	 * connection, or a connection without passthrough. -EBADF: an O_PATH descriptor.
	 */
	r = fuse_device_backing_close(fd, INT32_MAX);
	return r == -ENOENT ? 0 : r < 0 ? r : -EPERM;
}

int fuse_device_backing_open(int fd, int backing)
{
	struct backing_map map = {.fd = backing};
	int id = ioctl(fd, BACKING_OPEN, &map);

	return id < 0 ? -errno : id;
}

int fuse_device_backing_close(int fd, int32_t id)
{
	uint32_t arg = (uint32_t)id;

	return ioctl(fd, BACKING_CLOSE, &arg) < 0 ? -errno : 0;
}
