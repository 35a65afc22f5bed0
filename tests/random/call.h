/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * One operation on one side: the system calls, and what came of them. Runs on the worker of the
 * operation's actor on that side, and touches nothing but the call and descriptors.
 */
#pragma once

#include <stddef.h>
#include <sys/stat.h>
#include <time.h>

#include "op.h"

enum side {
	MOUNT,
	REFERENCE, /* the local directory that does the same */
	SIDES,
};

#define SLOTS         20
#define MAPPINGS      5
#define CALL_DATA_MAX (4U << 20)
#define CALL_MORE_MAX 4

/* The times of UTIMENS and FUTIMENS; everything else is nanoseconds. */
#define TIME_NOW  INT64_MIN
#define TIME_OMIT (INT64_MIN + 1)

struct seen {
	int error; /* errno; 0 is seen */
	struct statx stx;
};

struct call {
	const struct op *op;
	enum side side;
	/* What the operation's numbers stand for on this side: descriptors, -1 for none. */
	int fd, fd2, dir, dir2;
	uint8_t *map;               /* MAPREAD, MAPWRITE, MUNMAP */
	size_t map_length, map_end; /* map_end: where the file ends, which may be beyond the mapping */
	int proc_fd;                /* a directory: /proc/self/fd */
	int scratch;                /* a memfd of this side's own */

	int64_t told; /* on the reference: the mount's result */

	int64_t result;              /* the system call's; -1 on failure */
	int error;                   /* errno of that, else 0 */
	bool no_holes;               /* SEEKHOLE: the result is that of who knows of none */
	int64_t more[CALL_MORE_MAX]; /* further results, to be the same on both sides */
	uint8_t *data;               /* what was read, to be the same too; CALL_DATA_MAX bytes of room */
	size_t size;
	int new_fd; /* OPEN, REOPEN, DUP; CHDIR and FCHDIR: the directory, O_PATH */
	uint8_t *new_map;
	unsigned see; /* SEE_*: what is looked at afterwards */
	struct seen seen[SEE_COUNT];
};

/* For worker_run(). */
void call_run(void *call);

/* Looks as call_run() does afterwards, without doing anything before. For worker_run(). */
void call_look(void *call);

/* Entries of an open directory from its beginning: names, each with its type, sorted, in c->data. */
int call_list(struct call *c, int fd);

/* An operation's time as utimensat() takes it. */
struct timespec call_time(int64_t t);

/* For call_run(): the system call of each kind. Each kind is in one of the tables, and NULL in the others. */
typedef void call_function(struct call *c);
extern call_function *const calls_of_names[OP_COUNT];
extern call_function *const calls_of_files[OP_COUNT];
extern call_function *const calls_of_data[OP_COUNT];
