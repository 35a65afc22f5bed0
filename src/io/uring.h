/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Reads, writes and fsyncs of local files that nobody waits for: what the page cache has is read at once, the rest is
 * done by io_uring.
 *
 * uring_read() first tries preadv2(2) with RWF_NOWAIT on the caller's thread, which is what io_uring would
 * do at the submission, without two switches of threads. What that leaves goes to one of the rings, as many
 * as there are CPUs. Each has a thread of its own, started by the first request: it alone submits, as many at
 * once as have come, and reaps, so that the kernel need not guard the ring (IORING_SETUP_SINGLE_ISSUER,
 * IORING_SETUP_DEFER_TASKRUN).
 *
 * Some writers may what others may not: take blocks that are reserved, exceed a quota, leave set-id bits. So a ring's
 * thread is uid -2, without a capability, and for who is the server's root it has a second credential: root, without a
 * capability either. These are what the sidecar registers backing ids with (sidecar/backing/thread_cred.h). A daemon
 * that cannot become so, for which it takes CAP_SETUID, does not write.
 *
 * A ring's lock guards the list of what is to be submitted. The caller owns a struct uring_io and its
 * buffer until done has run, exactly once: on a ring's thread, or on the caller's before the function
 * returns.
 *
 * All rings start at once, on a thread that is no ring's: the callback of one request may ask for the next write, and a
 * thread that a ring's thread (uid -2) created could not become root. uid -2 and not 65534, because 65534 may have
 * reserved blocks of its own (resuid=).
 *
 * URING_PAUSE exists for write_behind.h. Small writes to a backing file are gathered as writes to the server are: one
 * by one they cost two switches of threads each, and took ten times as long. The backing file answers before the
 * program's next write arrives, so the gathering goes on for 300 us after the answer.
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
	struct list node;        /* the ring's */
	enum uring_op op;        /* which function it was given to */
	struct uring_file *file; /* a regular one; stays open until done */
	bool no_cache;           /* in, out: the file has no RWF_NOWAIT, do not try it */
	unsigned align; /* bytes, with O_DIRECT: whoever comes to the end of the file cannot go on when that grows; else
			   1 */
	uint8_t *buf;
	size_t size;          /* bytes; at most INT32_MAX */
	struct iovec payload; /* that buf is in: a FUSE ring entry's, which stays as long as the rings; or nothing */
	uint64_t offset;
	int how;      /* of a write: RWF_APPEND, RWF_SYNC of pwritev2(2) */
	bool as_root; /* of a write */
	size_t have;  /* bytes so far, also when the result is an error */
	/* result: bytes, fewer than size at the end of the file that is read only; or a negative errno. */
	void (*done)(struct uring_io *io, ssize_t result);
};

struct uring;

/* A file that requests are for. Whoever opens it fills in fd, and 0; the rest is the rings'. */
struct uring_file {
	int fd;
	short places[URING_MAX_RINGS]; /* where each ring has registered it: io/registered.h */
	struct uring *uring;
	struct uring_io forget;
	void (*closed)(struct uring_file *file);
};

/* -ENOSYS or -EPERM where there is no io_uring, or it is not allowed: sysctl, seccomp. */
int uring_new(struct uring **ret);

/* Waits for everything. What is asked for afterwards ends with -ECANCELED at once. Takes NULL. */
void uring_stop(struct uring *u);

/* Stops it, too. Takes NULL; returns NULL. */
struct uring *uring_free(struct uring *u);

/* None of them waits. */
void uring_read(struct uring *u, struct uring_io *io);

/* -EBADF when this daemon does not write. */
void uring_write(struct uring *u, struct uring_io *io);

/* fsync(2). */
void uring_sync(struct uring *u, struct uring_io *io);

/*
 * Nothing, for 300 us: long enough for a program to write some more, and too short to be missed. The result is an
 * error.
 */
void uring_pause(struct uring *u, struct uring_io *io);

/*
 * Closes a file with which nothing is under way any more, as soon as no ring has it registered; then closed() runs,
 * with which the owner may free it. u is NULL where there are no rings.
 */
void uring_file_close(struct uring *u, struct uring_file *file, void (*closed)(struct uring_file *file));
