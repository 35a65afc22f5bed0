/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sidecar/registry/registry_make.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <sys/xattr.h>

#include <uuid/uuid.h>

#include "localiofs/broker_protocol.h"
#include "base/clock.h"
#include "base/log.h"
#include "net/scm_fd.h"
#include "sidecar/registry/peer_process.h"
#include "sidecar/backing/thread_cred.h"
#include "base/util.h"
#include "base/whole_io.h"

#define TIME_LIMIT_MS 10000
#define BACKLOG       4096 /* large, since hostile clients wait in it, too; net.core.somaxconn may be less */
#define SECRET_PREFIX ".localiofs-"
#define SECRET_NAME   (sizeof(SECRET_PREFIX) + UUID_STR_LEN)
#define FD_PATH       64 /* bytes of "/proc/self/fd/N/NAME" */

/* The child's result. The listener travels with it; the file travels with a second message. */
struct result {
	int error;
	struct registry_fault fault;
	struct registry_mark socket;
};

static int PRINTF(3, 4) fail(struct registry_fault *fault, int error, const char *format, ...)
{
	va_list ap;

	fault->reason = REASON_BAD_REGISTRY;
	va_start(ap, format);
	(void)vsnprintf(fault->text, sizeof(fault->text), format, ap);
	va_end(ap);
	return error;
}

/* ---- the child, as the registry's user ---- */

static void secret_name(char ret[SECRET_NAME])
{
	uuid_t uuid;

	uuid_generate_random(uuid);
	memcpy(ret, SECRET_PREFIX, sizeof(SECRET_PREFIX));
	uuid_unparse_lower(uuid, ret + strlen(SECRET_PREFIX));
}

/* Sets the mark of an inode; fd may be an O_PATH descriptor. */
static int set_mark(int fd)
{
	struct registry_mark mark;
	char path[FD_PATH];
	int r = registry_mark_of(fd, &mark);

	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (r == 0 && setxattr(path, REGISTRY_MARK, &mark, sizeof(mark), 0) < 0)
		r = -errno;
	return r;
}

static int take_directory(int dir, const char *path, uid_t uid, struct registry_fault *fault)
{
	struct stat st;
	int r;

	if (fstat(dir, &st) < 0)
		return fail(fault, -errno, "%s: %s", path, strerror(errno));
	if (st.st_uid != uid)
		return fail(fault, -EPERM,
			"%s: belongs to uid %u, must belong to uid %u, the sidecar's user; remove it", path, st.st_uid,
			uid);
	if ((st.st_mode & 07777) != REGISTRY_DIR_MODE)
		return fail(fault, -EPERM, "%s: mode %04o, must be %04o; remove it", path, st.st_mode & 07777,
			REGISTRY_DIR_MODE);
	r = set_mark(dir);
	return r < 0 ? fail(fault, r, "%s: its attribute " REGISTRY_MARK " cannot be set: %s", path, strerror(-r)) : 0;
}

/*
 * Fails if another sidecar listens. A socket without a mark is no sidecar's, and is replaced even if a process listens.
 */
static int check_alone(int dir, struct registry_fault *fault)
{
	struct registry_fault ignored;
	struct registry_mark mark;
	_cleanup_close_ int path = registry_open_socket(dir, &mark, &ignored);
	_cleanup_close_ int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	struct sockaddr_un address;

	if (path < 0 || fd < 0)
		return 0;
	registry_socket_address(path, &address);
	if (connect(fd, (const struct sockaddr *)&address, sizeof(address)) < 0 && errno != EAGAIN)
		return 0;
	return fail(fault, -EADDRINUSE, BROKER_SOCKET_NAME " in the registry: another sidecar listens on it");
}

/* Removes the temporary files of children that were killed. */
static void remove_leftovers(int dir)
{
	int fd = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *list = fd >= 0 ? fdopendir(fd) : NULL;

	if (list == NULL) {
		(void)close_fd(fd);
		return;
	}
	for (const struct dirent *d = readdir(list); d != NULL; d = readdir(list))
		if (strncmp(d->d_name, SECRET_PREFIX, strlen(SECRET_PREFIX)) == 0)
			(void)unlinkat(dir, d->d_name, 0);
	(void)closedir(list);
}

/* Makes a new file under its final name. */
static int make_file(int dir, struct registry_fault *fault)
{
	struct registry_file content = {.header = {.version = REGISTRY_VERSION, .slots = REGISTRY_SLOTS}};
	_cleanup_close_ int fd = -1;
	char name[SECRET_NAME];
	int r = boot_id_read(content.header.boot_id);

	memcpy(content.header.magic, REGISTRY_MAGIC, sizeof(content.header.magic));
	secret_name(name);
	if (r == 0)
		fd = r = openat(dir, name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, REGISTRY_FILE_MODE);
	if (r == -1)
		r = -errno;
	if (r >= 0) /* the whole file, so that all of its pages exist */
		r = write_all(fd, &content, sizeof(content));
	if (r >= 0)
		r = set_mark(fd);
	if (r >= 0 && renameat(dir, name, dir, REGISTRY_FILE_NAME) < 0)
		r = -errno;
	if (r >= 0)
		return steal_fd(&fd);
	(void)unlinkat(dir, name, 0);
	return fail(fault, r, REGISTRY_FILE_NAME " in the registry: cannot be made: %s", strerror(-r));
}

/*
 * True if this process listens on the socket's inode. Proved by a connection, which is closed again; the pid of the
 * peer might be reused, so the peer's process must still exist.
 */
static bool is_own(int listener, int path)
{
	_cleanup_close_ int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	struct sockaddr_un address;
	struct ucred peer;
	socklen_t len = sizeof(peer);
	int accepted;

	registry_socket_address(path, &address);
	if (fd < 0 || connect(fd, (const struct sockaddr *)&address, sizeof(address)) < 0)
		return false;
	accepted = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	(void)close_fd(accepted);
	return accepted >= 0 && getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) == 0 && peer.pid == getpid() &&
	       peer_process_is_there(fd);
}

static int bind_and_mark(int dir, int listener, const char *name, struct registry_mark *ret_mark)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	_cleanup_close_ int path = -1;
	int r;

	(void)snprintf(address.sun_path, sizeof(address.sun_path), "/proc/self/fd/%d/%s", dir, name);
	if (bind(listener, (const struct sockaddr *)&address, sizeof(address)) < 0 || listen(listener, BACKLOG) < 0)
		return -errno;
	path = openat(dir, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (path < 0)
		return -errno;
	if (!is_own(listener, path))
		return -EBUSY;
	r = set_mark(path);
	if (r == 0)
		r = registry_mark_of(path, ret_mark);
	if (r == 0 && renameat(dir, name, dir, BROKER_SOCKET_NAME) < 0)
		r = -errno;
	return r;
}

static int make_socket(int dir, struct registry_mark *ret_mark, struct registry_fault *fault)
{
	_cleanup_close_ int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	const int off = 0;
	char name[SECRET_NAME];
	int r = fd < 0 ? -errno : 0;

	/*
	 * A hostile descriptor hangs the process that closes it. From Linux 6.16 on, a client cannot send descriptors
	 * before its match.
	 */
	if (r == 0)
		(void)setsockopt(fd, SOL_SOCKET, SO_PASSRIGHTS, &off, sizeof(off));
	secret_name(name);
	(void)umask(0777 & ~REGISTRY_SOCKET_MODE);
	if (r == 0)
		r = bind_and_mark(dir, fd, name, ret_mark);
	if (r == 0)
		return steal_fd(&fd);
	(void)unlinkat(dir, name, 0);
	return fail(fault, r, BROKER_SOCKET_NAME " in the registry: cannot be made: %s",
		r == -EBUSY ? "another process has replaced the socket" : strerror(-r));
}

/* The listener, or a negative errno. */
static int fill_directory(int dir, const char *path, uid_t uid, struct result *ret, int *ret_file)
{
	_cleanup_close_ int file = -1;
	int r = take_directory(dir, path, uid, &ret->fault);

	if (r == 0)
		r = check_alone(dir, &ret->fault);
	if (r < 0)
		return r;
	remove_leftovers(dir);
	file = make_file(dir, &ret->fault);
	if (file < 0)
		return file;
	r = make_socket(dir, &ret->socket, &ret->fault);
	if (r >= 0)
		*ret_file = steal_fd(&file);
	else
		(void)unlinkat(dir, REGISTRY_FILE_NAME, 0);
	return r;
}

static int make_all(const char *path, uid_t uid, gid_t gid, struct result *ret, int *ret_file)
{
	const struct broker_cred user = {.uid = uid, .gid = gid};
	_cleanup_close_ int dir = -1;
	int r = thread_cred_become(&user);
	bool made;

	if (r < 0)
		return fail(&ret->fault, r, "the registry's user, uid %u: %s", uid, strerror(-r));
	(void)umask(0);
	/*
	 * An existing directory is found without the parent's lock, which any process that may list the parent can
	 * keep.
	 */
	dir = registry_open_place(path, &ret->fault);
	made = dir == -ENOENT && mkdir(path, REGISTRY_DIR_MODE) == 0;
	if (dir == -ENOENT && !made && errno != EEXIST) {
		r = -errno;
		return fail(&ret->fault, r, "%s: uid %u cannot make it: %s%s", path, uid, strerror(-r),
			r == -EACCES ? " (tmpfiles.d(5) makes it elsewhere: d DIR 0711 USER USER)" : "");
	}
	if (dir == -ENOENT)
		dir = registry_open_place(path, &ret->fault);
	r = dir < 0 ? dir : fill_directory(dir, path, uid, ret, ret_file);
	if (r < 0 && made) /* leaves no empty directory behind */
		(void)rmdir(path);
	return r;
}

static int send_with(int to, const void *what, size_t size, int fd)
{
	struct scm_fd control;
	struct iovec iov = {.iov_base = (void *)(uintptr_t)what, .iov_len = size};
	struct msghdr message = {.msg_iov = &iov, .msg_iovlen = 1};

	scm_fd_attach(&control, &message, fd);
	return sendmsg(to, &message, MSG_NOSIGNAL) == (ssize_t)size ? 0 : -errno;
}

/*
 * Closes all descriptors but the socket to the parent, so that no reader of the output, and no peer of the sidecar,
 * waits for the end of this process, which may be blocked for ever.
 */
static void let_go(int to)
{
	_cleanup_close_ int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		(void)dup2(null, fd);
	if (to > STDERR_FILENO + 1)
		(void)close_range(STDERR_FILENO + 1, (unsigned)to - 1, 0);
	(void)close_range((unsigned)to + 1, ~0U, 0);
}

static void run_child(int to, const char *path, uid_t uid, gid_t gid)
{
	struct result result = {0};
	int file = -1, listener;

	let_go(to);
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	listener = make_all(path, uid, gid, &result, &file);
	result.error = MIN(listener, 0);
	if (send_with(to, &result, sizeof(result), listener) == 0 && file >= 0)
		(void)send_with(to, &result.error, sizeof(result.error), file);
}

/* ---- the parent ---- */

static int receive_with(int from, void *what, size_t size, uint64_t until, int *ret_fd)
{
	struct scm_fd control;
	struct iovec iov = {.iov_base = what, .iov_len = size};
	struct msghdr message = {.msg_iov = &iov, .msg_iovlen = 1};
	struct pollfd readable = {.fd = from, .events = POLLIN};

	while (now_ms() < until)
		if (poll(&readable, 1, (int)(until - MIN(now_ms(), until))) > 0)
			break;
	scm_fd_expect(&control, &message);
	if (readable.revents == 0 || recvmsg(from, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC) != (ssize_t)size)
		return readable.revents == 0 ? -ETIMEDOUT : -EIO;
	*ret_fd = scm_fd_received(&message);
	return 0;
}

static int receive_result(int from, struct result *ret, int *ret_listener, int *ret_file)
{
	uint64_t until = now_ms() + TIME_LIMIT_MS;
	int again, r = receive_with(from, ret, sizeof(*ret), until, ret_listener);

	if (r < 0 || ret->error < 0)
		return r < 0 ? r : ret->error;
	r = receive_with(from, &again, sizeof(again), until, ret_file);
	return r < 0 ? r : *ret_listener < 0 || *ret_file < 0 ? -EIO : 0;
}

static int take_over(int listener, int file, const struct result *result, struct registry_made *ret)
{
	struct registry_file *map =
		mmap(NULL, sizeof(*map), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, file, 0);
	socklen_t size = sizeof(int);
	int passes;

	if (map == MAP_FAILED)
		return -errno;
	/* listen(2) again, so that clients see this process's pid: unix(7), SO_PEERCRED. */
	if (listen(listener, BACKLOG) < 0)
		return -errno;
	if (getsockopt(listener, SOL_SOCKET, SO_PASSRIGHTS, &passes, &size) < 0)
		log_info_limited(
			"this kernel, older than Linux 6.16, lets clients send descriptors before their match; a "
			"hostile descriptor blocks its client's session");
	*ret = (struct registry_made){.listener = listener, .socket = result->socket, .file = map};
	return 0;
}

int registry_make(const char *path, uid_t uid, gid_t gid, struct registry_made *ret, struct registry_fault *fault)
{
	_cleanup_close_ int listener = -1, file = -1;
	struct result result = {0};
	int pair[2], r;
	pid_t child;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return fail(fault, -errno, "%s: %s", path, strerror(errno));
	child = fork();
	if (child == 0) {
		run_child(pair[1], path, uid, gid);
		_exit(0);
	}
	(void)close_fd(pair[1]);
	r = child < 0 ? -errno : receive_result(pair[0], &result, &listener, &file);
	(void)close_fd(pair[0]);
	if (r == -ETIMEDOUT) {
		/*
		 * The child may be blocked on a lock without a reaction to signals, so the sidecar does not wait for
		 * it.
		 */
		(void)kill(child, SIGKILL);
		return fail(fault, r,
			"%s: could not be made within %d s: another process keeps the directory locked (with "
			"CAP_DAC_OVERRIDE or CAP_DAC_READ_SEARCH), or its parent, which any process that may list it "
			"can lock; end that process, or name another directory (--registry=)",
			path, TIME_LIMIT_MS / 1000);
	}
	if (child > 0)
		(void)waitpid(child, NULL, 0);
	if (r < 0 && result.error < 0) {
		*fault = result.fault;
		return r;
	}
	if (r == 0)
		r = take_over(listener, file, &result, ret);
	if (r < 0)
		return fail(fault, r, "%s: %s", path, strerror(-r));
	listener = -1;
	return 0;
}
