/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sidecar/backing/filesystem_id.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/vfs.h>

/* Linux 6.9, include/uapi/linux/fs.h */
struct fs_uuid {
	uint8_t length;
	uint8_t uuid[16];
};
#define GET_FS_UUID _IOR(0x15, 0, struct fs_uuid)

int filesystem_id_read(int fd, struct filesystem_id *ret)
{
	struct fs_uuid u = {0};
	struct statx stx;
	struct statfs fs;

	if (statx(fd, "", AT_EMPTY_PATH, STATX_TYPE | STATX_INO | STATX_MNT_ID, &stx) < 0 || fstatfs(fd, &fs) < 0)
		return -errno;
	if (!S_ISDIR(stx.stx_mode))
		return -ENOTDIR;
	if ((stx.stx_mask & STATX_MNT_ID) == 0)
		return -EOPNOTSUPP;
	*ret = (struct filesystem_id){
		.mount_id = stx.stx_mnt_id,
		.inode = stx.stx_ino,
		.dev_major = stx.stx_dev_major,
		.dev_minor = stx.stx_dev_minor,
		.type = (uint32_t)fs.f_type,
		.mount_root = (stx.stx_attributes & STATX_ATTR_MOUNT_ROOT) != 0,
		.noexec = (fs.f_flags & ST_NOEXEC) != 0,
	};
	memcpy(ret->fsid, &fs.f_fsid, sizeof(ret->fsid));
	if (ioctl(fd, GET_FS_UUID, &u) == 0 && u.length == sizeof(u.uuid)) {
		ret->has_uuid = true;
		memcpy(ret->uuid, u.uuid, sizeof(ret->uuid));
	}
	return 0;
}

int filesystem_id_check(int fd, const struct filesystem_id *id)
{
	struct statx now;

	if (statx(fd, "", AT_EMPTY_PATH, STATX_INO | STATX_MNT_ID, &now) < 0)
		return -errno;
	return now.stx_mnt_id == id->mount_id && now.stx_ino == id->inode && now.stx_dev_major == id->dev_major &&
			       now.stx_dev_minor == id->dev_minor
		       ? 0
		       : -ESTALE;
}
