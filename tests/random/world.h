/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Both sides and their open files, mappings and working directories. Each of three users has a worker below the mount
 * and one below the reference. The main thread is real root, owns the struct, and reads the reference and the server's
 * directory directly.
 */
#pragma once

#include "object.h"
#include "worker.h"

#define ACTORS         3
#define ROOT           0                    /* the actor root */
#define NOBODY         65534                /* the uid and gid of a squashed root */
#define EXT4_SIZE_MAX  ((1LL << 44) - 4096) /* bytes of a file, with blocks of 4 KiB */
#define SETTLE_SECONDS 10                   /* for the work that the daemon does after its answer */

/* The directories that the main thread reads. */
enum view {
	VIEW_REFERENCE,
	VIEW_SERVER,
	VIEWS,
	VIEW_WITNESS = VIEWS, /* below another mount of the same export, if there is one; only for witness.h */
};

/* An open file description of open(2), which duplicates and mappings share. */
struct description {
	unsigned slots, maps;
	struct object *object;
	int flags; /* of open(2) and F_SETFL */
	int opener;
	mode_t type;
	/*
	 * True if the daemon has opened the file. It closes the file after the last close and the end of the last
	 * mapping. With passthrough mappings do not count, because the kernel maps the server's file itself.
	 */
	bool counted;
	bool passthrough;
	bool opened_append;
};

struct slot {
	struct description *d; /* NULL: the slot is free */
	int fd[SIDES];
	int server_fd;          /* O_PATH of a directory on the server, or -1 */
	char path[OP_PATH_MAX]; /* absolute; "" if it is not known */
};

struct mapping {
	struct description *d; /* NULL: the mapping is free */
	uint8_t *at[SIDES];
	int look_fd;    /* of the reference's file, to read its attributes after the last close */
	int64_t offset; /* in the file */
	size_t length;
	bool shared, writable;
};

struct directory {
	int fd[VIEWS];          /* O_PATH */
	char path[OP_PATH_MAX]; /* absolute; "" if it is not known */
};

struct world_options {
	const char *mount, *reference, *server; /* directories that are empty at the begin, with equal modes */
	const char *control;                    /* the root directory of the mount */
	const char *witness;                    /* the same directory below another mount, or NULL */
	uint64_t squash;                        /* 1: the export squashes root */
	uint64_t special_links;                 /* 1: pipes, sockets and devices may have several names */
	uint64_t remembers;                     /* 1: the mount goes over to a server that remembers attributes */
};

struct world {
	const struct world_options *options;
	struct user users[ACTORS][SIDES]; /* the sides differ only for a squashed root */
	struct worker *workers[ACTORS][SIDES];
	int root[VIEWS + 1]; /* O_PATH; -1 for the witness if there is none */
	int control, proc_fd;
	struct call call[SIDES];
	struct slot slots[SLOTS];
	struct mapping maps[MAPPINGS];
	struct directory cwd[ACTORS];
	struct objects *objects;
	unsigned counted;   /* descriptions that the daemon has open */
	unsigned stuck;     /* .nfs names that stay */
	bool sticky_guards; /* fs.protected_symlinks, _regular or _fifos is set */
	bool fine_times;    /* two changes with a stat(2) between them have different times */
};

/* Ends the program with a message on failure. */
void world_init(struct world *w, const struct world_options *options);
void world_done(struct world *w);

/* Opens the file of the operation's path (second: path2) as root, with O_PATH. A descriptor or a negative errno. */
int world_find(const struct world *w, enum view view, const struct op *op, bool second, bool follow);
/* The same for the directory of the path. */
int world_find_parent(const struct world *w, enum view view, const struct op *op, bool second);

/* The same for an absolute path. */
int world_find_path(const struct world *w, enum view view, const char *path, bool follow);

/* Makes the path of an operation absolute. False if the path of its directory is not known. */
bool world_absolute(const struct world *w, const struct op *op, bool second, char to[OP_PATH_MAX]);

/* The absolute path of an open file of the reference, without links and dots. "" if the file was removed. */
void world_path_of(const struct world *w, int fd, char to[OP_PATH_MAX]);

/* The number of opens that the daemon has answered, and the number of those with passthrough. */
struct opens {
	long all, passthrough;
};
struct opens world_opens(const struct world *w);

/* Runs one side of an operation. expect() has checked its slots. only_look: only call_look(). */
void world_call(struct world *w, enum side side, const struct op *op, bool only_look);

/* Record a new open file, mapping or working directory, or the end of one. */
struct description *world_describe(struct world *w, const struct op *op, struct opens before);
void world_opened(struct world *w, int slot, struct description *d);
void world_closed(struct world *w, int slot);
void world_mapped(struct world *w, int map, const struct op *op, struct description *d);
void world_unmapped(struct world *w, int map);
void world_changed_dir(struct world *w, int actor);

/* Updates the paths of open directories after a rename or removal. */
void world_refresh_paths(struct world *w);

/*
 * close(2) does not wait for the daemon, and the daemon does not wait for the removal of a .nfs name. Waits for both.
 * False after SETTLE_SECONDS.
 */
bool world_settle(struct world *w);

/* A number of the daemon's status: the first one with this key after the text group. -1 if there is none. */
long world_status(const struct world *w, const char *group, const char *key);

/*
 * True if the mode bits give this user all permissions in want (R_OK, W_OK, X_OK). The server always gives them to the
 * owner of a regular file.
 */
bool server_allows(const struct user *u, const struct statx *stx, int want);

/* Prints a message and ends the program with status 2. */
void die(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));
