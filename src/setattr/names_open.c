/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "setattr/names_open.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/text.h"
#include "base/util.h"
#include "localiofs/broker_protocol.h"

static int open_here(int dir, const char *name, uint64_t flags)
{
	struct open_how how = {.flags = flags | O_NOFOLLOW | O_CLOEXEC,
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_XDEV | RESOLVE_NO_MAGICLINKS};
	long fd = syscall(SYS_openat2, dir, name, &how, sizeof(how));

	return fd < 0 ? -errno : (int)fd;
}

int names_open(int dir, const char *name)
{
	return open_here(dir, name, O_PATH);
}

int names_open_directory(int dir, const char *name)
{
	return open_here(dir, name, O_RDONLY | O_DIRECTORY | O_NOATIME);
}

uint32_t names_directory_empty(int fd)
{
	_Alignas(struct dirent64) char entries[512];
	ssize_t size = getdents64(fd, entries, sizeof(entries));

	for (ssize_t at = 0; at < size;) {
		const struct dirent64 *e = (const struct dirent64 *)(entries + at);

		if (!is_dot(e->d_name))
			return 0;
		at += e->d_reclen;
	}
	return size > 0 && getdents64(fd, entries, sizeof(entries)) == 0 ? BROKER_ATTR_EMPTY : 0;
}
