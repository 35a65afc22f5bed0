/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The files and buffers that a ring has registered with the kernel (io_uring_register(2)): the kernel then need not
 * look up and count the file, or pin the buffer's pages, for each request. The buffers are payloads of FUSE's ring
 * entries.
 *
 * Registration costs system calls, so a file or payload is registered after REGISTERED_OFTEN requests. Of a payload
 * only the beginning is registered, enough for small requests: registered pages are pinned, and all programs of a user
 * together may pin RLIMIT_MEMLOCK bytes, usually 8 MiB. The rings together pin at most a quarter of that. The daemon
 * has no CAP_IPC_LOCK, which would lift the limit.
 *
 * The ring's thread owns the table, and a file's place in the table until the file is closed and has no request.
 *
 * Measured with fio: registration makes no request faster that waits for a disk (4K at depth 8: 67,000 reads per second
 * without, 66,000 with registered files and payloads), and makes each read from the page cache 0.2 us shorter. So it is
 * used only where it costs nothing.
 *
 * A file without registration is closed at once, and most files have none. For a registered file each ring first gives
 * the file's place back, by a request. Before Linux 6.14 such a request could wait for requests of other files, so
 * there no file is registered.
 */
#pragma once

#include <liburing.h>

#include "io/uring.h"

#define REGISTERED_FILES    256
#define REGISTERED_PAYLOADS 32    /* of all rings together */
#define REGISTERED_BYTES    65536 /* per payload */
#define REGISTERED_OFTEN    16    /* requests before the registration */

#ifndef IORING_FEAT_RW_ATTR /* liburing before 2.9 */
#define IORING_FEAT_RW_ATTR (1U << 16)
#endif

struct registered {
	struct io_uring *uring;
	unsigned ring;                /* the ring's number: the index into a file's places */
	short free[REGISTERED_FILES]; /* places without a file; places count from 1 */
	unsigned nfree;
	unsigned npayloads;
	struct {
		const void *start; /* of the first payload with this index, which keeps the index */
		unsigned asked;    /* requests with this payload */
		bool there;        /* it is registered */
	} payloads[REGISTERED_PAYLOADS];
};

/*
 * Runs on the thread of ring number `ring` of nrings rings. If the kernel cannot make the tables, the ring works
 * without registration.
 */
void registered_init(struct registered *t, struct io_uring *uring, unsigned ring, unsigned nrings);

/* Makes a prepared read, write or fsync use the registered file and payload, if there are any. */
void registered_use(struct registered *t, struct io_uring_sqe *sqe, const struct uring_io *io);

/* Prepares the request that takes a file with a place out of the table; and handles the request's result. */
void registered_forget(const struct registered *t, struct io_uring_sqe *sqe, const struct uring_file *file);
void registered_forgotten(struct registered *t, struct uring_file *file, int result);

/* Gives up all files at once. Without this call the kernel would give them up some time after the ring's end. */
void registered_end(struct registered *t);
