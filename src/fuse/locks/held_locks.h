/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What is locked of one file: ranges and whole files, as fs/locks.c has it (posix_lock_inode,
 * flock_lock_inode): a range is split, merged and changed in kind per owner; a flock that changes its kind
 * gives the old one up first. A value without a lock of its own: that of the table (locks.h) guards it.
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
	uint64_t via;       /* the open file that it was taken through */
	bool quiet;         /* who closes that does not tell: it may be closed already */
	int64_t start, end; /* both included, LOCK_END is the last; all of it for a flock */
	int pid;            /* for F_GETLK */
};

struct held {
	struct list node;
	struct lock lock;
	bool closing; /* somebody has closed the file since */
};

struct held_locks {
	struct list of[2];    /* struct held.node, by kind; an owner's ranges together, by their start */
	atomic_size_t *count; /* of all files together */
};

void held_locks_init(struct held_locks *h, atomic_size_t *count);
void held_locks_done(struct held_locks *h);
bool held_locks_empty(const struct held_locks *h);

static inline struct held *held_of(struct list *pos)
{
	return CONTAINER_OF(pos, struct held, node);
}

/* Whether a lock that is held is in the way of another one of its kind. */
bool lock_conflicts(const struct lock *held, const struct lock *wanted);

/* The first that is in the way, or NULL. */
struct held *held_locks_conflict(struct held_locks *h, const struct lock *wanted);

/* The first that the owner itself has in this range, or NULL. */
struct held *held_locks_own(struct held_locks *h, const struct lock *range);

/*
 * Nothing is in the way: what the owner holds becomes what is wanted. -ENOLCK, and all as it was, when that
 * takes more memory than there is, or more locks than room.
 */
int held_locks_apply(struct held_locks *h, const struct lock *wanted, size_t room);

/* The owner's flock, if it is of another kind than wanted, is given up. True: there is nothing more to do. */
bool held_locks_change_flock(struct held_locks *h, const struct lock *wanted);

void held_locks_drop(struct held_locks *h, struct held *held);
