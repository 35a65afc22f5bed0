/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The files of earlier operations, by the reference's inode number and time of birth, with the state of both sides that
 * no system call shows. Only the main thread uses them.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "call.h"
#include "difference.h"
#include "worker.h"

struct key {
	uint64_t ino;  /* 0: no file */
	int64_t birth; /* ns; an inode number may be used again later */
};

struct object {
	struct object *next;
	struct key key;
	uint64_t mount_ino; /* 0 until it is known */
	unsigned refs;      /* open files and mappings of any kind */
	unsigned opens;     /* the open files that the daemon knows of */
	/* True if the file was removed while open, and has a .nfs name on the mount. */
	bool silly;
	struct key silly_dir;
	int silly_dir_fd;           /* of the directory on the server, or -1 */
	const struct user *remover; /* the user who removed the file */
	uint64_t buried;            /* now_ms() at which its .nfs name was removed; 0 for never */
	unsigned left_links;        /* .nfs names of earlier removals that stay */
	bool stuck;                 /* not a file: the object of one of these names */
	/* When the attributes were read the last time. */
	bool times_known;
	bool times_loose; /* a listed difference, loose_why, may have changed the times of one side since */
	enum difference loose_why;
	struct statx_timestamp mtime[SIDES], ctime[SIDES];
	uint64_t map_written; /* now_ms() of the last write through a mapping, which clears set-id bits on the server */
	bool map_dirty;       /* written through a mapping, and not synced since */
	int refused;          /* the errno of I/O that the server refused, though the file could be opened */
	unsigned mark;        /* of the last comparison of trees that found the file */
};

struct objects;

struct objects *objects_new(void);
struct objects *objects_free(struct objects *os);

/* Finds or makes the object. */
struct object *objects_get(struct objects *os, struct key key);

/* NULL if there is none. */
struct object *objects_find(struct objects *os, struct key key);

/* True if a .nfs name is in this directory. */
bool objects_silly_in(struct objects *os, struct key dir);

void objects_each(struct objects *os, void (*fn)(void *arg, struct object *o), void *arg);

/* Frees the objects that have another mark, no references and no .nfs name. */
void objects_sweep(struct objects *os, unsigned mark);

/* Until the attributes are read the next time, the times may differ for this reason. */
void object_loosen(struct object *o, enum difference why);

/* To be called when the server has received all data of mappings. It has set the times of the file then. */
void object_synced(struct object *o);

struct key key_of(const struct statx *stx);

/* The key of an open file, also with O_PATH. ino is 0 on failure. */
struct key key_of_fd(int fd);

static inline bool key_equal(struct key a, struct key b)
{
	return a.ino == b.ino && a.birth == b.birth;
}
