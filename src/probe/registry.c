/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "probe/registry.h"

#include <fcntl.h>
#include <inttypes.h>
#include <linux/magic.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include "localiofs/broker_protocol.h"
#include "localiofs/nonce_record.h"
#include "util.h"

#define REGISTRY_MODE 0755
#define NONCES_MODE   01733

static int PRINTF(4, 5)
	fail(struct registry_fault *fault, int error, enum reason reason, const char *format, ...)
{
	va_list ap;

	fault->reason = reason;
	va_start(ap, format);
	(void)vsnprintf(fault->text, sizeof(fault->text), format, ap);
	va_end(ap);
	return error;
}

uid_t registry_root_uid_of(const char *uid_map, uid_t overflow)
{
	const char *line = uid_map;

	while (line != NULL && *line != '\0') {
		uint32_t inside, outside, count;

		if (sscanf(line, "%" SCNu32 " %" SCNu32 " %" SCNu32, &inside, &outside, &count) == 3 &&
			outside == 0 && count > 0)
			return inside;
		line = strchr(line, '\n');
		if (line != NULL)
			line++;
	}
	return overflow;
}

uid_t registry_root_uid(void)
{
	char map[4096], text[32];
	uint64_t overflow = 65534;

	if (read_small_file("/proc/self/uid_map", map, sizeof(map)) <= 0)
		return 0;
	if (read_small_file("/proc/sys/fs/overflowuid", text, sizeof(text)) > 0) {
		text[strcspn(text, "\n")] = '\0';
		(void)parse_u64(text, 0, UINT32_MAX, &overflow);
	}
	return registry_root_uid_of(map, (uid_t)overflow);
}

/* Whether every owner that this user namespace does not map looks like root. */
static bool root_is_unmapped(void)
{
	char map[4096];

	return read_small_file("/proc/self/uid_map", map, sizeof(map)) > 0 &&
	       registry_root_uid_of(map, UINT32_MAX) == UINT32_MAX;
}

static bool is_mount_root(int fd)
{
	struct statx stx;

	return statx(fd, "", AT_EMPTY_PATH, STATX_TYPE, &stx) == 0 &&
	       (stx.stx_attributes & STATX_ATTR_MOUNT_ROOT) != 0;
}

int registry_open(const char *path, struct registry_fault *fault)
{
	uid_t root = registry_root_uid();
	_cleanup_close_ int fd = open(path, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	_cleanup_close_ int nonces = -1;
	struct statfs fs;
	struct stat st;
	int r;

	if (fd < 0) {
		r = -errno;
		return fail(fault, r, r == -ENOENT ? REASON_NO_REGISTRY : REASON_BAD_REGISTRY,
			"%s: %s (a directory was expected)", path, strerror(-r));
	}
	if (fstatfs(fd, &fs) < 0 || fstat(fd, &st) < 0) {
		r = -errno;
		return fail(fault, r, REASON_BAD_REGISTRY, "%s: %s", path, strerror(-r));
	}
	if (fs.f_type != TMPFS_MAGIC)
		return fail(fault, -EPERM, REASON_BAD_REGISTRY,
			"%s: lies on a filesystem of type 0x%lx, must be on tmpfs", path,
			(unsigned long)fs.f_type);
	if (st.st_uid != root)
		return fail(fault, -EPERM, REASON_BAD_REGISTRY,
			"%s: belongs to uid %u, must belong to root (uid %u here)", path, st.st_uid, root);
	/* Then the owner says little, and who gave this namespace the mount is trusted instead. */
	if (root_is_unmapped() && !is_mount_root(fd))
		return fail(fault, -EPERM, REASON_BAD_REGISTRY,
			"%s: this user namespace does not show whose it is, so it must be a mount of its own",
			path);
	if ((st.st_mode & 022) != 0)
		return fail(fault, -EPERM, REASON_BAD_REGISTRY,
			"%s: mode %04o lets others write, must be %04o", path, st.st_mode & 07777,
			REGISTRY_MODE);
	nonces = registry_open_nonces(fd, fault);
	if (nonces < 0)
		return nonces;
	return steal_fd(&fd);
}

int registry_open_nonces(int registry, struct registry_fault *fault)
{
	uid_t root = registry_root_uid();
	_cleanup_close_ int fd = openat(
		registry, NONCE_DIR_NAME, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct stat parent, st;
	int r;

	if (fd < 0 || fstat(fd, &st) < 0 || fstat(registry, &parent) < 0) {
		r = -errno;
		return fail(fault, r, REASON_BAD_REGISTRY,
			NONCE_DIR_NAME "/ in the registry: %s (a directory was expected)", strerror(-r));
	}
	if (st.st_dev != parent.st_dev)
		return fail(fault, -EXDEV, REASON_BAD_REGISTRY,
			NONCE_DIR_NAME "/ in the registry: lies on another filesystem than the registry");
	if (st.st_uid != root)
		return fail(fault, -EPERM, REASON_BAD_REGISTRY,
			NONCE_DIR_NAME "/ in the registry: belongs to uid %u, must belong to root (uid %u here)",
			st.st_uid, root);
	if ((st.st_mode & 07777) != NONCES_MODE)
		return fail(fault, -EPERM, REASON_BAD_REGISTRY,
			NONCE_DIR_NAME "/ in the registry: mode %04o, must be %04o", st.st_mode & 07777,
			NONCES_MODE);
	return steal_fd(&fd);
}

/* 1 when it made one directory of ours; one that is there already stays as it is and is judged later. */
static int make_directory(int parent, const char *name, mode_t mode)
{
	_cleanup_close_ int fd = -1;

	if (mkdirat(parent, name, 0700) < 0)
		return errno == EEXIST ? 0 : -errno;
	fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || fchmod(fd, mode) < 0) /* not the umask's business */
		return -errno;
	return 1;
}

int registry_make(const char *path, struct registry_fault *fault)
{
	_cleanup_close_ int fd = -1;
	struct stat st;
	int r, made = make_directory(AT_FDCWD, path, REGISTRY_MODE);

	if (made < 0)
		return fail(fault, made, REASON_BAD_REGISTRY, "%s: cannot be made: %s", path,
			strerror(-made));
	fd = open(path, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	/* Nothing is made inside a directory of somebody else's. */
	if (fd >= 0 && fstat(fd, &st) == 0 && st.st_uid == registry_root_uid() &&
		(st.st_mode & 022) == 0) {
		r = make_directory(fd, NONCE_DIR_NAME, NONCES_MODE);
		if (r < 0)
			return fail(fault, r, REASON_BAD_REGISTRY,
				"%s/" NONCE_DIR_NAME ": cannot be made: %s", path, strerror(-r));
	}
	r = registry_open(path, fault);
	if (r < 0 && made > 0) { /* made in the wrong place: nothing of it stays */
		(void)unlinkat(fd, NONCE_DIR_NAME, AT_REMOVEDIR);
		(void)rmdir(path);
	}
	return r;
}

void registry_socket_address(int registry, struct sockaddr_un *ret)
{
	*ret = (struct sockaddr_un){.sun_family = AF_UNIX};
	(void)snprintf(ret->sun_path, sizeof(ret->sun_path), "/proc/self/fd/%d/" BROKER_SOCKET_NAME,
		registry);
}

int registry_broker_address(int registry, struct sockaddr_un *ret, struct registry_fault *fault)
{
	uid_t root = registry_root_uid();
	struct stat st;
	int r;

	if (fstatat(registry, BROKER_SOCKET_NAME, &st, AT_SYMLINK_NOFOLLOW) < 0) {
		r = -errno;
		return fail(fault, r, r == -ENOENT ? REASON_NO_BROKER : REASON_BAD_BROKER,
			BROKER_SOCKET_NAME " in the registry: %s", strerror(-r));
	}
	if (!S_ISSOCK(st.st_mode) || st.st_uid != root)
		return fail(fault, -EPERM, REASON_BAD_BROKER,
			BROKER_SOCKET_NAME
			" in the registry: mode %06o of uid %u, must be a socket of root (uid %u here)",
			st.st_mode, st.st_uid, root);
	registry_socket_address(registry, ret);
	return 0;
}
