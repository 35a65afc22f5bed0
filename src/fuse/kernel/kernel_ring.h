/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * FUSE requests over io_uring: whether this mount can use them, and the reason if it cannot. libfuse has a queue and a
 * thread for each possible CPU (Linux 6.14, fs/fuse/dev_uring.c). A queue has a fixed number of entries, and each entry
 * has room for the largest request. A request holds its entry until it is answered; while a queue has no free entry,
 * the kernel holds further requests back. FORGET, FUSE_INTERRUPT (which ends waits) and our notifications still go
 * through /dev/fuse.
 *
 * The thread that mounts fills ring_reason and ring_depth of struct fs; both are constant before the first request. The
 * counts in ring_waits are atomic.
 *
 * libfuse has a ring per queue, and only the queue's thread touches the ring. Handlers run on that thread. Their
 * answers travel with the thread's next io_uring_enter(2). Answers of other threads go to a list; an eventfd that the
 * ring reads wakes the queue's thread, and this thread sends them. subprojects/packagefiles/fuse-ring.patch adds this
 * to libfuse and gives the reason of each part: unpatched libfuse lets no other thread answer.
 *
 * At the end of a mount no handler runs any more when fuse_session_loop_mt() returns. Waiting requests are still
 * answered through the rings, and the unmount ends the rings, because a ring holds the device open.
 *
 * An entry is the header of a request and wsize bytes (1 MiB) of address space. The kernel touches only the pages that
 * requests fill, and takes the last used entry first. 127 entries per queue are 127 MiB of addresses per CPU, and about
 * 100 KiB of memory before the first request. With more than 64 CPUs the depth decreases, down to 15, because a process
 * may have a limited number of mappings.
 *
 * While the server does not answer, each waiting request holds its entry. When no entry is free, the kernel holds
 * further requests back, and a fatal signal ends the wait of a request that the kernel holds back. No request waits for
 * a later request, except for locks (kernel_ring_take_place()): the daemon needs no request to end another one, and
 * FORGET and FUSE_INTERRUPT do not use the rings. Requests of localioctl(8) use the rings, and may wait with the
 * others.
 *
 * The kernel sends no FUSE_INTERRUPT for a signal that came before the daemon had the request. So over io_uring
 * request_given_up() and waiting locks (lock_wait.given_up) read /proc without an interrupt.
 */
#pragma once

#include "fuse/fs/fs.h"

/* clang-format off */
/* Codes are for scripts and never change; sentences are for people. */
#define RING_REASON_TABLE(X) \
	X(NONE,      "none",       "nothing is wrong") \
	X(OFF,       "off",        "the option transport=dev was given") \
	X(LIBFUSE,   "libfuse",    "localiofs was built with a libfuse whose rings only their own threads can answer") \
	X(KERNEL,    "kernel",     "this kernel has no FUSE over io_uring (Linux 6.14, CONFIG_FUSE_IO_URING)") \
	X(PARAMETER, "parameter",  "the parameter enable_uring of the module fuse was not Y at the time of the mount") \
	X(SYSCTL,    "sysctl",     "the sysctl kernel.io_uring_disabled forbids io_uring to this daemon") \
	X(SECCOMP,   "seccomp",    "a seccomp filter or a security module forbids io_uring to this daemon") \
	X(NO_URING,  "no-uring",   "the io_uring of this kernel is too old for FUSE") \
	X(MEMORY,    "memory",     "there was not enough memory for a ring") \
	X(CPUS,      "cpus",       "the C library and the kernel count different CPUs, and each CPU needs a queue") \
	X(WSIZE,     "wsize",      "wsize is the size of a ring entry, and below the 65536 bytes that other requests need") \
	X(FAILED,    "failed",     "the rings could not be made at the time of the mount; the log says why")
/* clang-format on */

enum ring_reason {
#define X(name, code, text) RING_REASON_##name,
	RING_REASON_TABLE(X)
#undef X
};

const char *ring_reason_code(enum ring_reason reason);
const char *ring_reason_text(enum ring_reason reason);

/* Before mounting: the reason why the mount cannot have rings; NONE if no reason is known yet. */
enum ring_reason kernel_ring_why_not(const struct fs *fs);

/* The reason why the kernel did not offer FUSE over io_uring in INIT. */
enum ring_reason kernel_ring_not_offered(void);

/* The number of queues, and the entries per queue. */
unsigned kernel_ring_queues(void);
unsigned kernel_ring_depth(void);

/*
 * Counts the entry of a request that waits for a later request: at most half of the entries of a queue may hold such
 * requests. Called in the request's handler, which runs on the queue's thread. NULL if no more may wait. The caller
 * decrements the returned counter when the wait ends. Only for requests that arrived over io_uring.
 */
atomic_uint *kernel_ring_take_place(struct fs *fs);
