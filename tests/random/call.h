/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * One operation on one side: its system calls and their results. The worker of the operation's actor on that side runs
 * it, and accesses only the struct call and descriptors.
 */
#pragma once

#include <stddef.h>
#include <sys/stat.h>
#include <time.h>

#include "op.h"

enum side {
	MOUNT,
	REFERENCE, /* a local directory, which gets the same operations */
	SIDES,
};

#define SLOTS         20
#define MAPPINGS      5
#define CALL_DATA_MAX (4U << 20)
#define CALL_MORE_MAX 4

/* Special times of UTIMENS and FUTIMENS. All other times are nanoseconds since 1970. */
#define TIME_NOW  INT64_MIN
#define TIME_OMIT (INT64_MIN + 1)

struct seen {
	int error; /* the errno of statx(2), or 0 */
	struct statx stx;
};

struct call {
	const struct op *op;
	enum side side;
	/* The descriptors of this side for the slots and directories of the operation; -1 for none. */
	int fd, fd2, dir, dir2;
	uint8_t *map;               /* MAPREAD, MAPWRITE, MUNMAP */
	size_t map_length, map_end; /* map_end: the offset of the end of the file, which may be after the mapping */
	int proc_fd;                /* the directory /proc/self/fd */
	int scratch;                /* a memfd of this side */

	int64_t told; /* on the reference: the result of the mount */

	int64_t result;              /* of the system call; -1 on failure */
	int error;                   /* errno of a failure, else 0 */
	bool no_holes;               /* SEEKHOLE: a filesystem without holes has this result */
	int64_t more[CALL_MORE_MAX]; /* further results, which must be equal on both sides */
	uint8_t *data;               /* the data that was read, which must be equal, too; CALL_DATA_MAX bytes */
	size_t size;
	int new_fd; /* OPEN, REOPEN, DUP; CHDIR and FCHDIR: the directory, O_PATH */
	uint8_t *new_map;
	unsigned see; /* SEE_*: the files whose attributes are read afterwards */
	struct seen seen[SEE_COUNT];
};

/* Runs the operation and then does the work of call_look(). For worker_run(). */
void call_run(void *call);

/* Only reads the attributes of the files in see. For worker_run(). */
void call_look(void *call);

/* Puts the names of an open directory into c->data, sorted, each with its NUL and its type. 0 or a negative errno. */
int call_list(struct call *c, int fd);

/* Converts a time of an operation for utimensat(2). */
struct timespec call_time(int64_t t);

/* For call_run(): the system call of each kind. Each kind is in one of the tables, and NULL in the others. */
typedef void call_function(struct call *c);
extern call_function *const calls_of_names[OP_COUNT];
extern call_function *const calls_of_files[OP_COUNT];
extern call_function *const calls_of_data[OP_COUNT];
