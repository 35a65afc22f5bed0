/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "fuse/kernel/caller.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/whole_io.h"

#define PF_EXITING 0x4 /* include/linux/sched.h */

/* A mask of /proc/PID/status: a hexadecimal number whose lowest bit is signal 1, or capability 0. */
static uint64_t mask(const char *status, const char *name)
{
	const char *line = strstr(status, name);

	return line ? strtoull(line + strlen(name), NULL, 16) : 0;
}

/* The pending signals of the thread and of its process. */
static uint64_t pending(const char *status)
{
	return mask(status, "\nSigPnd:") | mask(status, "\nShdPnd:");
}

static int read_proc(pid_t pid, const char *file, char *buf, size_t size)
{
	char path[64];
	ssize_t n;

	(void)snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, file);
	n = read_small_file(path, buf, size);
	return n < 0 ? (int)n : 0;
}

/* Reads the ninth field of /proc/PID/stat. The second field may contain spaces and parentheses. */
static bool is_exiting(const char *stat)
{
	const char *p = strrchr(stat, ')');
	unsigned long flags = 0;

	return p && sscanf(p + 1, " %*c %*d %*d %*d %*d %*d %lu", &flags) == 1 && (flags & PF_EXITING);
}

/* ---- groups ---- */

/* The file that a thread has read last, which stays open: a caller often makes many requests. */
struct status_file {
	pid_t pid;
	int fd;
};

static pthread_key_t status_files;
static pthread_once_t status_files_once = PTHREAD_ONCE_INIT;
static bool has_status_files;

static void free_status_file(void *arg)
{
	struct status_file *f = arg;

	close_fdp(&f->fd);
	free(f);
}

static void make_status_files(void)
{
	has_status_files = pthread_key_create(&status_files, free_status_file) == 0;
}

/* The calling thread's. NULL without memory. */
static struct status_file *own_status_file(void)
{
	struct status_file *f;

	(void)pthread_once(&status_files_once, make_status_files);
	f = has_status_files ? pthread_getspecific(status_files) : NULL;
	if (f || !has_status_files)
		return f;
	f = malloc(sizeof(*f));
	if (!f)
		return NULL;
	*f = (struct status_file){.fd = -1};
	if (pthread_setspecific(status_files, f) == 0)
		return f;
	free(f);
	return NULL;
}

static int open_status(struct status_file *f, pid_t pid)
{
	char path[32];

	close_fdp(&f->fd);
	(void)snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	f->pid = pid;
	f->fd = open(path, O_RDONLY | O_CLOEXEC);
	return f->fd < 0 ? -errno : 0;
}

/*
 * Reads the text, which the kernel writes anew for each read of its beginning. Returns its length, as far as it fits.
 */
static ssize_t pread_text(int fd, char *buf, size_t size)
{
	ssize_t n = pread(fd, buf, size - 1, 0);

	if (n < 0)
		return -errno;
	buf[n] = '\0';
	return n;
}

/*
 * Reads /proc/PID/status. An open file is that of its thread, and cannot be read after the end of that thread (-ESRCH):
 * then the pid may be another's.
 */
static int read_status(pid_t pid, char *buf, size_t size)
{
	struct status_file *f = own_status_file();
	int r;

	if (!f)
		return read_proc(pid, "status", buf, size);
	if (f->fd >= 0 && f->pid == pid && pread_text(f->fd, buf, size) > 0)
		return 0;
	r = open_status(f, pid);
	return r < 0 ? r : (int)MIN(pread_text(f->fd, buf, size), 0);
}

/* The groups of a text of /proc/PID/status. */
static int groups(const char *status, gid_t *ret, int room)
{
	static const char name[] = "\nGroups:";
	const char *p = strstr(status, name);
	char *end;
	int n = 0;

	if (!p)
		return -EIO;
	/* strtoul() would skip the line end, too. */
	for (p += strlen(name); n < room; n++, p = end) {
		p += strspn(p, " \t");
		if (*p == '\n' || *p == '\0')
			break;
		ret[n] = (gid_t)strtoul(p, &end, 10);
		if (end == p)
			return -EIO;
	}
	return n;
}

int caller_groups(pid_t pid, gid_t *ret, int room)
{
	char text[4096];
	int r = pid <= 0 ? -ESRCH : read_status(pid, text, sizeof(text));

	return r < 0 ? r : groups(text, ret, room);
}

/* True if the line has this id as the filesystem's, the last one of four. */
static bool has_id(const char *status, const char *name, unsigned id)
{
	const char *line = strstr(status, name);
	unsigned of_files;

	return line && sscanf(line + strlen(name), " %*u %*u %*u %u", &of_files) == 1 && of_files == id;
}

int caller_groups_if(pid_t pid, uid_t uid, gid_t gid, gid_t *ret, int room)
{
	char text[4096];
	int r = pid <= 0 ? -ESRCH : read_status(pid, text, sizeof(text));

	if (r < 0)
		return r;
	if (!has_id(text, "\nUid:", uid) || !has_id(text, "\nGid:", gid))
		return -ESRCH;
	return groups(text, ret, room);
}

/* ---- the owner of the machine ---- */

/* The number of pid namespaces in which the process has a pid. */
static unsigned depth(const char *status)
{
	static const char name[] = "\nNSpid:";
	const char *p = strstr(status, name);
	unsigned n = 0;

	for (p = p ? p + strlen(name) : "\n"; *p == '\t'; n++)
		p += 1 + strspn(p + 1, "0123456789");
	return n;
}

bool caller_is_admin(pid_t pid)
{
	char status[4096], own_status[4096], map[1024], own_map[1024];

	return pid > 0 && read_proc(pid, "status", status, sizeof(status)) >= 0 &&
	       read_proc(getpid(), "status", own_status, sizeof(own_status)) >= 0 &&
	       read_proc(pid, "uid_map", map, sizeof(map)) >= 0 &&
	       read_proc(getpid(), "uid_map", own_map, sizeof(own_map)) >= 0 &&
	       (mask(status, "\nCapEff:") >> CAP_SYS_ADMIN & 1) != 0 && depth(status) == depth(own_status) &&
	       strcmp(map, own_map) == 0;
}

enum caller_state caller_state(pid_t pid)
{
	char text[4096];

	if (pid <= 0 || read_proc(pid, "stat", text, sizeof(text)) < 0)
		return CALLER_UNKNOWN;
	if (is_exiting(text))
		return CALLER_EXITING;
	if (read_proc(pid, "status", text, sizeof(text)) < 0)
		return CALLER_UNKNOWN;
	return pending(text) & (1ULL << (SIGKILL - 1)) ? CALLER_KILLED : CALLER_WAITS;
}

bool caller_signalled(pid_t pid)
{
	char text[4096];

	if (pid <= 0 || read_proc(pid, "status", text, sizeof(text)) < 0)
		return false;
	return pending(text) & ~mask(text, "\nSigBlk:") & ~mask(text, "\nSigIgn:");
}
