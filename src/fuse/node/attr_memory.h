/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What the kernel was last told of a file's attributes: how long it may believe them, and whether the
 * pages it holds are still the file's.
 *
 * Timeouts are nfs(5)'s: the shortest after a change, twice as long each time that nothing has
 * changed, up to the longest (fs/nfs/inode.c, nfs_update_inode). A value; the inode's lock guards it.
 */
#pragma once

#include "fuse/writes/attr_clock.h"
#include "io/server.h"

struct attr_limits {
	unsigned min, max; /* seconds */
};

struct attr_memory {
	bool known;
	struct nfs_attr attr; /* what the kernel was told last; of a directory: what came last */
	unsigned interval;    /* seconds */
	uint64_t interval_ms; /* when it began */
	uint64_t until_ms;    /* how long the attributes may be told again */
	/* Bytes moved that the kernel's pages have not seen: a local period. */
	bool pages_are_old;
	/* write_log_errors() at the last cached open: since then pages may have what the server has not. */
	unsigned errors;
};

/* The kernel is told these attributes now: for how many seconds it may believe them. */
unsigned attr_memory_tell(struct attr_memory *m, const struct nfs_attr *attr, const struct attr_limits *limits,
	uint64_t now);

/* Whether these are the attributes of what is known already. */
bool attr_memory_is_version(const struct attr_memory *m, const struct nfs_attr *attr);

/* They may not be told again. */
void attr_memory_doubt(struct attr_memory *m);

/* For how many milliseconds they may. */
uint64_t attr_memory_left_ms(const struct attr_memory *m, uint64_t now);

/* Whether what the server says now is what the kernel was told last: its pages may stay. */
bool attr_memory_pages_are_good(const struct attr_memory *m, const struct nfs_attr *attr);

/* Whether they may stay without asking (nocto). */
bool attr_memory_pages_are_believed(const struct attr_memory *m, uint64_t now);
