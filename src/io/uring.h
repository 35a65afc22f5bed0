/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Reads, writes and fsyncs of local files. The caller does not wait: uring_read() reads what the page cache has at
 * once, and io_uring does the rest.
 *
 * uring_read() first tries preadv2(2) with RWF_NOWAIT on the caller's thread. io_uring would do the same when it takes
 * the request, but a ring costs two switches of threads. A request that the page cache cannot answer goes to one of the
 * rings. There are as many rings as CPUs. Each ring has a thread, and only this thread submits to the ring and reaps
 * from it, so the kernel need not guard the ring (IORING_SETUP_SINGLE_ISSUER, IORING_SETUP_DEFER_TASKRUN). The thread
 * submits all requests that have come, together.
 *
 * The kernel lets some writers do more than others: use reserved blocks, exceed a quota, keep set-id bits. So the
 * thread of a ring is uid -2 without capabilities. For writers whom the server sees as root the thread has a second
 * credential: root, also without capabilities. The sidecar registers backing ids with the same two credentials
 * (sidecar/backing/thread_cred.h). The change of the credential needs CAP_SETUID; a daemon without it does not write.
 * The uid is -2 and not 65534 because 65534 may have reserved blocks (mount option resuid= of ext4).
 *
 * The lock of a ring guards the list of requests that wait for the ring's thread. The caller owns a struct uring_io and
 * its buffer, except while the request is in progress: from the call of uring_read(), uring_write() ... to done().
 * done() runs exactly once, on a ring's thread, or on the caller's thread before the function returns.
 *
 * The first request starts the threads of all rings, and never on a ring's thread: done() may ask for the next write,
 * and a thread that is created by a ring's thread (uid -2) could not become root.
 *
 * URING_PAUSE is for write_behind.h, which gathers small writes to a backing file as it gathers writes to the server. A
 * single small write costs two switches of threads and takes ten times as long as in a batch. The backing file answers
 * before the program's next write arrives, so the gathering goes on for 300 us after the answer.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>
#include <sys/uio.h>

#include "base/list.h"
#include "base/util.h"

#define URING_MAX_RINGS 16

enum uring_op {
	URING_READ,
	URING_WRITE,
	URING_SYNC,
	URING_PAUSE,
	URING_FORGET,
};

struct uring_io {
	struct list node;        /* in the ring's list; belongs to the ring */
	enum uring_op op;        /* set by uring_read(), uring_write() ... */
	struct uring_file *file; /* a regular file; stays open until done() */
	bool no_cache;           /* in, out: true if the file's filesystem has no RWF_NOWAIT */
	/*
	 * Bytes; 1 without O_DIRECT. An O_DIRECT read that ended at an unaligned end of the file cannot be continued.
	 */
	unsigned align;
	uint8_t *buf;
	size_t size;          /* bytes; at most INT32_MAX */
	struct iovec payload; /* of the FUSE ring entry that contains buf, and lives as long as the rings; or empty */
	uint64_t offset;
	int how;      /* of a write: RWF_APPEND, RWF_SYNC of pwritev2(2); of a sync: RWF_DSYNC for fdatasync(2) */
	bool as_root; /* of a write: true if the server sees the writer as root */
	size_t have;  /* bytes that were transferred, also if the result is an error */
	/*
	 * The result is a number of bytes, less than size only if a read met the end of the file; or a negative errno.
	 */
	void (*done)(struct uring_io *io, ssize_t result);
};

struct uring;

/* The file of requests. The function that opens the file sets fd, and the rest to 0. The rest belongs to the rings. */
struct uring_file {
	int fd;
	short places[URING_MAX_RINGS]; /* per ring, the file's place in the ring's table (io/registered.h) */
	struct uring *uring;
	struct uring_io forget;
	void (*closed)(struct uring_file *file);
};

/* Returns -ENOSYS or -EPERM if the kernel has no io_uring, or a sysctl or seccomp forbids io_uring. */
int uring_new(struct uring **ret);

/* Waits for all requests. Later requests end with -ECANCELED at once. u may be NULL. */
void uring_stop(struct uring *u);

/* Stops and frees the rings. u may be NULL. Returns NULL. */
struct uring *uring_free(struct uring *u);

/* The functions below return without waiting for I/O. */
void uring_read(struct uring *u, struct uring_io *io);

/* The result is -EBADF if the ring's thread could not change its credential: then this daemon does not write. */
void uring_write(struct uring *u, struct uring_io *io);

/* fsync(2), or fdatasync(2). */
void uring_sync(struct uring *u, struct uring_io *io);

/* Calls done() after 300 us, with an error as the result. A program can write more data in this time. */
void uring_pause(struct uring *u, struct uring_io *io);

/*
 * Closes a file that has no request in progress. The rings that have registered the file give its places back first.
 * Then the file is closed and closed() runs, which may free the file. u is NULL if there are no rings.
 */
void uring_file_close(struct uring *u, struct uring_file *file, void (*closed)(struct uring_file *file));
