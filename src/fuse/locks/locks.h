/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The locks of one mount: fcntl(2)'s ranges and flock(2)'s whole files, found by NFS file handle, so
 * that they hold across the inodes that one file may have (open_mode.h, retired). They are local: no
 * other client sees them.
 *
 * The rules are the kernel's own (held_locks.h): whoever waits is not in a queue, but gets the lock when
 * nothing that is held conflicts; EDEADLK for fcntl's. Owners are the kernel's numbers for a process's descriptor table
 * (fcntl) or for an open file (flock, and fcntl's F_OFD_ ones, which cannot be told from the others here).
 *
 * What an open file holds goes when the kernel says that it is gone, which may arrive after a request that
 * a program made later. So where a file in the way was closed by somebody, who perhaps was the last, even
 * who does not want to wait does, for LOCK_GRACE_MS.
 *
 * One mutex guards the table; callbacks run without it, on the thread whose call let them go on.
 *
 * The kernel could keep local locks by itself, but it would keep them per inode, of which a file may have several, and
 * nobody would learn of the first lock. With nolock or local_lock the kernel keeps them, since the user knows that they
 * are local.
 *
 * Closing any descriptor of a file ends the process's fcntl locks on the file, and FLUSH tells of the close. Most
 * mounts never see a lock, so opens for reading cause a FLUSH only after the mount's first lock (FOPEN_NOFLUSH until
 * then: open and close of a hot file are one request instead of two). An open file from before the first lock lets its
 * locks go with RELEASE. That is too late only where a process inherited the descriptor, or where the lock was taken
 * through another descriptor.
 */
#pragma once

#include "fuse/locks/held_locks.h"
#include "io/server.h"

#define LOCKS_MAX     65536 /* held and waited for: ENOLCK beyond */
#define LOCK_GRACE_MS 50
#define LOCK_ASK_MS   1000

/* Somebody who wants a lock. The caller keeps it until done() when he has to wait. */
struct lock_wait {
	struct lock lock;
	/* 0, or why not: -ENOLCK, -EAGAIN, -EINTR when given_up(), or what locks_end_waits() said. */
	void (*done)(struct lock_wait *w, int error);
	/*
	 * Whether the one who waits has had enough: asked every LOCK_ASK_MS, with the table's lock, where not every
	 * signal is told of. NULL: locks_cancel() comes for each.
	 */
	bool (*given_up)(struct lock_wait *w);
	/* The table's. */
	struct list of_file, all;
	struct lock_file *file;
	bool waits, cancelled;
	int error;
	uint64_t visited;
	uint64_t deadline; /* ms, of who waits for a file to be gone; 0: none */
	uint64_t ask_at;   /* ms, when given_up() is due; 0: never */
};

struct locks;

int locks_new(struct locks **ret);

/* Nobody may wait any more. Takes NULL, returns NULL. */
struct locks *locks_free(struct locks *l);

/*
 * Takes, changes or gives up a lock. 0: done. 1: it waits, and done() will be called; without sleep only
 * for a moment, and then with -EAGAIN. -EAGAIN: another owner has it. -EDEADLK, -ENOLCK, -ENOMEM; -EINTR when it was
 * cancelled before.
 */
int locks_set(struct locks *l, const struct nfs_fh *fh, struct lock_wait *w, bool sleep);

/*
 * Whoever waits does not want to any more. True: it does not wait now, and done() will not be called.
 * False: done() was or will be called, or locks_set() was not called yet and will say -EINTR.
 */
bool locks_cancel(struct locks *l, struct lock_wait *w);

/* A lock that is in the way of this one, or of LOCK_MODE_NONE the owner's own; false when there is none. */
bool locks_test(struct locks *l, const struct nfs_fh *fh, const struct lock *wanted, struct lock *ret);

/* A process closed the open file, which others may still have: the process's ranges go (fcntl(2)). */
void locks_closed(struct locks *l, const struct nfs_fh *fh, uint64_t owner, uint64_t via);

/* The open file is gone: so is everything that was locked through it. */
void locks_released(struct locks *l, const struct nfs_fh *fh, uint64_t via);

/* The mount ends: done() with this error for everybody. */
void locks_end_waits(struct locks *l, int error);

void locks_count(struct locks *l, size_t *ret_held, size_t *ret_waiting);
