/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sidecar/export_mount.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/vfs.h>

#include "util.h"

/* Linux 6.9, include/uapi/linux/fs.h */
struct fs_uuid {
	uint8_t length;
	uint8_t uuid[16];
};
#define GET_FS_UUID _IOR(0x15, 0, struct fs_uuid)

/*
 * No symlink anywhere in it: the server looked the path up once, the sidecar does so again and again,
 * and who may write to a directory above must not lead it to another filesystem.
 */
static int open_directory(const char *path, uint64_t flags)
{
	struct open_how how = {.flags = flags | O_DIRECTORY | O_CLOEXEC, .resolve = RESOLVE_NO_SYMLINKS};
	long fd = syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof(how));

	return fd < 0 ? -errno : (int)fd;
}

static int stat_directory(int fd, struct statx *ret)
{
	if (statx(fd, "", AT_EMPTY_PATH, STATX_TYPE | STATX_INO | STATX_MNT_ID, ret) < 0)
		return -errno;
	if (!S_ISDIR(ret->stx_mode))
		return -ENOTDIR;
	return (ret->stx_mask & STATX_MNT_ID) != 0 ? 0 : -EOPNOTSUPP;
}

static int clone_read_only(int root)
{
	struct mount_attr attr = {
		.attr_set = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC};
	_cleanup_close_ int tree =
		open_tree(root, "", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_EMPTY_PATH);
	int fd;

	if (tree < 0 || mount_setattr(tree, "", AT_EMPTY_PATH, &attr, sizeof(attr)) < 0)
		return -errno;
	/* The clone lives as long as this descriptor of it; the tree's own is an O_PATH one. */
	fd = openat(tree, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

/* All zero when the filesystem has none or does not say: then no UUID handle is its own. */
static void read_uuid(const struct export_mount *m, uint8_t ret[16])
{
	struct fs_uuid u = {0};

	memset(ret, 0, 16);
	if (ioctl(m->root, GET_FS_UUID, &u) == 0 && u.length == sizeof(u.uuid))
		memcpy(ret, u.uuid, sizeof(u.uuid));
}

int export_mount_open(uint16_t export_id, const char *path, struct export_mount **ret)
{
	struct export_mount *m = calloc(1, sizeof(*m));
	struct statx stx;
	struct statfs fs;
	int r;

	if (m == NULL)
		return -ENOMEM;
	*m = (struct export_mount){.refs = 1, .export_id = export_id, .root = -1, .clone = -1};
	/* Not O_PATH: open_by_handle_at() takes none. */
	r = m->root = open_directory(path, O_RDONLY);
	if (r >= 0)
		r = stat_directory(m->root, &stx);
	if (r >= 0 && fstatfs(m->root, &fs) < 0)
		r = -errno;
	if (r >= 0)
		r = m->clone = clone_read_only(m->root);
	if (r < 0) {
		(void)export_mount_unref(m);
		return r;
	}
	m->mount_id = stx.stx_mnt_id;
	m->inode = stx.stx_ino;
	m->dev_major = stx.stx_dev_major;
	m->dev_minor = stx.stx_dev_minor;
	memcpy(m->fsid, &fs.f_fsid, sizeof(m->fsid));
	read_uuid(m, m->uuid);
	*ret = m;
	return 0;
}

struct export_mount *export_mount_ref(struct export_mount *m)
{
	m->refs++;
	return m;
}

struct export_mount *export_mount_unref(struct export_mount *m)
{
	if (m == NULL || --m->refs > 0)
		return NULL;
	(void)close_fd(m->clone);
	(void)close_fd(m->root);
	free(m);
	return NULL;
}

int export_mount_check(const struct export_mount *m, const char *path)
{
	_cleanup_close_ int fd = open_directory(path, O_PATH);
	struct statx stx;
	int r = fd < 0 ? fd : stat_directory(fd, &stx);

	if (r < 0)
		return r;
	if (stx.stx_mnt_id != m->mount_id || stx.stx_ino != m->inode ||
		stx.stx_dev_major != m->dev_major || stx.stx_dev_minor != m->dev_minor)
		return -ESTALE;
	return 0;
}

/* posix_get_fsid() of Ganesha's FSAL/localfs.c says which values a server gives a filesystem. */
static bool fsid_is_ours(
	const struct export_mount *m, const struct ganesha_handle *h, bool fsid_device)
{
	static const uint8_t none[16];
	const uint32_t device[2] = {m->dev_major, m->dev_minor};

	switch (h->fsid_type) {
	case GANESHA_FSID_DEVICE:
		return fsid_device && memcmp(h->fsid, device, sizeof(device)) == 0;
	case GANESHA_FSID_UUID:
		return !fsid_device && memcmp(m->uuid, none, sizeof(none)) != 0 &&
			memcmp(h->fsid, m->uuid, sizeof(m->uuid)) == 0;
	case GANESHA_FSID_STATFS:
		if (m->fsid[0] == 0 && m->fsid[1] == 0)
			return !fsid_device && memcmp(h->fsid, device, sizeof(device)) == 0;
		return !fsid_device && memcmp(h->fsid, m->fsid, sizeof(m->fsid)) == 0;
	}
	return false;
}

static int open_handle(int mount, const struct ganesha_handle *h, int flags)
{
	union {
		struct file_handle handle;
		char room[sizeof(struct file_handle) + GANESHA_MAX_KERNEL_HANDLE];
	} u = {.room = {0}};
	int fd;

	u.handle.handle_bytes = h->kernel_length;
	u.handle.handle_type = h->kernel_type;
	memcpy(u.room + offsetof(struct file_handle, f_handle), h->kernel, h->kernel_length);
	fd = open_by_handle_at(mount, &u.handle, flags | O_NOFOLLOW | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

int export_mount_resolve(
	const struct export_mount *m, const struct ganesha_handle *h, bool fsid_device)
{
	if (!fsid_is_ours(m, h, fsid_device))
		return -EXDEV;
	return open_handle(m->root, h, O_PATH);
}

int export_mount_open_file(
	const struct export_mount *m, const struct ganesha_handle *h, bool on_clone)
{
	return open_handle(on_clone ? m->clone : m->root, h, O_RDONLY | O_NONBLOCK | O_NOCTTY);
}

bool export_mount_read_only(const struct export_mount *m)
{
	struct statfs fs;

	return fstatfs(m->root, &fs) < 0 || (fs.f_flags & ST_RDONLY) != 0;
}
