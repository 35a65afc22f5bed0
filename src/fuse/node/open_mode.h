/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The open modes of one inode, and the rule that chooses the mode of the next open.
 *
 * The kernel refuses (EIO) an open whose mode does not fit the inode's present opens
 * (fs/fuse/iomode.c fuse_inode_cached_io_start, fuse_inode_uncached_io_start):
 *
 *	already open        | cached | direct | passthrough same id | + direct same id | other id
 *	cached              |   ok   |   ok   |         EIO         |       EIO        |   EIO
 *	direct only         |   ok   |   ok   |         ok          |       ok         |   ok
 *	passthrough (+dir.) |   EIO  |   EIO  |         ok          |       ok         |   EIO
 *
 * mmap(2) of a direct open makes the inode cached until that open is released (fs/fuse/file.c fuse_file_mmap). The
 * daemon does not see mappings, so it counts a direct open that could be mapped as mapped.
 *
 * A mapping of a passthrough open maps the backing file (fs/fuse/passthrough.c fuse_passthrough_mmap). It can outlive
 * the open for any time, and the daemon does not see that. A write through the mapping changes the file's times only
 * when the page was clean, so attributes cannot show that cached pages are old. A mapping for reading does not show
 * writes that the daemon only gathers for the server. So from the first moment when an inode can have such a mapping
 * until the inode is freed, it gets no cached opens (they would show old pages for ever; opens without passthrough are
 * direct), no gathered writes, and no unstable data that is sent again later. backing_sync.h makes the mapping's data
 * stable at fsync.
 *
 * struct open_mode counts opens and owns the inode's backing id. It is a plain value in the inode. The inode's lock
 * guards it, and the caller holds that lock while it chooses and counts. An open is counted before its reply and until
 * after its RELEASE. So all opens that the kernel knows are counted, and each two that are counted fit by that table.
 * The order of replies does not matter: the kernel looks at the modes later, when the opener runs.
 */
#pragma once

#include "base/util.h"

enum open_path {
	OPEN_PATH_CACHED,
	OPEN_PATH_DIRECT,             /* FOPEN_DIRECT_IO: the daemon serves reads and writes, without the page cache */
	OPEN_PATH_DIRECT_MAPPABLE,    /* FOPEN_DIRECT_IO, and opened for reading, so mmap(2) is possible */
	OPEN_PATH_PASSTHROUGH,        /* FOPEN_PASSTHROUGH: the kernel serves reads and writes */
	OPEN_PATH_PASSTHROUGH_DIRECT, /* both flags: the open has a backing id, but the daemon serves it over RPC */
	OPEN_PATH_COUNT,
};

struct open_mode {
	unsigned opens[OPEN_PATH_COUNT];
	int backing_id;      /* 0: none */
	bool writable;       /* the id may be opened for writing */
	bool root;           /* writes through the id are those of the server's root, who may use reserved blocks */
	bool mapped;         /* a mapping of the backing file may exist; never reset */
	bool map_written;    /* a mapping of the backing file for writing may exist; never reset */
	uint64_t generation; /* of the session that registered the id; the id serves no new passthrough open of
				another session */
};

/* The flags of an open, and the sidecar's answer to it. */
struct open_wish {
	bool read;           /* O_RDONLY or O_RDWR: mmap(2) is possible */
	bool write;          /* O_WRONLY or O_RDWR */
	bool append;         /* O_APPEND: a direct open, unless it is a passthrough open and the kernel appends */
	bool by_daemon;      /* O_DIRECT that must not reach the backing filesystem (odirect=any, odirect=buffered) */
	uint64_t generation; /* the session with the sidecar that allows this open locally; 0: none does */
	int granted_id;      /* a fresh backing id of that session; 0: none */
	bool granted_writable;
	bool root; /* the opener is the server's root */
};

/*
 * Chooses the path of the next open. -ESTALE if the table above allows no path (a read-only id is in use, and the open
 * may write): then the caller retires the inode, and the VFS walks again and gets a fresh one. Changes nothing: the
 * caller then counts the open with open_mode_count().
 */
int open_mode_choose(const struct open_mode *m, const struct open_wish *w);

/*
 * Counts an open on the chosen path, and takes over the granted id if the path uses it. Returns the id that is of no
 * use any more, which the caller must release: the granted id if another id serves the open, the old id if the granted
 * one replaced it; 0: none.
 */
int open_mode_count(struct open_mode *m, const struct open_wish *w, enum open_path path);

/*
 * Takes back open_mode_count(), after the kernel's RELEASE or after a reply that the kernel did not get. True if that
 * was the last passthrough open.
 */
bool open_mode_uncount(struct open_mode *m, enum open_path path);

/* The number of passthrough opens of both kinds. While there are any, the backing id must not be closed. */
unsigned open_mode_registered(const struct open_mode *m);

/* True if an open on this path is a passthrough open of either kind. */
bool open_mode_is_registered(enum open_path path);

/* True if the inode has a backing id that this session registered. */
bool open_mode_has_id_of(const struct open_mode *m, uint64_t generation);

/* True if the kernel may write to the backing file without a request to the daemon. */
bool open_mode_written_locally(const struct open_mode *m);

/* True if a process may read the backing file without a request to the daemon. */
bool open_mode_seen_locally(const struct open_mode *m);

/* True if the inode has opens that forbid a new passthrough open. */
bool open_mode_cached(const struct open_mode *m);

/* The number of all opens. */
unsigned open_mode_total(const struct open_mode *m);

/* Takes the backing id out of the inode and returns it; 0 if there is none, or if an open uses it. */
int open_mode_take_id(struct open_mode *m);
