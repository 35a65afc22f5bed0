/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * One operation: its kind, its actor, its names and open files. It refers to nothing else, so a list of operations,
 * printed one per line, can be run again as a whole or in part. A plain value.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define OP_PATH_MAX 4400 /* bytes, enough for a path or a target that is too long for the kernel */
#define OP_LINE_MAX (10 * OP_PATH_MAX)
#define OP_NONE     (-1)

/* The files whose attributes the same user reads after an operation: of names, their directories, open files. */
#define SEE_PATH    0x01
#define SEE_PARENT  0x02
#define SEE_PATH2   0x04
#define SEE_PARENT2 0x08
#define SEE_SLOT    0x10
#define SEE_SLOT2   0x20
#define SEE_COUNT   6
#define SEE_ENTRY   (SEE_PATH | SEE_PARENT)
#define SEE_ENTRY2  (SEE_PATH2 | SEE_PARENT2)

/* Which of slot and slot2 must be open or a mapping (NEEDS), and which must be free (MAKES). */
#define NEEDS_SLOT  0x01
#define NEEDS_SLOT2 0x02
#define NEEDS_MAP   0x04
#define MAKES_SLOT  0x08
#define MAKES_SLOT2 0x10
#define MAKES_MAP2  0x20

/* Kind, name, weight (its frequency relative to the others), NEEDS and MAKES, SEE. */
#define OP_KINDS(X)                                                                  \
	X(OPEN, "open", 110, MAKES_SLOT, SEE_ENTRY | SEE_SLOT)                       \
	X(TMPFILE, "tmpfile", 2, 0, SEE_PATH)                                        \
	X(REOPEN, "reopen", 8, NEEDS_SLOT | MAKES_SLOT2, SEE_SLOT2)                  \
	X(DUP, "dup", 8, NEEDS_SLOT | MAKES_SLOT2, SEE_SLOT2)                        \
	X(CLOSE, "close", 80, NEEDS_SLOT, 0)                                         \
	X(READ, "read", 16, NEEDS_SLOT, SEE_SLOT)                                    \
	X(PREAD, "pread", 26, NEEDS_SLOT, 0)                                         \
	X(READV, "readv", 8, NEEDS_SLOT, 0)                                          \
	X(WRITE, "write", 22, NEEDS_SLOT, SEE_SLOT)                                  \
	X(PWRITE, "pwrite", 36, NEEDS_SLOT, SEE_SLOT)                                \
	X(WRITEV, "writev", 10, NEEDS_SLOT, SEE_SLOT)                                \
	X(LSEEK, "lseek", 14, NEEDS_SLOT, 0)                                         \
	X(SEEKHOLE, "seekhole", 5, NEEDS_SLOT, 0)                                    \
	X(TRUNCATE, "truncate", 14, 0, SEE_PATH)                                     \
	X(FTRUNCATE, "ftruncate", 16, NEEDS_SLOT, SEE_SLOT)                          \
	X(FSYNC, "fsync", 14, NEEDS_SLOT, SEE_SLOT)                                  \
	X(FADVISE, "fadvise", 6, NEEDS_SLOT, 0)                                      \
	X(SETFL, "setfl", 6, NEEDS_SLOT, 0)                                          \
	X(SENDFILE, "sendfile", 6, NEEDS_SLOT, 0)                                    \
	X(COPYRANGE, "copyrange", 8, NEEDS_SLOT | NEEDS_SLOT2, SEE_SLOT | SEE_SLOT2) \
	X(FALLOCATE, "fallocate", 4, NEEDS_SLOT, SEE_SLOT)                           \
	X(MMAP, "mmap", 12, NEEDS_SLOT | MAKES_MAP2, 0)                              \
	X(MAPREAD, "mapread", 14, NEEDS_MAP, 0)                                      \
	X(MAPWRITE, "mapwrite", 14, NEEDS_MAP, 0)                                    \
	X(MUNMAP, "munmap", 9, NEEDS_MAP, 0)                                         \
	X(FSTAT, "fstat", 10, NEEDS_SLOT, SEE_SLOT)                                  \
	X(STAT, "stat", 16, 0, SEE_PATH)                                             \
	X(CONTENT, "content", 10, 0, SEE_PATH)                                       \
	X(ACCESS, "access", 20, 0, 0)                                                \
	X(LIST, "list", 12, 0, 0)                                                    \
	X(LISTDIR, "listdir", 6, NEEDS_SLOT, 0)                                      \
	X(SEEKDIR, "seekdir", 4, NEEDS_SLOT, 0)                                      \
	X(STATVFS, "statvfs", 2, 0, 0)                                               \
	X(LINK, "link", 16, 0, SEE_PATH | SEE_PATH2 | SEE_PARENT2)                   \
	X(SYMLINK, "symlink", 10, 0, SEE_ENTRY)                                      \
	X(READLINK, "readlink", 8, 0, SEE_PATH)                                      \
	X(UNLINK, "unlink", 40, 0, SEE_ENTRY)                                        \
	X(RENAME, "rename", 36, 0, SEE_ENTRY | SEE_ENTRY2)                           \
	X(MKDIR, "mkdir", 18, 0, SEE_ENTRY)                                          \
	X(RMDIR, "rmdir", 16, 0, SEE_ENTRY)                                          \
	X(MKNOD, "mknod", 14, 0, SEE_ENTRY)                                          \
	X(CHMOD, "chmod", 22, 0, SEE_PATH)                                           \
	X(FCHMOD, "fchmod", 8, NEEDS_SLOT, SEE_SLOT)                                 \
	X(CHOWN, "chown", 16, 0, SEE_PATH)                                           \
	X(FCHOWN, "fchown", 7, NEEDS_SLOT, SEE_SLOT)                                 \
	X(UTIMENS, "utimens", 12, 0, SEE_PATH)                                       \
	X(FUTIMENS, "futimens", 6, NEEDS_SLOT, SEE_SLOT)                             \
	X(XATTR, "xattr", 5, 0, SEE_PATH)                                            \
	X(FLOCK, "flock", 6, NEEDS_SLOT, 0)                                          \
	X(OFDLOCK, "ofdlock", 8, NEEDS_SLOT, 0)                                      \
	X(CHDIR, "chdir", 6, 0, 0)                                                   \
	X(FCHDIR, "fchdir", 3, NEEDS_SLOT, 0)                                        \
	X(GETCWD, "getcwd", 2, 0, 0)                                                 \
	X(UMASK, "umask", 2, 0, 0)

enum op_kind {
#define OP_ENUM(kind, name, weight, needs, see) OP_##kind,
	OP_KINDS(OP_ENUM)
#undef OP_ENUM
	OP_COUNT,
};

struct op {
	unsigned number;
	enum op_kind kind;
	int actor;
	int slot, slot2; /* open files or a mapping; OP_NONE */
	int dir, dir2;   /* slots of directories at which the paths start; OP_NONE: the actor's working directory */
	uint32_t flags, mode;
	int64_t a, b, c; /* offsets, lengths, owners or times, depending on the kind */
	uint64_t seed;   /* of the random numbers that run the operation, such as the data to be written */
	char path[OP_PATH_MAX], path2[OP_PATH_MAX];
};

struct op_info {
	const char *name;
	unsigned weight;
	unsigned needs;
	unsigned see;
};

extern const struct op_info op_infos[OP_COUNT];

void op_init(struct op *op);

/* Prints one line without a line end. It leaves out fields that have their usual value. */
void op_print(const struct op *op, char *to, size_t size);

/* Parses a line of op_print() and ignores a comment after #. 0 or -EINVAL. */
int op_parse(const char *line, struct op *ret);

/* True if the operation follows a symbolic link at the end of its path. */
bool op_follows(const struct op *op);

/* True if the path contains the name "." or "..". */
bool path_has_dots(const char *path);

/* The directory part of a path, "." if it has none. */
void path_parent(const char *path, char to[OP_PATH_MAX]);
