/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A backing file that the sidecar sent a descriptor of: what an inode has of it, and every read and write that is on
 * its way. With the last reference it is closed and given back.
 *
 * One for writing is kept only while somebody has the file open for that, as nobody can execute it meanwhile: it is a
 * granted_file of its own, without a number, which that for reading has.
 *
 * Constant, but for what is atomic, the rings' part of file, and writer: the inode's lock.
 *
 * A descriptor for writing lives only while the file is open for writing, so the daemon opens the file once more for
 * reading. Data that was written through it is made stable by fsync of it, or by COMMIT when the session is gone.
 *
 * An open belongs to the session that granted it. After a REVOKE its writes go to the server, FILE_SYNC while another
 * open file still writes locally. When a file gets set-id bits while it is open, its writes go to the server from then
 * on.
 *
 * odirect=any and odirect=buffered make an open take this path as if the kernel had refused passthrough; beside
 * passthrough opens of the same file such an open is passthrough with direct_io. With odirect=any the descriptor gets
 * O_DIRECT while the file is not open otherwise, and each read takes whole blocks: the blocks at both ends are read
 * whole and cut. LOCALIO reads both ends through the page cache, since its pages are the program's; here the data is
 * copied in any case. Writes go through the page cache.
 */
#pragma once

#include <stdatomic.h>

#include "fuse/fs/fs.h"
#include "io/uring.h"

struct granted_file {
	atomic_uint refs;
	struct fs *fs;
	struct uring_file file;      /* for reading; a writer's for both */
	struct granted_file *writer; /* a reference, or NULL */
	int32_t number;              /* the sidecar's, negative; a writer's 0 */
	bool instead;                /* the kernel would not have an id */
	bool root;                   /* it was granted to the server's root */
	unsigned writers;            /* open files that write here; the inode's lock */
	uint64_t generation;         /* of the session that it is of; it serves no read of another */
	atomic_bool no_cache;        /* struct uring_io */
	atomic_uint
		align; /* bytes: of offset, length and buffer of every read, as the descriptor has O_DIRECT; 1: not */
};

/* Takes fd over, also on failure; O_RDWR when it is for writing. One reference, or NULL when it cannot be made. */
struct granted_file *granted_file_new(struct fs *fs, int fd, bool writable, int32_t number, uint64_t generation);

/* Whether there is one and it is of that session, which is not 0. */
static inline bool granted_file_serves(const struct granted_file *g, uint64_t generation)
{
	return g && generation != 0 && g->generation == generation;
}

/* And by which can be written. With the inode's lock. */
static inline bool granted_file_writes(const struct granted_file *g, uint64_t generation)
{
	return granted_file_serves(g, generation) && g->writer;
}

/*
 * Whether reads pass the page cache by, where the filesystem can. With the inode's lock, and while the file is
 * not open, so that no read is on its way.
 */
void granted_file_set_direct(struct granted_file *g, bool direct);

struct granted_file *granted_file_ref(struct granted_file *g);

/*
 * What the server would say to GETATTR, but for the fsid. -EOPNOTSUPP in a user namespace of one's own, where
 * the kernel says other uids and gids than the server.
 */
int granted_file_attributes(const struct granted_file *g, struct nfs_attr *ret);

/* The inode's, with a reference, when it serves the mount's session; NULL when the server must be asked. */
struct granted_file *granted_file_of(const struct fs *fs, struct inode *i);

/*
 * What to write by, with a reference. NULL when the mount is not in that session any more, there is none, or the file
 * has set-id bits: which of them a write clears depends on who writes, and on his groups, so that is the server's to
 * do.
 */
struct granted_file *granted_file_to_write(const struct fs *fs, struct inode *i, uint64_t generation);

/* With the inode's lock, when nobody has it open for writing any more: what is to be given up, or NULL. Takes NULL. */
struct granted_file *granted_file_take_writer(struct granted_file *g);

/*
 * The daemon, or the sidecar for it, has changed the backing file: FLUSH and FSYNC have something to make stable. Takes
 * the inode's lock.
 */
void granted_file_changed(struct inode *i);

/*
 * What this descriptor has not told yet of data that could not be written to the disk goes to the inode's write log:
 * before another descriptor, or the server's, is asked in its place. Does not wait. With the inode's lock. Takes NULL.
 */
void granted_file_take_error(const struct granted_file *g, struct inode *i);

/* Without any lock. Takes NULL; returns NULL. */
struct granted_file *granted_file_unref(struct granted_file *g);
