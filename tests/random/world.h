/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Both sides and what is open on them: three users, each a worker below the mount and one below the
 * reference; open files, mappings and working directories. The main thread, real root, looks past
 * the users at the reference and at the server's own directory behind the mount.
 */
#pragma once

#include "object.h"
#include "worker.h"

#define ACTORS         3
#define ROOT           0                    /* the actor */
#define NOBODY         65534                /* whom root_squash makes of root */
#define EXT4_SIZE_MAX  ((1LL << 44) - 4096) /* bytes of a file, with blocks of 4 KiB */
#define SETTLE_SECONDS 10                   /* that the daemon has for what it does after it answered */

/* Where the main thread can look. */
enum view {
	VIEW_REFERENCE,
	VIEW_SERVER,
	VIEWS,
	VIEW_WITNESS = VIEWS, /* by another mount of the same, if there is one; for witness.h alone */
};

/* An open file as open(2) makes it: duplicates and mappings share one. */
struct description {
	unsigned slots, maps;
	struct object *object;
	int flags; /* of open(2), F_SETFL's too */
	int opener;
	mode_t type;
	/* The daemon was asked to open it, and will be told of its end: the last mapping's, too, unless
	 * the kernel maps the server's file itself. */
	bool counted;
	bool passthrough;
	bool opened_append;
};

struct slot {
	struct description *d; /* NULL: nothing is open */
	int fd[SIDES];
	int server_fd;          /* directories: O_PATH, behind the mount; -1 */
	char path[OP_PATH_MAX]; /* absolute; "" when that is not known */
};

struct mapping {
	struct description *d; /* NULL: nothing is mapped */
	uint8_t *at[SIDES];
	int look_fd;    /* of the reference's file, to look at it when all else is closed */
	int64_t offset; /* in the file */
	size_t length;
	bool shared, writable;
};

struct directory {
	int fd[VIEWS];          /* O_PATH */
	char path[OP_PATH_MAX]; /* absolute; "" when that is not known */
};

struct world_options {
	const char *mount, *reference, *server; /* directories that begin empty and alike */
	const char *control;                    /* the mount's root */
	const char *witness;                    /* the same directory by another mount; NULL */
	uint64_t squash;                        /* 1: the export makes root nobody */
	uint64_t special_links;                 /* 1: pipes, sockets and devices may have several names */
};

struct world {
	const struct world_options *options;
	struct user users[ACTORS][SIDES]; /* differ for a squashed root only */
	struct worker *workers[ACTORS][SIDES];
	int root[VIEWS + 1]; /* O_PATH; the witness's -1 without one */
	int control, proc_fd;
	struct call call[SIDES];
	struct slot slots[SLOTS];
	struct mapping maps[MAPPINGS];
	struct directory cwd[ACTORS];
	struct objects *objects;
	unsigned counted;   /* descriptions that the daemon knows of */
	unsigned stuck;     /* .nfs names that nobody could remove */
	bool sticky_guards; /* fs.protected_symlinks, _regular or _fifos is set */
	bool fine_times;    /* each change of a file that was looked at shows in its times */
};

/* Ends the program with a sentence on failure: nothing can be tested without it. */
void world_init(struct world *w, const struct world_options *options);
void world_done(struct world *w);

/* O_PATH of what an operation's path (path2: second) names, seen by root; a negative errno. */
int world_find(const struct world *w, enum view view, const struct op *op, bool second, bool follow);
int world_find_parent(const struct world *w, enum view view, const struct op *op, bool second);

/* The same for an absolute path. */
int world_find_path(const struct world *w, enum view view, const char *path, bool follow);

/* An operation's path as an absolute one; false when its directory's is not known. */
bool world_absolute(const struct world *w, const struct op *op, bool second, char to[OP_PATH_MAX]);

/* An open file's absolute path on the reference as the kernel knows it: no links, no dots; "" when it was removed. */
void world_path_of(const struct world *w, int fd, char to[OP_PATH_MAX]);

/* How many opens the daemon has answered, and how many of them it has left to the kernel. */
struct opens {
	long all, passthrough;
};
struct opens world_opens(const struct world *w);

/* Runs one side of an operation, whose numbers have been checked. */
void world_call(struct world *w, enum side side, const struct op *op, bool only_look);

/* Keep a new open file, mapping, working directory; or end one. */
struct description *world_describe(struct world *w, const struct op *op, struct opens before);
void world_opened(struct world *w, int slot, struct description *d);
void world_closed(struct world *w, int slot);
void world_mapped(struct world *w, int map, const struct op *op, struct description *d);
void world_unmapped(struct world *w, int map);
void world_changed_dir(struct world *w, int actor);

/* After a rename or removal: the paths of directories that are open. */
void world_refresh_paths(struct world *w);

/*
 * close(2) does not wait until the daemon has heard of it, and the daemon does not wait for the
 * removal of what lies under a .nfs name. Returns once both have happened; false after 10 seconds.
 */
bool world_settle(struct world *w);

/* A number of the daemon's status, of a group of it or of all ("{"); -1 when there is none. */
long world_status(const struct world *w, const char *group, const char *key);

/*
 * Whether mode bits let this user have all of R_OK, W_OK, X_OK; the owner of a regular file may
 * always, as the server has it.
 */
bool server_allows(const struct user *u, const struct statx *stx, int want);

void die(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));
