/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "fuse/kernel/kernel_ring.h"

#include <stdio.h>
#include <string.h>
#include <sys/sysinfo.h>

#include <liburing.h>

#include "base/log.h"
#include "base/whole_io.h"

#define PARAMETER     "/sys/module/fuse/parameters/enable_uring"
#define POSSIBLE_CPUS "/sys/devices/system/cpu/possible"
#define SYSCTL        "/proc/sys/kernel/io_uring_disabled"
#define ROOM_MIN      65536 /* bytes per entry that requests about extended attributes and answers to ioctls need */
/*
 * An entry takes 1 MiB of address space, of which the kernel touches only the pages that requests fill (kernel_ring.h),
 * and two mappings; a process may have 65530 mappings. 127 and 15, because io_uring rounds the number of entries plus
 * one, for our wake-up, to a power of two.
 */
#define DEPTH_MAX   127
#define DEPTH_MIN   15
#define ENTRIES_MAX 8192

static const char *const codes[] = {
#define X(name, code, text) code,
	RING_REASON_TABLE(X)
#undef X
};

static const char *const texts[] = {
#define X(name, code, text) text,
	RING_REASON_TABLE(X)
#undef X
};

const char *ring_reason_code(enum ring_reason reason)
{
	return codes[reason];
}

const char *ring_reason_text(enum ring_reason reason)
{
	return texts[reason];
}

unsigned kernel_ring_queues(void)
{
	return (unsigned)MAX(get_nprocs_conf(), 1);
}

unsigned kernel_ring_depth(void)
{
	unsigned depth = DEPTH_MAX;

	while (depth > DEPTH_MIN && (depth + 1) * kernel_ring_queues() > ENTRIES_MAX)
		depth /= 2;
	return depth;
}

/* The number of possible CPUs, which is the kernel's number of queues. The text is like "0-3,8-11". 0 if unknown. */
static unsigned possible_cpus(void)
{
	char text[4096], *p = text;
	unsigned count = 0;

	if (read_small_file(POSSIBLE_CPUS, text, sizeof(text)) < 0)
		return 0;
	while (*p >= '0' && *p <= '9') {
		unsigned long first = strtoul(p, &p, 10), last = *p == '-' ? strtoul(p + 1, &p, 10) : first;

		count += (unsigned)(last - first + 1);
		p += *p == ',';
	}
	return count;
}

enum ring_reason kernel_ring_not_offered(void)
{
	char text[16];

	if (read_small_file(PARAMETER, text, sizeof(text)) < 0)
		return RING_REASON_KERNEL;
	return text[0] == 'Y' ? RING_REASON_KERNEL : RING_REASON_PARAMETER;
}

static bool has_seccomp_filter(void)
{
	static const char name[] = "\nSeccomp:";
	char text[4096];
	const char *line;

	if (read_small_file("/proc/self/status", text, sizeof(text)) < 0)
		return false;
	line = strstr(text, name);
	return line && atoi(line + strlen(name)) > 0;
}

static enum ring_reason why_refused(int error)
{
	char text[16];

	switch (error) {
	case -ENOMEM:
		return RING_REASON_MEMORY;
	case -ENOSYS:
		return has_seccomp_filter() ? RING_REASON_SECCOMP : RING_REASON_NO_URING;
	case -EPERM:
	case -EACCES:
		/*
		 * 2 forbids io_uring to all processes, 1 to processes without the capability. With 1 and a seccomp
		 * filter the filter may be the cause.
		 */
		if (read_small_file(SYSCTL, text, sizeof(text)) > 0 && text[0] > (has_seccomp_filter() ? '1' : '0'))
			return RING_REASON_SYSCTL;
		return RING_REASON_SECCOMP;
	case -EINVAL:
		return RING_REASON_NO_URING;
	default:
		log_warning("no ring for FUSE requests: io_uring_setup: %s", strerror(-error));
		return RING_REASON_FAILED;
	}
}

enum ring_reason kernel_ring_why_not(const struct fs *fs)
{
	/* A ring with libfuse's flags, but small: the trial only asks for permission. */
	struct io_uring_params p = {.flags = IORING_SETUP_SQE128 | IORING_SETUP_SUBMIT_ALL};
	struct io_uring trial;
	int r;

	if (fs->options->transport == FUSE_TRANSPORT_DEV)
		return RING_REASON_OFF;
	if (!LOCALIOFS_FUSE_IO_URING)
		return RING_REASON_LIBFUSE;
	if (kernel_ring_not_offered() == RING_REASON_PARAMETER || access(PARAMETER, F_OK) < 0)
		return kernel_ring_not_offered();
	if (fs->wsize < ROOM_MIN)
		return RING_REASON_WSIZE;
	/* With fewer queues than the kernel expects, requests would wait for ever. */
	if (possible_cpus() != kernel_ring_queues())
		return RING_REASON_CPUS;
	r = io_uring_queue_init_params(2, &trial, &p);
	if (r < 0)
		return why_refused(r);
	io_uring_queue_exit(&trial);
	return RING_REASON_NONE;
}

atomic_uint *kernel_ring_take_place(struct fs *fs)
{
	/* Each queue has one thread, and a process has one mount. */
	static _Thread_local atomic_uint *waiting;
	static atomic_uint threads;

	if (!waiting)
		waiting = &fs->ring_waits[atomic_fetch_add(&threads, 1) % kernel_ring_queues()];
	if (atomic_fetch_add(waiting, 1) < fs->ring_depth / 2)
		return waiting;
	atomic_fetch_sub(waiting, 1);
	return NULL;
}
