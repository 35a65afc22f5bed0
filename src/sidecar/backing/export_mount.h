/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The mount of an export that a session uses: a descriptor of the export's directory on the mount itself, which makes
 * umount(2) fail with EBUSY, and a private clone of the mount, read-only, nosuid, nodev and noexec, for the files of
 * read-only ids.
 *
 * Belongs to one session, in whose descriptor table the descriptors are. The locator holds a reference while it uses
 * the export, each backing id holds one, and each change of names that is under way. So umount(2) fails until the last
 * id is released, also when the export is gone. Any thread of the session may take and give up references.
 *
 * A handle must be exactly the handle that the filesystem gives the file: name_to_handle_at(2) is asked in return. This
 * needs no table of handle lengths, and holds for filesystems that this project does not know.
 */
#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/stat.h>

#include "sidecar/backing/filesystem_id.h"
#include "handle/nfs_handle.h"

struct export_mount {
	atomic_uint refs;
	int root;  /* the export's directory on the mount itself */
	int clone; /* the directory on the read-only clone */
	int judge; /* the directory on a clone without noexec, if the mount is noexec, which nfsd ignores; else -1 */
	struct filesystem_id id;

	pthread_mutex_t lock;    /* guards what follows */
	int kept;                /* what export_mount_keep() keeps, or -1 */
	struct nfs_handle whose; /* the handle of that directory */
};

/* Opens the export's directory; no part of the path may be a symbolic link. flags: O_PATH or O_RDONLY. */
int export_mount_open_directory(const char *path, int flags);

/* Opens the mount of an export, with one reference. */
int export_mount_open(const char *path, struct export_mount **ret);

struct export_mount *export_mount_ref(struct export_mount *m);

/* Takes NULL; returns NULL. */
struct export_mount *export_mount_unref(struct export_mount *m);

/* 0 if path still leads to the opened directory on the opened mount; -ESTALE if not. */
int export_mount_check(const struct export_mount *m, const char *path);

/*
 * An O_PATH descriptor of the file, for the kernel's permission checks only: it may be on the clone without noexec,
 * which follows no remount. -ESTALE if the handle is not exactly the handle that the filesystem gives the file, else
 * the error of open_by_handle_at(2).
 */
int export_mount_resolve(const struct export_mount *m, const struct nfs_handle *h);

/* True if the descriptors of export_mount_resolve() are on another mount, where noexec does not count. */
bool export_mount_has_judge(const struct export_mount *m);

/*
 * An O_PATH descriptor of the directory on the mount itself, where names lead to what is mounted there. Errors as
 * export_mount_resolve(), and -ENOTDIR.
 */
int export_mount_directory(const struct export_mount *m, const struct nfs_handle *h);

/* The attributes of a file by its descriptor, which may be O_PATH. 0 or a negative errno. */
int export_mount_attributes(int fd, struct statx *ret);

/*
 * export_mount_directory() with the directory's attributes; but export_mount_keep() takes the descriptor back, in place
 * of close(2), and keeps the last one for the next caller: changes of names come in rows to one directory. A directory
 * that others have removed keeps its inode until another directory takes its place here.
 */
int export_mount_take(struct export_mount *m, const struct nfs_handle *h, struct statx *ret_stx);
void export_mount_keep(struct export_mount *m, const struct nfs_handle *h, int fd);

/* As export_mount_directory(), of any file. */
int export_mount_file(const struct export_mount *m, const struct nfs_handle *h);

enum export_mount_open {
	EXPORT_MOUNT_READ,
	EXPORT_MOUNT_READ_ON_CLONE,
	EXPORT_MOUNT_WRITE, /* O_RDWR */
	EXPORT_MOUNT_PATH,  /* O_PATH on the mount itself: an open through this descriptor obeys the mount's flags */
	EXPORT_MOUNT_PATH_ON_CLONE,
};

/* Opens the file with O_NONBLOCK, so that the open does not wait (for a lease, for example). */
int export_mount_open_file(const struct export_mount *m, const struct nfs_handle *h, enum export_mount_open how);

/*
 * True if the handle of a file is valid for as long as the file is open and has a name. On btrfs, and on filesystems
 * that this project does not know, a subvolume with all its files may be removed at once.
 */
bool export_mount_handles_last(const struct export_mount *m);

/* True if the mount or its filesystem is read-only now. */
bool export_mount_read_only(const struct export_mount *m);
