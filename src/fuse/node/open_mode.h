/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The open modes of one inode, and the rule which mode the next open may have.
 *
 * The kernel refuses (EIO) an open whose mode does not fit the opens that the inode already has
 * (fs/fuse/iomode.c fuse_inode_cached_io_start, fuse_inode_uncached_io_start):
 *
 *	already open        | cached | direct | passthrough same id | + direct same id | other id
 *	cached              |   ok   |   ok   |         EIO         |       EIO        |   EIO
 *	direct only         |   ok   |   ok   |         ok          |       ok         |   ok
 *	passthrough (+dir.) |   EIO  |   EIO  |         ok          |       ok         |   EIO
 *
 * And a direct open that is mapped makes its inode cached until it is released (fs/fuse/file.c
 * fuse_file_mmap). The daemon does not see mappings, so one that could be is taken for one that is.
 *
 * A mapping of a passthrough open is one of the backing file (fs/fuse/passthrough.c fuse_passthrough_mmap)
 * and outlives the open unseen, as long as it likes. What is written through it changes the file's times
 * only when a page was clean, so no attributes tell that cached pages are old: once there may be one, opens
 * without passthrough are direct. And a mapping that reads does not see what is only gathered for the server.
 *
 * struct open_mode counts what was answered and owns the inode's backing id. It is a plain value:
 * the inode's lock guards it, and covers choosing, counting and replying as one step, so that the
 * opens the kernel knows are always a subset of the ones counted here.
 *
 * So for the rest of an inode's life after such a mapping is possible: no cached opens (they would show old pages for
 * ever), no gathered writes, and no unstable data that is sent again later. backing_sync.h makes the mapping's data
 * stable at fsync.
 */
#pragma once

#include "base/util.h"

enum open_path {
	OPEN_PATH_CACHED,
	OPEN_PATH_DIRECT,             /* FOPEN_DIRECT_IO: the daemon serves, nothing is cached */
	OPEN_PATH_DIRECT_MAPPABLE,    /* the same, opened for reading too */
	OPEN_PATH_PASSTHROUGH,        /* FOPEN_PASSTHROUGH: the kernel serves */
	OPEN_PATH_PASSTHROUGH_DIRECT, /* both: registered, but the daemon serves over RPC */
	OPEN_PATH_COUNT,
};

struct open_mode {
	unsigned opens[OPEN_PATH_COUNT];
	int backing_id;      /* 0: none */
	bool writable;       /* the id may be opened for writing */
	bool root;           /* what is written through it is written as the server's root: reserved blocks, too */
	bool mapped;         /* there may be a mapping of the backing file, for ever */
	bool map_written;    /* and it may be written through */
	uint64_t generation; /* of the session that registered it; another one's id serves no new
				passthrough open */
};

/* What an open wants and what the broker gave for it. */
struct open_wish {
	bool read;           /* O_RDONLY or O_RDWR: may be mapped */
	bool write;          /* O_WRONLY or O_RDWR */
	bool append;         /* O_APPEND: direct unless the kernel does it */
	bool by_daemon;      /* O_DIRECT that is not for the backing filesystem: odirect=any, buffered */
	uint64_t generation; /* the session that allows this open locally; 0: nobody does */
	int granted_id;      /* a fresh id of that session, 0: none */
	bool granted_writable;
	bool root; /* the opener is the server's root */
};

/*
 * The path for the next open, or -ESTALE when the table has no answer for it (a read-only id is in
 * use and the open may write): then the inode is retired and the VFS comes back with a new one.
 * Takes nothing; open_mode_count() does.
 */
int open_mode_choose(const struct open_mode *m, const struct open_wish *w);

/*
 * Counts an open on the chosen path. Adopts the granted id where the path uses it. Returns the id
 * that is now of no use and must be released: the granted one when another serves, the old one when
 * it was replaced, 0 for none.
 */
int open_mode_count(struct open_mode *m, const struct open_wish *w, enum open_path path);

/*
 * Takes back what open_mode_count() counted, after the kernel's RELEASE or a reply that did not
 * arrive. Returns true when that was the last passthrough open.
 */
bool open_mode_uncount(struct open_mode *m, enum open_path path);

/* Passthrough opens of either kind: while there are any, the id must not be closed. */
unsigned open_mode_registered(const struct open_mode *m);

/* Whether an open on this path is a passthrough open of either kind. */
bool open_mode_is_registered(enum open_path path);

/* Whether there is an id that the session registered. */
bool open_mode_has_id_of(const struct open_mode *m, uint64_t generation);

/* Whether the kernel may write to the backing file, unseen. */
bool open_mode_written_locally(const struct open_mode *m);

/* Whether somebody may look at the backing file, unseen. */
bool open_mode_seen_locally(const struct open_mode *m);

/* Opens beside which no new one can be passthrough. */
bool open_mode_cached(const struct open_mode *m);

/* All opens. */
unsigned open_mode_total(const struct open_mode *m);

/* Gives up the id when no open uses it: returns it, 0 if there is none or it is in use. */
int open_mode_take_id(struct open_mode *m);
