/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "setattr/setattr.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define SYS_FCHMODAT2 452 /* on all architectures but alpha */

#define SET_TIMES (BROKER_SET_ATIME | BROKER_SET_MTIME | BROKER_SET_ATIME_NOW | BROKER_SET_MTIME_NOW)
#define SET_ALL   (BROKER_SET_MODE | BROKER_SET_UID | BROKER_SET_GID | SET_TIMES)
#define SECOND_NS 1000000000U

static bool is_one_kind(uint32_t set)
{
	bool mode = (set & BROKER_SET_MODE) != 0, owner = (set & (BROKER_SET_UID | BROKER_SET_GID)) != 0;
	bool times = (set & SET_TIMES) != 0;

	return (set & ~(uint32_t)SET_ALL) == 0 && (int)mode + (int)owner + (int)times == 1;
}

/* True if NFSv3 has the times: nfstime3 (RFC 1813 2.5) has 32 bits of seconds. */
static bool are_times(const struct broker_setattr *q)
{
	return q->atime_sec >= 0 && q->atime_sec <= UINT32_MAX && q->mtime_sec >= 0 && q->mtime_sec <= UINT32_MAX &&
	       q->atime_nsec < SECOND_NS && q->mtime_nsec < SECOND_NS;
}

bool setattr_is_whole(const struct broker_setattr *q)
{
	return (q->mode & ~(uint32_t)07777) == 0 && is_one_kind(q->set) && are_times(q);
}

bool setattr_leaves_set_id(const struct broker_setattr *q, mode_t mode)
{
	return ((mode | q->mode) & (S_ISUID | S_ISGID)) == 0;
}

/* The time of one kind: given, the present, or the time that the file has. */
static struct timespec time_of(uint32_t set, uint32_t given, uint32_t now, int64_t sec, uint32_t nsec)
{
	if ((set & now) != 0)
		return (struct timespec){.tv_nsec = UTIME_NOW};
	return (set & given) != 0 ? (struct timespec){.tv_sec = sec, .tv_nsec = (long)nsec}
				  : (struct timespec){.tv_nsec = UTIME_OMIT};
}

static int set_times(int fd, const struct broker_setattr *q)
{
	const struct timespec times[2] = {time_of(q->set, BROKER_SET_ATIME, BROKER_SET_ATIME_NOW, q->atime_sec,
						  q->atime_nsec),
		time_of(q->set, BROKER_SET_MTIME, BROKER_SET_MTIME_NOW, q->mtime_sec, q->mtime_nsec)};

	return utimensat(fd, "", times, AT_EMPTY_PATH);
}

/*
 * fchmod(2) takes no O_PATH descriptor. fchmodat2(2) does, which the C library may not know, and the kernel does since
 * Linux 6.6; it saves 2 us. An older kernel, or a container's list of system calls, leaves the way through /proc.
 */
static int set_mode(int fd, uint32_t mode)
{
	char path[48];

	if (syscall(SYS_FCHMODAT2, fd, "", mode & 07777, AT_EMPTY_PATH) == 0)
		return 0;
	if (errno != ENOSYS && errno != EPERM)
		return -1;
	(void)snprintf(path, sizeof(path), "/proc/thread-self/fd/%d", fd);
	return fchmodat(AT_FDCWD, path, mode & 07777, 0);
}

int setattr_apply(int fd, const struct broker_setattr *q)
{
	uid_t uid = (q->set & BROKER_SET_UID) != 0 ? q->uid : (uid_t)-1;
	gid_t gid = (q->set & BROKER_SET_GID) != 0 ? q->gid : (gid_t)-1;
	int r;

	if ((q->set & BROKER_SET_MODE) != 0)
		r = set_mode(fd, q->mode);
	else if ((q->set & (BROKER_SET_UID | BROKER_SET_GID)) != 0)
		r = fchownat(fd, "", uid, gid, AT_EMPTY_PATH);
	else
		r = set_times(fd, q);
	return r < 0 ? -errno : 0;
}
