/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The entries of a struct memory: one per file and directory that is behind, or was until recently.
 *
 * A part of memory.h. The lock of struct memory guards the entries and their lists, and the caller of each function
 * holds it.
 */
#pragma once

#include "fuse/memory/memory.h"

struct look;

/* A file or directory that is behind, or was until recently. */
struct behind {
	struct hash_node node;
	struct list order; /* memory.idle or memory.recent, or alone during the look */
	struct nfs_fh fh;
	bool recent;         /* not behind any more */
	uint64_t looked;     /* attr_clock_tick() at the end of the last look */
	uint32_t changes;    /* until now */
	unsigned failures;   /* in a row */
	uint64_t due;        /* now_ms(): when it is looked at by itself */
	struct look *look;   /* under way */
	struct list waiters; /* struct waiter.node */

	/* Of a directory. */
	struct timespec mtime, ctime; /* after the last change that the sidecar has answered */
	struct timespec seen;         /* the mtime that the server told with its last look; 0: none */
	bool taken;            /* a name was taken away, and nobody waits for the look; until a look is believed */
	unsigned touches;      /* in a row */
	struct nfs_cred taker; /* who has taken the name */
};

/* The entry, or NULL; behind_find() finds only what is behind. */
struct behind *behind_find_any(const struct memory *m, const struct nfs_fh *fh);
struct behind *behind_find(const struct memory *m, const struct nfs_fh *fh);

/* A new entry, in no list; NULL without memory. */
struct behind *behind_add(struct memory *m, const struct nfs_fh *fh);

/* An entry that was not behind is now. True if it is the first to be due. */
bool behind_begin(struct memory *m, struct behind *b, unsigned within_ms);

/* Puts an entry without a look among the others, by its due time. True if it is the first. */
bool behind_wait(struct memory *m, struct behind *b, uint64_t due);

/* The server has seen all changes. No call waits for the entry. */
void behind_caught_up(struct memory *m, struct behind *b);

/* There is no file any more, or no server. No call waits for the entry, which is freed. */
void behind_forget(struct memory *m, struct behind *b);

/* Frees all entries. */
void behind_free_all(struct memory *m);
