/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What a ring has registered, so that the kernel need not look it up and count or pin it for each request
 * (io_uring_register(2)): files, and payloads of FUSE's ring entries. It costs system calls, so it is for what the ring
 * is asked for often: REGISTERED_OFTEN times before. Of a payload it is the beginning, enough for small requests, since
 * the pages are pinned, and a user has RLIMIT_MEMLOCK, 8 MiB as a rule, for all that he runs: the rings together take a
 * quarter of that at most.
 *
 * The ring's thread's alone, and so is a file's place in it, until nothing is under way and the file is closed.
 *
 * Measured with fio: registration makes no request faster that waits for a disk (4K at depth 8: 67,000 reads per second
 * without, 66,000 with files and payloads registered), and makes each read of the page cache 0.2 us shorter. So it is
 * done only where it costs nothing.
 *
 * A file without a registration is closed at once, as most are. Of a registered file each ring gives its place back
 * first, by one more request. Before Linux 6.14 such a request could wait for requests of other files, so no file is
 * registered there. The daemon has no CAP_IPC_LOCK, which would allow more pinned pages.
 */
#pragma once

#include <liburing.h>

#include "io/uring.h"

#define REGISTERED_FILES    256
#define REGISTERED_PAYLOADS 32    /* of all rings together */
#define REGISTERED_BYTES    65536 /* of a payload */
#define REGISTERED_OFTEN    16

#ifndef IORING_FEAT_RW_ATTR /* liburing before 2.9 */
#define IORING_FEAT_RW_ATTR (1U << 16)
#endif

struct registered {
	struct io_uring *uring;
	unsigned ring;                /* which of a file's places is here */
	short free[REGISTERED_FILES]; /* places that no file has; the first is 1 */
	unsigned nfree;
	unsigned npayloads;
	struct {
		const void *start; /* the first that came here stays */
		unsigned asked;
		bool there;
	} payloads[REGISTERED_PAYLOADS];
};

/* On the thread of a ring, of so many. Without memory or descriptors for the tables it goes without. */
void registered_init(struct registered *t, struct io_uring *uring, unsigned ring, unsigned nrings);

/* Lets a read, write or fsync that is prepared use what is registered. */
void registered_use(struct registered *t, struct io_uring_sqe *sqe, const struct uring_io *io);

/* A request that takes the file, which has a place, out of the table; and its result. */
void registered_forget(const struct registered *t, struct io_uring_sqe *sqe, const struct uring_file *file);
void registered_forgotten(struct registered *t, struct uring_file *file, int result);

/* Lets go of all files at once: when the ring goes, the kernel lets go of them some time later. */
void registered_end(struct registered *t);
