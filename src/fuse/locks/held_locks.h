/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The held locks of one file: byte ranges and whole files. The rules are those of fs/locks.c (posix_lock_inode,
 * flock_lock_inode): ranges of one owner are split, merged, and changed between shared and exclusive; a flock that
 * changes between shared and exclusive gives its old mode up first.
 *
 * A plain value without a lock of its own: the table (locks.h) owns it, and the table's lock guards it.
 */
#pragma once

#include <stdatomic.h>

#include "base/list.h"
#include "base/util.h"

#define LOCK_END INT64_MAX

enum lock_kind {
	LOCK_KIND_RANGE, /* fcntl(2) */
	LOCK_KIND_FLOCK,
};

enum lock_mode {
	LOCK_MODE_NONE, /* unlock */
	LOCK_MODE_SHARED,
	LOCK_MODE_EXCLUSIVE,
};

struct lock {
	enum lock_kind kind;
	enum lock_mode mode;
	uint64_t owner;
	uint64_t via;       /* the open file (fi->fh) through which the lock was taken */
	bool quiet;         /* close(2) of that open file sends no FLUSH, so it may be closed already */
	int64_t start, end; /* offsets of the first and the last byte; a flock has 0 and LOCK_END */
	int pid;            /* for F_GETLK */
};

struct held {
	struct list node;
	struct lock lock;
	bool closing; /* a process has closed the open file lock.via since */
};

struct held_locks {
	struct list of[2];    /* struct held.node, by kind; the ranges of one owner lie together, ordered by start */
	atomic_size_t *count; /* the locks of all files together */
};

void held_locks_init(struct held_locks *h, atomic_size_t *count);
void held_locks_done(struct held_locks *h);
bool held_locks_empty(const struct held_locks *h);

static inline struct held *held_of(struct list *pos)
{
	return CONTAINER_OF(pos, struct held, node);
}

/* True if a held lock conflicts with a wanted lock of the same kind. */
bool lock_conflicts(const struct lock *held, const struct lock *wanted);

/* The first held lock that conflicts with the wanted lock, or NULL. */
struct held *held_locks_conflict(struct held_locks *h, const struct lock *wanted);

/* The first lock that the range's owner itself holds in this range, or NULL. */
struct held *held_locks_own(struct held_locks *h, const struct lock *range);

/*
 * Gives the owner the wanted lock; no held lock may conflict. room: how many more locks the table may have. -ENOLCK,
 * and nothing changed, if memory is short or room too small.
 */
int held_locks_apply(struct held_locks *h, const struct lock *wanted, size_t room);

/* Drops the owner's flock if its mode is not the wanted one. True if the owner now has the wanted mode. */
bool held_locks_change_flock(struct held_locks *h, const struct lock *wanted);

void held_locks_drop(struct held_locks *h, struct held *held);
