/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The locks of one mount: byte ranges of fcntl(2) and whole files of flock(2). They are found by NFS file handle,
 * because one file may have several inodes (retired ones, open_mode.h). The locks are local: no other client sees them.
 *
 * The rules are the kernel's own (held_locks.h). Waiting requests form no queue: each gets its lock when no held lock
 * conflicts any more. A wait for an fcntl lock that closes a circle fails with EDEADLK. Owners are numbers of the
 * kernel: for fcntl the number of a process's descriptor table, for flock and for fcntl's F_OFD_ locks the number of an
 * open file. The daemon cannot tell F_OFD_ locks from other fcntl locks.
 *
 * The locks of an open file end with the kernel's RELEASE, which may arrive after a lock request that a program made
 * later than its close(2). So if a process has closed the open file of each conflicting lock, that close may have been
 * the last one. In that case even a request that does not want to wait waits, for LOCK_GRACE_MS.
 *
 * One mutex, the table's lock, guards the table, and all functions take it. Any thread may call them. Callbacks run
 * without that lock, except given_up(), on the thread whose call ended the wait.
 *
 * The kernel could keep local locks by itself. But the kernel would keep them per inode, and a file may have several
 * inodes; and the daemon could not log the first lock. With nolock or local_lock the kernel does keep them, because the
 * user then knows that the locks are local.
 *
 * close(2) of any descriptor of a file ends the process's fcntl locks on the file, and FLUSH tells the daemon of the
 * close. Most mounts never see a lock. So opens without other work at close(2), such as those for reading, cause a
 * FLUSH only after the mount's first lock (FOPEN_NOFLUSH until then: open and close of a hot file are one request
 * instead of two). The locks taken through an open file from before the first lock end with RELEASE. That is too late
 * only if a process inherited the descriptor, or if the lock was taken through another descriptor.
 */
#pragma once

#include "fuse/locks/held_locks.h"
#include "io/server.h"

#define LOCKS_MAX     65536 /* held locks and waiting requests together; more fail with ENOLCK */
#define LOCK_GRACE_MS 50
#define LOCK_ASK_MS   1000

/* A request for a lock. If it has to wait, the caller keeps the memory until done(). */
struct lock_wait {
	struct lock lock;
	/*
	 * The wait has ended. 0: the lock is held. -ENOLCK, -EAGAIN; -EINTR after given_up(); or the error of
	 * locks_end_waits().
	 */
	void (*done)(struct lock_wait *w, int error);
	/*
	 * True if the caller was interrupted; called every LOCK_ASK_MS with the table's lock held. For requests that
	 * may get no FUSE_INTERRUPT. NULL: locks_cancel() is called for each signal.
	 */
	bool (*given_up)(struct lock_wait *w);
	/* Only the table uses the following members. */
	struct list of_file, all;
	struct lock_file *file;
	bool waits, cancelled;
	int error;
	uint64_t visited;
	uint64_t deadline; /* now_ms() when a wait for a RELEASE ends; 0: not such a wait */
	uint64_t ask_at;   /* now_ms() when given_up() is due; 0: never */
};

struct locks;

int locks_new(struct locks **ret);

/* No request may be waiting any more. Takes NULL, returns NULL. */
struct locks *locks_free(struct locks *l);

/*
 * Takes, changes or gives up a lock. 0: done. 1: the request waits, and done() will be called; without sleep it waits
 * for LOCK_GRACE_MS at most, then done() gets -EAGAIN. -EAGAIN: another owner has a conflicting lock. -EDEADLK,
 * -ENOLCK; -EINTR if locks_cancel() was called before.
 */
int locks_set(struct locks *l, const struct nfs_fh *fh, struct lock_wait *w, bool sleep);

/*
 * Cancels a wait. True: the wait has ended, and done() will not be called. False: done() was called or will be called,
 * or locks_set() was not called yet and will return -EINTR.
 */
bool locks_cancel(struct locks *l, struct lock_wait *w);

/*
 * True if a held lock conflicts with the wanted one; *ret is that lock. With LOCK_MODE_NONE: true if the owner itself
 * holds a lock in the range.
 */
bool locks_test(struct locks *l, const struct nfs_fh *fh, const struct lock *wanted, struct lock *ret);

/* A process closed an open file, which other processes may still have: its fcntl(2) locks on the file end. */
void locks_closed(struct locks *l, const struct nfs_fh *fh, uint64_t owner, uint64_t via);

/* The open file was released: all locks that were taken through it end. */
void locks_released(struct locks *l, const struct nfs_fh *fh, uint64_t via);

/* The mount ends: calls done() with this error for every waiting request. */
void locks_end_waits(struct locks *l, int error);

void locks_count(struct locks *l, size_t *ret_held, size_t *ret_waiting);
