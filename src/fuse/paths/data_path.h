/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The three ways that data of a file may go:
 *
 *	by_server	NFS requests to the server
 *	by_ring		the daemon itself, by io_uring on the descriptor that the sidecar has sent (granted_file.h)
 *	by_broker	the sidecar, on the backing file that the session knows by a number
 *
 * data_path_choose() is the only function that chooses one of them. A local path that cannot do an operation hands the
 * request to by_server, which has the last word: its error is the caller's.
 *
 * The tables are constant. Their functions take a request over (path_request.h), do not wait, and call its done() on
 * any thread, maybe before they return.
 */
#pragma once

#include "fuse/fs/file.h"
#include "fuse/operations/operations.h"

struct granted_file;
struct path_range;
struct path_read;
struct path_sync;
struct path_truncate;
struct path_write;

/* NULL: the path cannot do the operation, and is not chosen for it. */
struct data_path {
	enum operation_path counted; /* as which an operation is counted */
	void (*read)(struct path_read *p);
	void (*write)(struct path_write *p);
	void (*sync)(struct path_sync *p);
	void (*range)(struct path_range *p);
	void (*truncate)(struct path_truncate *p);
};

extern const struct data_path by_server, by_ring, by_broker;

enum data_operation {
	DATA_READ,
	DATA_WRITE,
	DATA_SYNC,
	DATA_LOOK,   /* SEEK, and the source of COPY: a range of the file is looked at */
	DATA_CHANGE, /* FALLOCATE, and the destination of COPY */
	DATA_TRUNCATE,
};

struct data_way {
	const struct data_path *path;
	struct granted_file *granted; /* by_ring: a reference, which the path gives back */
	int number;                   /* by_broker: the backing id, or the negative number of a descriptor */
};

/* f: the open file; NULL for the operations that are of the inode alone (DATA_READ, DATA_SYNC, DATA_TRUNCATE). */
struct data_way data_path_choose(struct fs *fs, struct inode *i, const struct file *f, enum data_operation operation);
