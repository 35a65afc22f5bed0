/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "mounter/fuse_mount.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/mount.h>

#include "base/log.h"
#include "base/text.h"
#include "base/util.h"

static int fail(char *sentence, size_t size, const char *what, int error)
{
	(void)snprintf(sentence, size, SHORT ": %s", SHORTEN(what, 200),
		error == -EPERM ? "permission denied: mounting needs CAP_SYS_ADMIN" : strerror(-error));
	return error;
}

static int set_text(int fs, const char *key, const char *value)
{
	return fsconfig(fs, FSCONFIG_SET_STRING, key, value, 0) < 0 ? -errno : 0;
}

static int set_number(int fs, const char *key, unsigned value)
{
	char text[16];

	(void)snprintf(text, sizeof(text), "%u", value);
	return set_text(fs, key, text);
}

/* Makes the filesystem, as mount_fuse() of libfuse does. */
static int make(int fs, const struct fuse_mount_options *o, int fuse_fd)
{
	int r = set_text(fs, "source", o->source);

	if (r == 0)
		r = set_text(fs, "subtype", "localiofs");
	if (r == 0)
		r = set_number(fs, "fd", (unsigned)fuse_fd);
	if (r == 0)
		r = set_text(fs, "rootmode", "40000"); /* S_IFDIR, octal */
	if (r == 0)
		r = set_number(fs, "user_id", o->uid);
	if (r == 0)
		r = set_number(fs, "group_id", o->gid);
	/* The programs that use the mount have other uids than the daemon. */
	if (r == 0 && fsconfig(fs, FSCONFIG_SET_FLAG, "allow_other", NULL, 0) < 0)
		r = -errno;
	if (r == 0 && (o->flags & MS_RDONLY) && fsconfig(fs, FSCONFIG_SET_FLAG, "ro", NULL, 0) < 0)
		r = -errno;
	if (r == 0 && (o->flags & MS_SYNCHRONOUS) && fsconfig(fs, FSCONFIG_SET_FLAG, "sync", NULL, 0) < 0)
		r = -errno;
	if (r == 0 && fsconfig(fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0) < 0)
		r = -errno;
	return r;
}

static unsigned attributes_of(unsigned long flags)
{
	return MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | (flags & MS_RDONLY ? MOUNT_ATTR_RDONLY : 0) |
	       (flags & MS_NOEXEC ? MOUNT_ATTR_NOEXEC : 0) |
	       (flags & MS_NOATIME ? MOUNT_ATTR_NOATIME : MOUNT_ATTR_RELATIME);
}

int fuse_mount_open_directory(const char *directory, char *sentence, size_t size)
{
	int fd = open(directory, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	return fd < 0 ? fail(sentence, size, directory, -errno) : fd;
}

int fuse_mount(const struct fuse_mount_options *o, struct fuse_mount *ret, char *sentence, size_t size)
{
	_cleanup_close_ int fuse_fd = -1, fs = -1, mount_fd = -1;
	int r;

	fuse_fd = open("/dev/fuse", O_RDWR | O_CLOEXEC);
	if (fuse_fd < 0)
		return fail(sentence, size, "/dev/fuse", -errno);
	fs = fsopen("fuse", FSOPEN_CLOEXEC);
	if (fs < 0)
		return fail(sentence, size, o->directory, -errno);
	r = make(fs, o, fuse_fd);
	if (r < 0)
		return fail(sentence, size, o->directory, r);
	mount_fd = fsmount(fs, FSMOUNT_CLOEXEC, attributes_of(o->flags));
	if (mount_fd < 0 ||
		move_mount(mount_fd, "", o->directory_fd, "", MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH) < 0)
		return fail(sentence, size, o->directory, -errno);
	*ret = (struct fuse_mount){.fuse_fd = steal_fd(&fuse_fd), .mount_fd = steal_fd(&mount_fd)};
	return 0;
}

void fuse_mount_end(struct fuse_mount *m)
{
	char path[64];

	m->fuse_fd = close_fd(m->fuse_fd);
	if (m->mount_fd < 0)
		return;
	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", m->mount_fd);
	if (umount2(path, MNT_DETACH) < 0 && errno != EINVAL) /* EINVAL: somebody has unmounted it already */
		log_warning_limited("cannot unmount: %s", strerror(errno));
	m->mount_fd = close_fd(m->mount_fd);
}
