/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Reads of local files that nobody waits for: what the page cache has comes at once, the rest from
 * io_uring.
 *
 * uring_read() first tries preadv2(2) with RWF_NOWAIT on the caller's thread, which is what io_uring would
 * do at the submission, without two switches of threads. What that leaves goes to one of the rings, as many
 * as there are CPUs. Each has a thread of its own, started by its first read: it alone submits, as many at
 * once as have come, and reaps, so that the kernel need not guard the ring (IORING_SETUP_SINGLE_ISSUER,
 * IORING_SETUP_DEFER_TASKRUN).
 *
 * A ring's lock guards the list of what is to be submitted. The caller owns a struct uring_read and its
 * buffer until done has run, exactly once: on a ring's thread, or on the caller's before uring_read()
 * returns.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "util.h"

struct uring_read {
	struct list node; /* the ring's */
	int fd;           /* of a regular file; stays open until done */
	bool no_cache;    /* in, out: the file has no RWF_NOWAIT, do not try it */
	unsigned align;   /* bytes, with O_DIRECT: whoever comes to the end of the file cannot go on when that grows; else 1 */
	uint8_t *buf;
	size_t size;      /* bytes; at most INT32_MAX */
	uint64_t offset;
	size_t have;      /* so far; the ring's */
	/* result: bytes, fewer than size at the end of the file only; or a negative errno. */
	void (*done)(struct uring_read *r, ssize_t result);
};

struct uring;

/* -ENOSYS or -EPERM where there is no io_uring, or it is not allowed: sysctl, seccomp. */
int uring_new(struct uring **ret);

/* Waits for every read. Takes NULL; returns NULL. */
struct uring *uring_free(struct uring *u);

/* Never waits. */
void uring_read(struct uring *u, struct uring_read *r);
