/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "wire/registry.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <linux/openat2.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <sys/xattr.h>

#include <uuid/uuid.h>

#include "localiofs/broker_protocol.h"
#include "mount/mountinfo.h"
#include "base/util.h"
#include "base/whole_io.h"

#define FD_PATH      40 /* bytes of "/proc/self/fd/N" */
#define CACHED_TRIES 64 /* a rename or a mount by anybody can make a try fail, and a stranger renames without end */

static int PRINTF(4, 5) fail(struct registry_fault *fault, int error, enum reason reason, const char *format, ...)
{
	va_list ap;

	fault->reason = reason;
	va_start(ap, format);
	(void)vsnprintf(fault->text, sizeof(fault->text), format, ap);
	va_end(ap);
	return error;
}

static void fd_path(int fd, char ret[FD_PATH])
{
	(void)snprintf(ret, FD_PATH, "/proc/self/fd/%d", fd);
}

static int open_path(int dir, const char *name, uint64_t flags, uint64_t resolve)
{
	struct open_how how = {.flags = flags | O_PATH | O_CLOEXEC, .resolve = resolve};
	long fd = syscall(SYS_openat2, dir, name, &how, sizeof(how));

	return fd < 0 ? -errno : (int)fd;
}

/*
 * Opens a name in a directory on tmpfs without the directory's lock: a process that lists /dev/shm into a page that is
 * never served keeps that lock. The kernel's cache has all names of a tmpfs, so a name that is not cached does not
 * exist.
 */
static int open_cached(int dir, const char *name, uint64_t flags, uint64_t resolve)
{
	int fd = -EAGAIN;

	for (unsigned n = 0; n < CACHED_TRIES && fd == -EAGAIN; n++)
		fd = open_path(dir, name, flags | O_NOFOLLOW, resolve | RESOLVE_CACHED | RESOLVE_NO_MAGICLINKS);
	return fd == -EAGAIN ? -ENOENT : fd;
}

static bool lies_on(int dir, unsigned long type)
{
	struct statfs fs;

	return fstatfs(dir, &fs) == 0 && (unsigned long)fs.f_type == type;
}

/*
 * Opens the registry in its parent directory. On other filesystems than tmpfs a name may exist without being cached: it
 * is looked up, so that the error names the wrong filesystem. A FUSE filesystem is not asked, since it may never
 * answer. Mount points are always cached.
 */
static int open_there(int dir, const char *name)
{
	int fd = open_cached(dir, name, O_DIRECTORY, 0);

	if (fd != -ENOENT || lies_on(dir, TMPFS_MAGIC) || lies_on(dir, FUSE_SUPER_MAGIC))
		return fd;
	return open_path(dir, name, O_DIRECTORY | O_NOFOLLOW, RESOLVE_NO_MAGICLINKS);
}

/* Opens a directory on the way to the registry, or a link to a directory. On tmpfs the cache says whether it exists. */
static int open_next(int dir, const char *name)
{
	int there = open_cached(dir, name, 0, 0);

	if (there == -ENOENT && lies_on(dir, TMPFS_MAGIC))
		return -ENOENT;
	(void)close_fd(there);
	return open_path(dir, name, O_DIRECTORY, RESOLVE_NO_MAGICLINKS);
}

/* Opens a path, one directory after the other. Writes to path. */
static int open_directories(char *path)
{
	_cleanup_close_ int dir = open_path(AT_FDCWD, path[0] == '/' ? "/" : ".", O_DIRECTORY, RESOLVE_NO_MAGICLINKS);
	char *save = NULL;

	for (char *name = strtok_r(path, "/", &save); name != NULL && dir >= 0; name = strtok_r(NULL, "/", &save)) {
		int next = open_next(dir, name);

		(void)close_fd(dir);
		dir = next;
	}
	return steal_fd(&dir);
}

/* Opens the last component of a path, relative to its parent directory. */
static int open_last(const char *path)
{
	_cleanup_free_ char *copy = strdup(path);
	_cleanup_close_ int dir = -1;
	char *name;

	if (copy == NULL)
		return -ENOMEM;
	for (size_t n = strlen(copy); n > 1 && copy[n - 1] == '/'; n--)
		copy[n - 1] = '\0';
	name = strrchr(copy, '/');
	if (name == NULL || name[1] == '\0')
		return -EINVAL;
	*name++ = '\0';
	dir = copy[0] != '\0' ? open_directories(copy) : open_path(AT_FDCWD, "/", O_DIRECTORY, RESOLVE_NO_MAGICLINKS);
	return dir < 0 ? dir : open_there(dir, name);
}

int boot_id_read(uint8_t ret[16])
{
	char text[64];
	ssize_t n = read_small_file("/proc/sys/kernel/random/boot_id", text, sizeof(text));

	if (n < 0)
		return (int)n;
	text[strcspn(text, "\n")] = '\0';
	return uuid_parse(text, ret) == 0 ? 0 : -EINVAL;
}

/* ---- marks ---- */

int registry_mark_of(int fd, struct registry_mark *ret)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return -errno;
	*ret = (struct registry_mark){.device = st.st_dev, .inode = st.st_ino};
	memcpy(ret->format, REGISTRY_MARK_FORMAT, sizeof(ret->format));
	return 0;
}

/*
 * 0 if the inode has its mark. Else a fault with the reason otherwise, or with the reason why the mark cannot be read.
 */
static int check_mark(int fd, const char *what, enum reason otherwise, struct registry_fault *fault)
{
	struct registry_mark mark, there;
	char path[FD_PATH];
	ssize_t n;
	int r = registry_mark_of(fd, &mark);

	if (r < 0)
		return fail(fault, r, otherwise, "%s: %s", what, strerror(-r));
	fd_path(fd, path);
	n = getxattr(path, REGISTRY_MARK, &there, sizeof(there));
	r = n < 0 ? -errno : 0;
	if (r == -ENOENT)
		return fail(fault, r, REASON_NO_PROC, "%s", reason_text(REASON_NO_PROC));
	if (r == -EACCES || r == -EPERM)
		return fail(fault, r, REASON_NO_PERMISSION, "%s: its attribute " REGISTRY_MARK " may not be read: %s",
			what, strerror(-r));
	if (r == -EOPNOTSUPP)
		return fail(fault, r, otherwise, "%s: this kernel has no attributes on tmpfs (CONFIG_TMPFS_XATTR)",
			what);
	if (r == -ENODATA)
		return fail(fault, -EPERM, otherwise,
			"%s: no sidecar has marked it: its attribute " REGISTRY_MARK " is missing", what);
	if (r < 0)
		return fail(fault, r, otherwise, "%s: its attribute " REGISTRY_MARK " cannot be read: %s", what,
			strerror(-r));
	if (n != sizeof(mark) || memcmp(&mark, &there, sizeof(mark)) != 0)
		return fail(fault, -EPERM, otherwise,
			"%s: its attribute " REGISTRY_MARK " does not name it: it was copied from elsewhere", what);
	return 0;
}

/* ---- the directory ---- */

static int is_tmpfs(const struct mountinfo *m, void *arg)
{
	char *type = arg;

	(void)snprintf(type, 32, "%s", m->type);
	return 0;
}

int registry_open_place(const char *path, struct registry_fault *fault)
{
	_cleanup_close_ int fd = open_last(path);
	char type[32] = "";
	int r;

	if (fd < 0)
		return fail(fault, fd, fd == -ENOENT ? REASON_NO_REGISTRY : REASON_BAD_REGISTRY, "%s: %s%s", path,
			strerror(-fd), fd == -ENOTDIR || fd == -ELOOP ? " (a directory was expected)" : "");
	r = mountinfo_of_fd(fd, is_tmpfs, type);
	if (r == -ENOENT)
		return fail(fault, r, REASON_NO_PROC, "%s", reason_text(REASON_NO_PROC));
	if (r < 0)
		return fail(fault, r, REASON_BAD_REGISTRY, "%s: its mount is not in /proc/self/mountinfo: %s", path,
			strerror(-r));
	if (strcmp(type, "tmpfs") != 0)
		return fail(fault, -EPERM, REASON_BAD_REGISTRY, "%s: lies on a filesystem of type %s, must be on tmpfs",
			path, type);
	return steal_fd(&fd);
}

int registry_open(const char *path, struct registry_fault *fault)
{
	_cleanup_close_ int fd = registry_open_place(path, fault);
	struct stat st;
	int r;

	if (fd < 0)
		return fd;
	if (fstat(fd, &st) < 0)
		return fail(fault, -errno, REASON_BAD_REGISTRY, "%s: %s", path, strerror(errno));
	/* uid 0 without any capability is every container's root. */
	if (st.st_uid == 0)
		return fail(fault, -EPERM, REASON_BAD_REGISTRY,
			"%s: belongs to uid 0, must belong to the sidecar's own user (was it made by an older "
			"sidecar?)",
			path);
	if ((st.st_mode & 022) != 0)
		return fail(fault, -EPERM, REASON_BAD_REGISTRY, "%s: mode %04o lets others write, must be %04o", path,
			st.st_mode & 07777, REGISTRY_DIR_MODE);
	r = check_mark(fd, path, REASON_BAD_REGISTRY, fault);
	return r < 0 ? r : steal_fd(&fd);
}

/* ---- the socket and the file ---- */

/* An O_PATH descriptor of an inode of this type that has its mark. */
static int open_marked(int registry, const char *name, mode_t type, const char *type_name, enum reason missing,
	enum reason otherwise, struct registry_fault *fault)
{
	_cleanup_close_ int fd =
		open_cached(registry, name, 0, RESOLVE_BENEATH | RESOLVE_NO_XDEV | RESOLVE_NO_SYMLINKS);
	char what[64];
	struct stat st;
	int r;

	(void)snprintf(what, sizeof(what), "%s in the registry", name);
	if (fd < 0)
		return fail(fault, fd, fd == -ENOENT ? missing : otherwise, "%s: %s", what, strerror(-fd));
	if (fstat(fd, &st) < 0)
		return fail(fault, -errno, otherwise, "%s: %s", what, strerror(errno));
	if ((st.st_mode & S_IFMT) != type)
		return fail(fault, -EPERM, otherwise, "%s: mode %06o, must be a %s", what, st.st_mode, type_name);
	r = check_mark(fd, what, otherwise, fault);
	return r < 0 ? r : steal_fd(&fd);
}

int registry_open_socket(int registry, struct registry_mark *ret_mark, struct registry_fault *fault)
{
	_cleanup_close_ int fd = open_marked(registry, BROKER_SOCKET_NAME, S_IFSOCK, "socket", REASON_NO_BROKER,
		REASON_BAD_BROKER, fault);
	int r = fd < 0 ? fd : registry_mark_of(fd, ret_mark);

	return r < 0 ? r : steal_fd(&fd);
}

void registry_socket_address(int socket, struct sockaddr_un *ret)
{
	*ret = (struct sockaddr_un){.sun_family = AF_UNIX};
	fd_path(socket, ret->sun_path);
}

static int check_header(const struct registry_header *h, struct registry_fault *fault)
{
	uint8_t boot_id[16];
	int r = boot_id_read(boot_id);

	if (r < 0)
		return fail(fault, r, REASON_NO_PROC, "/proc/sys/kernel/random/boot_id: %s", strerror(-r));
	if (memcmp(h->magic, REGISTRY_MAGIC, sizeof(h->magic)) != 0 || h->version != REGISTRY_VERSION ||
		h->slots != REGISTRY_SLOTS)
		return fail(fault, -EPROTONOSUPPORT, REASON_VERSION, "%s", reason_text(REASON_VERSION));
	if (memcmp(h->boot_id, boot_id, sizeof(boot_id)) != 0)
		return fail(fault, -ESTALE, REASON_BAD_REGISTRY,
			REGISTRY_FILE_NAME " in the registry: was made under another boot of a kernel");
	return 0;
}

int registry_read_slot(int registry, uint32_t slot, struct registry_slot *ret, struct registry_fault *fault)
{
	_cleanup_close_ int path = open_marked(registry, REGISTRY_FILE_NAME, S_IFREG, "regular file",
		REASON_BAD_REGISTRY, REASON_BAD_REGISTRY, fault);
	_cleanup_close_ int fd = -1;
	struct registry_header header;
	char name[FD_PATH];
	int r;

	if (path < 0)
		return path;
	fd_path(path, name);
	fd = open(name, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return fail(fault, -errno, REASON_BAD_REGISTRY, REGISTRY_FILE_NAME " in the registry: %s",
			strerror(errno));
	if (slot >= REGISTRY_SLOTS || pread(fd, &header, sizeof(header), 0) != sizeof(header) ||
		pread(fd, ret, sizeof(*ret), (off_t)(offsetof(struct registry_file, slots) + slot * sizeof(*ret))) !=
			sizeof(*ret))
		return fail(fault, -EBADMSG, REASON_BAD_REGISTRY,
			REGISTRY_FILE_NAME " in the registry: has no slot %u, must have %u", slot, REGISTRY_SLOTS);
	r = check_header(&header, fault);
	return r;
}
