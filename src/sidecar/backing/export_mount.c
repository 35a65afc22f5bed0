/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sidecar/backing/export_mount.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/vfs.h>

#include "base/util.h"

/*
 * The path must have no symbolic link: the server looks the path up once, the sidecar many times, and a user who may
 * write to a parent directory must not be able to lead the sidecar to another filesystem.
 */
int export_mount_open_directory(const char *path, int flags)
{
	struct open_how how = {.flags = (uint64_t)flags | O_DIRECTORY | O_CLOEXEC, .resolve = RESOLVE_NO_SYMLINKS};
	long fd = syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof(how));

	return fd < 0 ? -errno : (int)fd;
}

static int clone_mount(int root, uint64_t set, uint64_t clear)
{
	struct mount_attr attr = {.attr_set = set, .attr_clr = clear};
	_cleanup_close_ int tree = open_tree(root, "", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_EMPTY_PATH);
	int fd;

	if (tree < 0 || mount_setattr(tree, "", AT_EMPTY_PATH, &attr, sizeof(attr)) < 0)
		return -errno;
	/* The clone lives as long as this descriptor; open_by_handle_at(2) takes no O_PATH descriptor as tree is. */
	fd = openat(tree, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

int export_mount_open(const char *path, struct export_mount **ret)
{
	struct export_mount *m = calloc(1, sizeof(*m));
	int r;

	if (m == NULL)
		return -ENOMEM;
	*m = (struct export_mount){.refs = 1, .root = -1, .clone = -1, .judge = -1, .kept = -1};
	(void)pthread_mutex_init(&m->lock, NULL);
	/* open_by_handle_at(2) takes no O_PATH descriptor. */
	r = m->root = export_mount_open_directory(path, O_RDONLY);
	if (r >= 0)
		r = filesystem_id_read(m->root, &m->id);
	if (r >= 0)
		r = m->clone = clone_mount(m->root,
			MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC, 0);
	if (r >= 0 && m->id.noexec)
		r = m->judge = clone_mount(m->root, 0, MOUNT_ATTR_NOEXEC);
	if (r < 0) {
		(void)export_mount_unref(m);
		return r;
	}
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
	if (m == NULL || atomic_fetch_sub(&m->refs, 1) > 1)
		return NULL;
	(void)close_fd(m->kept);
	(void)close_fd(m->judge);
	(void)close_fd(m->clone);
	(void)close_fd(m->root);
	(void)pthread_mutex_destroy(&m->lock);
	free(m);
	return NULL;
}

int export_mount_check(const struct export_mount *m, const char *path)
{
	_cleanup_close_ int fd = export_mount_open_directory(path, O_PATH);

	return fd < 0 ? fd : filesystem_id_check(fd, &m->id);
}

static int open_handle(int mount, const struct nfs_handle *h, int flags)
{
	union file_handle_room u = {.bytes = {0}};
	int fd;

	if (h->is_root)
		fd = openat(mount, ".", flags | O_CLOEXEC);
	else {
		u.handle.handle_bytes = h->kernel_length;
		u.handle.handle_type = h->kernel_type;
		memcpy(u.bytes + offsetof(struct file_handle, f_handle), h->kernel, h->kernel_length);
		fd = open_by_handle_at(mount, &u.handle, flags | O_NOFOLLOW | O_CLOEXEC);
	}
	return fd < 0 ? -errno : fd;
}

/*
 * True if the handle is the file's own. Filesystems ignore unused bytes of a handle, so other handles lead to the file,
 * too.
 */
static bool is_own_handle(int fd, const struct nfs_handle *h)
{
	struct nfs_handle own;

	return nfs_handle_read(fd, &own) >= 0 && nfs_handle_is_same_file(&own, h);
}

static int open_own_handle(int mount, const struct nfs_handle *h, int flags)
{
	_cleanup_close_ int fd = open_handle(mount, h, flags);

	if (fd < 0)
		return fd;
	return h->is_root || is_own_handle(fd, h) ? steal_fd(&fd) : -ESTALE;
}

int export_mount_resolve(const struct export_mount *m, const struct nfs_handle *h)
{
	return open_own_handle(m->judge >= 0 ? m->judge : m->root, h, O_PATH);
}

bool export_mount_has_judge(const struct export_mount *m)
{
	return m->judge >= 0;
}

int export_mount_directory(const struct export_mount *m, const struct nfs_handle *h)
{
	return open_own_handle(m->root, h, O_PATH | O_DIRECTORY);
}

/* The kept descriptor, if it is of this directory; or -1. */
static int take_kept(struct export_mount *m, const struct nfs_handle *h)
{
	LOCKED(&m->lock);
	return nfs_handle_is_same_file(&m->whose, h) ? steal_fd(&m->kept) : -1;
}

int export_mount_attributes(int fd, struct statx *ret)
{
	return statx(fd, "", AT_EMPTY_PATH | AT_STATX_SYNC_AS_STAT, STATX_BASIC_STATS, ret) < 0 ? -errno : 0;
}

int export_mount_take(struct export_mount *m, const struct nfs_handle *h, struct statx *ret_stx)
{
	_cleanup_close_ int fd = take_kept(m, h);
	int r;

	if (fd >= 0 && export_mount_attributes(fd, ret_stx) >= 0 && ret_stx->stx_nlink > 0)
		return steal_fd(&fd);
	close_fdp(&fd); /* the handle of a directory that is removed goes with its last descriptor */
	fd = export_mount_directory(m, h);
	r = fd < 0 ? fd : export_mount_attributes(fd, ret_stx);
	return r < 0 ? r : steal_fd(&fd);
}

void export_mount_keep(struct export_mount *m, const struct nfs_handle *h, int fd)
{
	_cleanup_close_ int last = fd; /* closed without the lock, as this may be the end of a removed directory */

	if (fd < 0 || h->is_root || !export_mount_handles_last(m))
		return;
	LOCKED(&m->lock);
	last = m->kept;
	m->kept = fd;
	m->whose = *h;
}

int export_mount_file(const struct export_mount *m, const struct nfs_handle *h)
{
	return open_own_handle(m->root, h, O_PATH);
}

int export_mount_open_file(const struct export_mount *m, const struct nfs_handle *h, enum export_mount_open how)
{
	static const int flags[] = {[EXPORT_MOUNT_PATH] = O_PATH,
		[EXPORT_MOUNT_PATH_ON_CLONE] = O_PATH,
		[EXPORT_MOUNT_WRITE] = O_RDWR | O_NONBLOCK | O_NOCTTY,
		[EXPORT_MOUNT_READ] = O_RDONLY | O_NONBLOCK | O_NOCTTY,
		[EXPORT_MOUNT_READ_ON_CLONE] = O_RDONLY | O_NONBLOCK | O_NOCTTY};

	bool on_clone = how == EXPORT_MOUNT_READ_ON_CLONE || how == EXPORT_MOUNT_PATH_ON_CLONE;

	return open_handle(on_clone ? m->clone : m->root, h, flags[how]);
}

bool export_mount_handles_last(const struct export_mount *m)
{
	return m->id.type == EXT4_SUPER_MAGIC || m->id.type == XFS_SUPER_MAGIC || m->id.type == TMPFS_MAGIC;
}

bool export_mount_read_only(const struct export_mount *m)
{
	struct statfs fs;

	return fstatfs(m->root, &fs) < 0 || (fs.f_flags & ST_RDONLY) != 0;
}
