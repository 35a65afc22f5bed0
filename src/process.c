/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "process.h"

#include <grp.h>
#include <malloc.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include <cap-ng.h>

#include "base/log.h"
#include "base/util.h"
#include "fuse/writes/data_write.h"

/*
 * Called before the first thread is made, because each thread has its own capabilities. Root keeps SYS_ADMIN, to mount
 * and to unmount when a signal ends the daemon; DAC_READ_SEARCH, to reach the mount point; and NET_BIND_SERVICE, to
 * connect from a reserved port. The NFS server decides about access to files, so the daemon needs no others. Four stay
 * permitted but not effective: the threads that write to local files raise SETUID, to become uid -2 (io/uring.h), and
 * the thread that sets attributes raises all four, to do so as a caller (fuse/setter/setter.h).
 */
static bool stays_permitted(unsigned cap)
{
	return cap == CAP_SETUID || cap == CAP_SETGID || cap == CAP_CHOWN || cap == CAP_FOWNER;
}

static void drop_privileges(void)
{
	(void)prctl(PR_SET_IO_FLUSHER, 1, 0, 0, 0); /* fails without CAP_SYS_RESOURCE */
	if (geteuid() != 0)
		return;           /* no capabilities to drop; NO_NEW_PRIVS would make fusermount3 fail */
	(void)setgroups(0, NULL); /* the group of ext4's resgid= may be one of root's groups */
	(void)prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	(void)!capng_get_caps_process(); /* cannot fail for the process itself */
	for (unsigned cap = 0; cap <= CAP_LAST_CAP; cap++)
		if (cap != CAP_SYS_ADMIN && cap != CAP_DAC_READ_SEARCH && cap != CAP_NET_BIND_SERVICE)
			(void)capng_update(CAPNG_DROP,
				stays_permitted(cap) ? CAPNG_EFFECTIVE | CAPNG_INHERITABLE
						     : CAPNG_EFFECTIVE | CAPNG_PERMITTED | CAPNG_INHERITABLE,
				cap);
	if (capng_apply(CAPNG_SELECT_CAPS) != 0)
		log_warning("capabilities that are not needed could not be dropped");
}

/*
 * The data of a request has up to a megabyte and lives for a millisecond, in the daemon's buffers and in those of
 * libnfs. malloc() would map and unmap each buffer, and the page faults would cost more than copying the data.
 */
static void keep_buffers(void)
{
#ifdef __GLIBC__
	(void)mallopt(M_MMAP_THRESHOLD, 4 * DATA_WRITE_MAX);
	(void)mallopt(M_TRIM_THRESHOLD, 16 * DATA_WRITE_MAX);
#endif
}

#define ROOM 4096 /* of descriptors, at first: for the lookers of idle files and directories, and open files */

/* The daemon needs a descriptor per file that it reads locally, but the usual soft limit is 1024. */
static void want_descriptors(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
		return;
	limit.rlim_cur = limit.rlim_max;
	(void)setrlimit(RLIMIT_NOFILE, &limit);
	make_room_for_descriptors(STDERR_FILENO, (int)MIN(limit.rlim_max, ROOM));
}

void process_prepare(void)
{
	drop_privileges();
	keep_buffers();
	want_descriptors();
}
