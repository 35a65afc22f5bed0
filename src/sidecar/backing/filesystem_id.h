/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The identity of an export's directory and its filesystem: the data from which NFS servers make the filesystem's part
 * of their file handles. A value.
 *
 * The UUID comes from FS_IOC_GETFSUUID (Linux 6.9, as passthrough) and not from blkid: it is the UUID of the mounted
 * filesystem, needs no device, and cannot be the UUID of another filesystem.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct filesystem_id {
	uint64_t mount_id;
	uint64_t inode; /* of the export's directory */
	uint32_t dev_major, dev_minor;
	uint32_t type;    /* statfs f_type */
	uint32_t fsid[2]; /* statfs f_fsid */
	bool has_uuid;
	uint8_t uuid[16]; /* FS_IOC_GETFSUUID, the UUID that blkid reads from the disk */
	bool mount_root;  /* the directory is a mount point */
	bool noexec;      /* the mount's flag */
};

/* fd: a directory; an O_PATH descriptor gives no UUID. -ENOTDIR, or the error of a system call. */
int filesystem_id_read(int fd, struct filesystem_id *ret);

/* 0 if fd (O_PATH is sufficient) is the same directory on the same mount; -ESTALE if not. */
int filesystem_id_check(int fd, const struct filesystem_id *id);
