/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "fuse/kernel/caller.h"

#include <linux/capability.h>
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

int caller_groups(pid_t pid, gid_t *ret, int room)
{
	static const char name[] = "\nGroups:";
	char text[4096], *p, *end;
	int n = 0, r = pid <= 0 ? -ESRCH : read_proc(pid, "status", text, sizeof(text));

	if (r < 0)
		return r;
	p = strstr(text, name);
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
