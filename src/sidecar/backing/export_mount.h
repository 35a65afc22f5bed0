/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * One export's filesystem while a session uses it: a descriptor of the export's directory on
 * the original mount (which makes umount say EBUSY as long as ids are out), and a private clone of
 * that mount, read-only, nosuid, nodev, noexec, on which the files of read-only ids are opened.
 *
 * Belongs to one session and its thread, whose descriptor table the descriptors are in. Counted: the
 * session holds a reference while it opens files by it, and each backing id does, so that umount is
 * told EBUSY until the last id is released, a withdrawn export's too.
 *
 * A handle must be exactly the handle that the filesystem gives the file: name_to_handle_at(2) is asked in return. This
 * needs no table of handle lengths, and holds for filesystems that this project does not know.
 */
#pragma once

#include <stdbool.h>

#include "sidecar/backing/filesystem_id.h"
#include "sidecar/backing/nfs_handle.h"

struct export_mount {
	unsigned refs;
	int root;  /* on the mount itself */
	int clone; /* on the read-only clone */
	int judge; /* on a clone without noexec where the mount has that: nfsd does not look at it; or -1 */
	struct filesystem_id id;
};

/* The export's directory; no part of the path may be a symbolic link. flags: O_PATH or O_RDONLY. */
int export_mount_open_directory(const char *path, int flags);

/* With one reference. */
int export_mount_open(const char *path, struct export_mount **ret);

struct export_mount *export_mount_ref(struct export_mount *m);

/* Takes NULL; returns NULL. */
struct export_mount *export_mount_unref(struct export_mount *m);

/* -ESTALE when path is not the directory on the mount that was opened. */
int export_mount_check(const struct export_mount *m, const char *path);

/*
 * An O_PATH descriptor of the file, to ask the kernel about and for nothing else: it may lie on the clone without
 * noexec, which knows of no remount. -ESTALE when the handle is not exactly the one that the filesystem gives the file,
 * else what open_by_handle_at(2) says.
 */
int export_mount_resolve(const struct export_mount *m, const struct nfs_handle *h);

enum export_mount_open {
	EXPORT_MOUNT_READ,
	EXPORT_MOUNT_READ_ON_CLONE,
	EXPORT_MOUNT_WRITE, /* O_RDWR */
	EXPORT_MOUNT_PATH,  /* O_PATH on the mount itself, whose flags hold for whoever opens it by that */
};

/* Opens it, without waiting for anybody: O_NONBLOCK. */
int export_mount_open_file(const struct export_mount *m, const struct nfs_handle *h, enum export_mount_open how);

/* Whether the mount or its filesystem is read-only now. */
bool export_mount_read_only(const struct export_mount *m);
