/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What tells an export's directory and its filesystem from all others: the facts that NFS servers
 * make the filesystem part of their handles of. A value.
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
	uint8_t uuid[16]; /* FS_IOC_GETFSUUID: what blkid reads from the disk */
	bool mount_root;  /* the directory is a mount point */
	bool noexec;      /* the mount's flag */
};

/* fd: a directory; with O_PATH no UUID is found. -ENOTDIR, or what the calls say. */
int filesystem_id_read(int fd, struct filesystem_id *ret);

/* Whether fd (O_PATH will do) is that directory of that mount: the path still leads where it led. -ESTALE when not. */
int filesystem_id_check(int fd, const struct filesystem_id *id);
