/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The files that operations have met, by the reference's inode number and time of birth: what is
 * known of each on both sides and cannot be seen from outside. The main thread's alone.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "call.h"
#include "difference.h"
#include "worker.h"

struct key {
	uint64_t ino;  /* 0 is none */
	int64_t birth; /* ns; inode numbers are used again */
};

struct object {
	struct object *next;
	struct key key;
	uint64_t mount_ino; /* 0 until seen */
	unsigned refs;      /* open files and mappings of any kind */
	unsigned opens;     /* those that the daemon knows of */
	/* On the mount the file lies under a .nfs name, since it was removed while open. */
	bool silly;
	struct key silly_dir;
	int silly_dir_fd; /* of the server's side; -1 */
	const struct user *remover;
	uint64_t buried;     /* ms of CLOCK_MONOTONIC: when its .nfs name went; 0 never */
	unsigned left_links; /* .nfs names of earlier removals that stay */
	bool stuck;          /* no file: stands for one of these */
	/* When it was last looked at. */
	bool times_known;
	bool times_loose; /* a listed difference may have changed the times of one side since: */
	enum difference loose_why;
	struct statx_timestamp mtime[SIDES], ctime[SIDES];
	uint64_t map_written; /* ms: when, the last time; the server clears set-id bits then */
	bool map_dirty;       /* written through a mapping, and not synced since */
	int refused;          /* the errno of I/O that the open had been allowed and the server refused */
	unsigned mark;        /* the last comparison of trees that found it */
};

struct objects;

struct objects *objects_new(void);
struct objects *objects_free(struct objects *os);

/* Makes one when there is none. */
struct object *objects_get(struct objects *os, struct key key);

/* NULL when there is none. */
struct object *objects_find(struct objects *os, struct key key);

/* Whether the file of a silly name lies in this directory. */
bool objects_silly_in(struct objects *os, struct key dir);

void objects_each(struct objects *os, void (*fn)(void *arg, struct object *o), void *arg);

/* Forgets those that have no such mark and no references. */
void objects_sweep(struct objects *os, unsigned mark);

/* From now to the next look its times may differ. */
void object_loosen(struct object *o, enum difference why);

/* The server has all that was written through mappings; it took its times when it got that. */
void object_synced(struct object *o);

struct key key_of(const struct statx *stx);

/* Of an open file, an O_PATH one too; ino 0 on failure. */
struct key key_of_fd(int fd);

static inline bool key_equal(struct key a, struct key b)
{
	return a.ino == b.ino && a.birth == b.birth;
}
