/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "process.h"

#include <grp.h>
#include <malloc.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include <cap-ng.h>

#include "base/log.h"
#include "fuse/writes/data_write.h"

/*
 * Before the first thread, since capabilities are a thread's. Root keeps SYS_ADMIN to mount, and to
 * unmount when a signal ends the daemon, DAC_READ_SEARCH to reach the mount point, NET_BIND_SERVICE
 * to come from a reserved port. The NFS server decides about files, so nothing else is needed, but for the threads
 * that write to local files: these become uid -2 by SETUID, which the others may not use (io/uring.h).
 */
static void drop_privileges(void)
{
	(void)prctl(PR_SET_IO_FLUSHER, 1, 0, 0, 0); /* where CAP_SYS_RESOURCE allows it */
	if (geteuid() != 0)
		return;           /* has none; fusermount3 must stay able to gain its own */
	(void)setgroups(0, NULL); /* resgid= of ext4 may be one of root's */
	(void)prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	capng_get_caps_process();
	for (unsigned cap = 0; cap <= CAP_LAST_CAP; cap++)
		if (cap != CAP_SYS_ADMIN && cap != CAP_DAC_READ_SEARCH && cap != CAP_NET_BIND_SERVICE)
			(void)capng_update(CAPNG_DROP,
				cap == CAP_SETUID ? CAPNG_EFFECTIVE | CAPNG_INHERITABLE
						  : CAPNG_EFFECTIVE | CAPNG_PERMITTED | CAPNG_INHERITABLE,
				cap);
	if (capng_apply(CAPNG_SELECT_CAPS) != 0)
		log_warning("capabilities that are not needed could not be dropped");
}

/*
 * A request's data is up to a megabyte that lives for a millisecond, in our memory and in libnfs's.
 * malloc would map it and give it back each time, and faulting its pages in costs more than copying.
 */
static void keep_buffers(void)
{
#ifdef __GLIBC__
	(void)mallopt(M_MMAP_THRESHOLD, 4 * DATA_WRITE_MAX);
	(void)mallopt(M_TRIM_THRESHOLD, 16 * DATA_WRITE_MAX);
#endif
}

/* A file that the daemon reads locally is a descriptor, and 1024 is what many are started with. */
static void want_descriptors(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
		return;
	limit.rlim_cur = limit.rlim_max;
	(void)setrlimit(RLIMIT_NOFILE, &limit);
}

void process_prepare(void)
{
	drop_privileges();
	keep_buffers();
	want_descriptors();
}
