/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The attributes of a file that the daemon told the kernel last, for how long the kernel may believe them, and whether
 * the pages in the kernel's page cache still have the file's data.
 *
 * The timeouts are those of nfs(5): the shortest after a change, then twice as long each time that the attributes have
 * not changed, up to the longest (fs/nfs/inode.c, nfs_update_inode).
 *
 * struct attr_memory is a plain value in the inode; the inode's lock guards it.
 */
#pragma once

#include "fuse/writes/attr_clock.h"
#include "io/server.h"

struct attr_limits {
	unsigned min, max; /* seconds */
};

struct attr_memory {
	struct nfs_attr attr; /* the attributes told to the kernel last; of a directory: those that arrived last */
	uint64_t interval_ms; /* now_ms() when the interval began */
	uint64_t until_ms;    /* until then (now_ms()) the kernel may be told the attributes again; 0: not at all */
	unsigned interval;    /* the present timeout, in seconds */
	/* write_log_errors() at the last cached open. After a later error pages may have data that the server lacks. */
	unsigned errors;
	bool known; /* attr has attributes */
	/* The file was open locally, and its data may have changed since the kernel filled its pages. */
	bool pages_are_old;
};

/* Remembers that the kernel is told these attributes now. Returns for how many seconds the kernel may believe them. */
unsigned attr_memory_tell(struct attr_memory *m, const struct nfs_attr *attr, const struct attr_limits *limits,
	uint64_t now);

/* True if size, mtime and ctime are those of the remembered attributes: the file has not changed. */
bool attr_memory_is_version(const struct attr_memory *m, const struct nfs_attr *attr);

/* Forbids to tell the kernel the remembered attributes again. */
void attr_memory_doubt(struct attr_memory *m);

/* For how many more milliseconds the kernel may be told the remembered attributes again. */
uint64_t attr_memory_left_ms(const struct attr_memory *m, uint64_t now);

/* True if the server's present attributes are those that the kernel was told last, so the kernel may keep its pages. */
bool attr_memory_pages_are_good(const struct attr_memory *m, const struct nfs_attr *attr);

/* True if the kernel may keep its pages although the server was not asked (option nocto). */
bool attr_memory_pages_are_believed(const struct attr_memory *m, uint64_t now);
