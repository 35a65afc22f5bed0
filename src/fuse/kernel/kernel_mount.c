/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "fuse/kernel/kernel_mount.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/mount.h>

#include <fuse_log.h>

#include "fuse/kernel/kernel_ring.h"
#include "fuse/operations/operations.h"
#include "base/log.h"
#include "base/text.h"
#include "base/whole_io.h"
#include "handover/fuse_fd.h"
#include "mount/mountinfo.h"

#define READ_AHEAD 4 /* requests of rsize bytes */

/*
 * The messages while mounting: those of libfuse arrive through its log function. Those of fusermount3 go to stderr,
 * which is a file in memory meanwhile.
 */
static struct {
	pthread_mutex_t lock;
	bool on;
	char text[512];
} said = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void PRINTF(2, 0) take_log(enum fuse_log_level level, const char *format, va_list ap)
{
	char line[512];
	uint64_t unique;

	(void)vsnprintf(line, sizeof(line), format, ap);
	line[strcspn(line, "\n")] = '\0';
	if (line[0] == '\0')
		return;
	/* libfuse logs each request on the thread that runs its handler next. */
	if (level == FUSE_LOG_DEBUG && sscanf(line, "%*s unique: %" SCNu64 ", opcode", &unique) == 1)
		operation_numbered(unique);
	LOCKED(&said.lock);
	if (said.on)
		(void)snprintf(said.text, sizeof(said.text), "%s", line);
	else if (level <= FUSE_LOG_WARNING)
		LOG_LIMITED((int)level, "%s", line);
	else
		log_message((int)level, "%s", line);
}

static int fail(char *sentence, size_t size, int error, const char *directory, const char *why)
{
	(void)snprintf(sentence, size, SHORT ": %s", SHORTEN(directory, 200), why);
	return error;
}

int kernel_mount_check_device(char *sentence, size_t size)
{
	if (faccessat(AT_FDCWD, "/dev/fuse", R_OK | W_OK, AT_EACCESS) == 0)
		return 0;
	if (errno == EACCES)
		return fail(sentence, size, -EPERM, "/dev/fuse",
			"permission denied; make it readable and writable for this user (chmod 666), or let "
			"localiofs-mounter mount and use --fuse-socket");
	(void)snprintf(sentence, size,
		"/dev/fuse: %s; load FUSE (modprobe fuse), give the device to this container, or let localiofs-mounter "
		"mount and use --fuse-socket",
		strerror(errno));
	return -ENODEV;
}

/* libfuse's option parser needs a backslash before a comma in a value. */
static void add_escaped(char *to, size_t size, const char *text)
{
	size_t n = strlen(to);

	for (; *text && n + 2 < size; text++) {
		if (*text == ',' || *text == '\\')
			to[n++] = '\\';
		to[n++] = *text;
	}
	to[n] = '\0';
}

int kernel_mount_new_session(struct fs *fs, const struct fuse_lowlevel_ops *ops, char *sentence, size_t size)
{
	unsigned long flags = options_mount_flags(fs->options);
	char list[4096];
	char *argv[] = {(char *)"localiofs", (char *)"-o", list, NULL};
	struct fuse_args args = FUSE_ARGS_INIT(3, argv);
	char ring[64] = "";

	fuse_set_log_func(take_log);
	fs->ring_reason = kernel_ring_why_not(fs);
	fs->ring_depth = kernel_ring_depth();
	if (fs->ring_reason == RING_REASON_NONE)
		(void)snprintf(ring, sizeof(ring), ",io_uring,io_uring_q_depth=%u", fs->ring_depth);
	/* Only root may mount without nosuid and nodev. */
	if (geteuid() != 0)
		flags |= MS_NOSUID | MS_NODEV;
	(void)snprintf(list, sizeof(list), "subtype=localiofs,max_read=%u%s%s%s%s%s%s%s%s%s,fsname=", fs->rsize,
		fs->options->debug ? ",debug" : "", /* libfuse logs each request and each reply, by number */
		fs->allow_other ? ",allow_other" : "", flags & MS_RDONLY ? ",ro" : "", flags & MS_NOSUID ? "" : ",suid",
		flags & MS_NODEV ? "" : ",dev", flags & MS_NOEXEC ? ",noexec" : "",
		flags & MS_NOATIME ? ",noatime" : "", flags & MS_SYNCHRONOUS ? ",sync" : "", ring);
	add_escaped(list, sizeof(list), fs->spec);
	fs->session = fuse_session_new(&args, ops, sizeof(*ops), fs);
	fuse_opt_free_args(&args);
	if (!fs->session) {
		(void)snprintf(sentence, size, "libfuse refused the mount options " SHORT, SHORTEN(list, 300));
		return -EINVAL;
	}
	return 0;
}

struct capture {
	int memory, stderr_copy; /* -1 if it could not be made: then the messages go to stderr as usual */
};

static struct capture capture_begin(void)
{
	struct capture c = {.memory = memfd_create("stderr", MFD_CLOEXEC),
		.stderr_copy = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3)};

	if (c.memory >= 0 && c.stderr_copy >= 0)
		(void)dup2(c.memory, STDERR_FILENO);
	LOCKED(&said.lock);
	said.on = true;
	said.text[0] = '\0';
	return c;
}

/* Ends the capture. ret gets the last message about a failure; with keep all messages go to the true stderr, too. */
static void capture_end(struct capture *c, bool keep, char *ret, size_t size)
{
	char text[1024], *line;
	ssize_t n = 0;

	if (c->memory >= 0 && c->stderr_copy >= 0) {
		(void)dup2(c->stderr_copy, STDERR_FILENO);
		n = pread(c->memory, text, sizeof(text) - 1, 0);
	}
	text[MAX(n, 0)] = '\0';
	c->memory = close_fd(c->memory);
	c->stderr_copy = close_fd(c->stderr_copy);
	if (keep)
		(void)write_all(STDERR_FILENO, text, strlen(text));
	while (n > 0 && text[n - 1] == '\n')
		text[--n] = '\0';
	line = strrchr(text, '\n');
	line = line ? line + 1 : text;
	LOCKED(&said.lock);
	said.on = false;
	(void)snprintf(ret, size, "%s", line[0] ? line : said.text);
}

static int take_device(const struct mountinfo *m, void *arg)
{
	struct fs *fs = arg;

	(void)snprintf(fs->device, sizeof(fs->device), "%s", m->device);
	return 0;
}

/*
 * The kernel's default read-ahead is 128 KiB, too little for more than one READ to the server at a time. Only root may
 * raise it, and a container's /sys may be read-only: on failure the default stays.
 */
static void set_read_ahead(const struct fs *fs)
{
	char path[128], text[32];
	int n = snprintf(text, sizeof(text), "%u", kernel_mount_read_ahead(fs) >> 10);
	_cleanup_close_ int fd = -1;

	(void)snprintf(path, sizeof(path), "/sys/class/bdi/%s/read_ahead_kb", fs->device);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0 || write_all(fd, text, (size_t)n) < 0)
		log_debug("the kernel's read-ahead stays as it is");
}

unsigned kernel_mount_read_ahead(const struct fs *fs)
{
	return READ_AHEAD * fs->rsize;
}

int kernel_mount(struct fs *fs, const char *directory, char *sentence, size_t size)
{
	struct capture c = capture_begin();
	int r = fuse_session_mount(fs->session, directory);
	char why[512];

	capture_end(&c, r == 0, why, sizeof(why));
	if (r == 0) {
		(void)mountinfo_at(directory, take_device, fs);
		set_read_ahead(fs);
		return 0;
	}
	if (strstr(why, "spawn"))
		return fail(sentence, size, -EIO, directory,
			"mounting needs CAP_SYS_ADMIN, or fusermount3 (package fuse3), which is not there; or let "
			"localiofs-mounter mount and use --fuse-socket");
	if (strstr(why, "not permitted"))
		return fail(sentence, size, -EPERM, directory,
			"permission denied: mounting needs CAP_SYS_ADMIN; run localiofs in a user namespace of its own "
			"(unshare -Urm; uid 0 needs CAP_SETFCAP for that), or let localiofs-mounter mount and use "
			"--fuse-socket");
	return fail(sentence, size, geteuid() == 0 ? -EIO : -EPERM, directory,
		why[0] ? why : "the kernel refused the mount");
}

int kernel_mount_take(struct fs *fs, int fuse_fd, char *sentence, size_t size)
{
	char path[32];

	(void)snprintf(path, sizeof(path), "/dev/fd/%d", fuse_fd); /* libfuse's way to say that the mount exists */
	fuse_fd_device(fuse_fd, fs->device, sizeof(fs->device));
	if (fuse_session_mount(fs->session, path) != 0)
		return fail(sentence, size, -EIO, path, "libfuse refused the descriptor");
	if (fs->device[0])
		set_read_ahead(fs);
	return 0;
}

void kernel_mount_give_up(struct fs *fs)
{
	struct capture c = capture_begin();
	char why[512];

	/* It also runs fusermount3 to unmount "/dev/fd/N", which fails: the program that has mounted unmounts. */
	fuse_session_unmount(fs->session);
	capture_end(&c, false, why, sizeof(why));
}
