/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "fuse/kernel/caller.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "base/whole_io.h"

#define PF_EXITING 0x4 /* include/linux/sched.h */

/* A signal mask of /proc/PID/status: a hexadecimal number whose lowest bit is signal 1. */
static uint64_t signals(const char *status, const char *name)
{
	const char *line = strstr(status, name);

	return line ? strtoull(line + strlen(name), NULL, 16) : 0;
}

/* The pending signals of the thread and of its process. */
static uint64_t pending(const char *status)
{
	return signals(status, "\nSigPnd:") | signals(status, "\nShdPnd:");
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
	return pending(text) & ~signals(text, "\nSigBlk:") & ~signals(text, "\nSigIgn:");
}
