/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "mount_lock.h"

#include <fcntl.h>

#include "base/log.h"

/*
 * FNV-1a without a key, since all processes must find the same byte of the file (so not table/keyed_hash.h). Two
 * directories with the same hash only wait for each other.
 */
static uint64_t hash(const char *text)
{
	uint64_t h = 0xcbf29ce484222325;

	for (; *text; text++)
		h = (h ^ (unsigned char)*text) * 0x100000001b3;
	return h;
}

int mount_lock(const char *directory)
{
	/* Each directory has a byte of one file: no file names to invent, and no files to remove. */
	struct flock lock = {.l_type = F_WRLCK,
		.l_whence = SEEK_SET,
		.l_start = (off_t)(hash(directory) >> 2),
		.l_len = 1};
	int fd, r;

	if (geteuid() != 0)
		return -1;
	fd = open(MOUNT_LOCK_PATH, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0) {
		log_debug("no lock for the mount point: " MOUNT_LOCK_PATH ": %s", strerror(errno));
		return -1;
	}
	do
		r = fcntl(fd, F_OFD_SETLKW, &lock);
	while (r < 0 && errno == EINTR);
	return r < 0 ? close_fd(fd) : fd;
}
