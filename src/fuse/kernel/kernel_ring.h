/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * FUSE requests over io_uring: whether they can travel so, and why not. libfuse keeps a queue and a thread
 * for each possible CPU (Linux 6.14, fs/fuse/dev_uring.c). A queue has a fixed number of entries, each with
 * room for the largest request: who waits keeps one, and without any the kernel keeps requests to itself.
 * FORGET and FUSE_INTERRUPT, which end waiting, go through /dev/fuse still, and so do our notifications.
 *
 * Found out by the thread that mounts; constant once requests come.
 *
 * libfuse has a ring per queue, and only the queue's thread touches the ring. Handlers run on this thread. Their
 * answers travel with the thread's next io_uring_enter(2). Answers of other threads go to a list; an eventfd which the
 * ring reads wakes the queue's thread, and this thread sends them. subprojects/packagefiles/fuse-ring.patch adds that
 * to libfuse and gives the reason of each part: unpatched libfuse lets no other thread answer.
 *
 * At the end of a mount no handler runs any more when fuse_session_loop_mt() returns. Waiting requests are still
 * answered through the rings, and the unmount ends the rings, because a ring holds the device open.
 *
 * An entry is the header of a request and wsize bytes (1 MiB) of address space. The kernel touches only the pages that
 * requests fill, and takes the last used entry first. 127 entries per queue are 127 MiB of addresses per CPU, and about
 * 100 KiB of memory before the first request. With more than 64 CPUs the depth falls, to 15 at last, because a process
 * may have a limited number of mappings.
 *
 * While the server is away each waiting request holds its entry. When the entries are used up the kernel holds further
 * requests back, and a fatal signal takes these back. No request waits for a request behind it, except for locks
 * (kernel_ring_take_place()): the daemon needs no request to end another one, and FORGET and FUSE_INTERRUPT do not use
 * the rings. localioctl(8) does use them and may wait with the others.
 *
 * The kernel sends no FUSE_INTERRUPT for a signal that came before the daemon had the request. So over io_uring
 * request_given_up() and waiting locks (lock_wait.given_up) ask /proc without an interrupt.
 */
#pragma once

#include "fuse/fs/fs.h"

/* clang-format off */
/* Codes are for scripts and never change; sentences are for people. */
#define RING_REASON_TABLE(X) \
	X(NONE,      "none",       "nothing is wrong") \
	X(OFF,       "off",        "transport=dev was asked for") \
	X(LIBFUSE,   "libfuse",    "the libfuse that localiofs was built with has no rings that other threads can answer") \
	X(KERNEL,    "kernel",     "this kernel has no FUSE over io_uring (Linux 6.14, CONFIG_FUSE_IO_URING)") \
	X(PARAMETER, "parameter",  "the fuse module's parameter enable_uring was not Y when this was mounted") \
	X(SYSCTL,    "sysctl",     "the sysctl kernel.io_uring_disabled does not allow io_uring to this daemon") \
	X(SECCOMP,   "seccomp",    "a seccomp filter, or a security module, does not allow io_uring to this daemon") \
	X(NO_URING,  "no-uring",   "this kernel has no io_uring that FUSE could use") \
	X(MEMORY,    "memory",     "there was not enough memory for a ring") \
	X(CPUS,      "cpus",       "the C library counts other CPUs than the kernel, and each must have its queue") \
	X(WSIZE,     "wsize",      "wsize is below 65536, which is the room of an entry: other requests need that much") \
	X(FAILED,    "failed",     "the rings could not be set up when this was mounted; the log says why")
/* clang-format on */

enum ring_reason {
#define X(name, code, text) RING_REASON_##name,
	RING_REASON_TABLE(X)
#undef X
};

const char *ring_reason_code(enum ring_reason reason);
const char *ring_reason_text(enum ring_reason reason);

/* Why the mount cannot have rings as far as can be told before it is there; NONE: it can be tried. */
enum ring_reason kernel_ring_why_not(const struct fs *fs);

/* The kernel did not offer it. */
enum ring_reason kernel_ring_not_offered(void);

/* Queues, and the entries of each. */
unsigned kernel_ring_queues(void);
unsigned kernel_ring_depth(void);

/*
 * Takes an entry of the queue that a request came by for somebody who may wait for another one's request:
 * half of them, at most. Called in the request's handler, where the thread is the queue's. NULL when there is none
 * left; give it back when the waiting ends. Requests of /dev/fuse take no entry.
 */
atomic_uint *kernel_ring_take_place(struct fs *fs);
