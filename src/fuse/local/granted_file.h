/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A backing file that the sidecar has sent a descriptor of. The inode has a reference, and so has every read and write
 * that is on its way. With the last reference the descriptor is closed and given back to the sidecar.
 *
 * A descriptor for writing is kept only while the file is open for writing, as no process can execute the file
 * meanwhile. It is a granted_file of its own, the writer of the one for reading, which has the number.
 *
 * Constant, except the atomic members, the rings' part of file, and writer and writers, which the inode's lock guards.
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
	struct uring_file file;      /* for reading; that of a writer for both */
	struct granted_file *writer; /* a reference, or NULL */
	int32_t number;              /* the sidecar's, negative; 0 of a writer */
	bool instead;                /* the kernel would not have an id */
	bool root;                   /* it was granted to the server's root */
	unsigned writers;            /* open files that write by it */
	uint64_t generation;         /* the session that sent it; it serves no read of another session */
	atomic_bool no_cache;        /* struct uring_io */
	atomic_uint
		align; /* bytes: of offset, length and buffer of every read, as the descriptor has O_DIRECT; 1: not */
};

/* Takes fd over, also on failure; O_RDWR when it is for writing. One reference, or NULL when it cannot be made. */
struct granted_file *granted_file_new(struct fs *fs, int fd, bool writable, int32_t number, uint64_t generation);

/* True if g is a granted file of that session, and the session is not 0. */
static inline bool granted_file_serves(const struct granted_file *g, uint64_t generation)
{
	return g && generation != 0 && g->generation == generation;
}

/* True if it can also be written by. The caller holds the inode's lock. */
static inline bool granted_file_writes(const struct granted_file *g, uint64_t generation)
{
	return granted_file_serves(g, generation) && g->writer;
}

/*
 * Sets whether reads bypass the page cache, where the filesystem can. The caller holds the inode's lock, and the file
 * is not open, so no read is on its way.
 */
void granted_file_set_direct(struct granted_file *g, bool direct);

struct granted_file *granted_file_ref(struct granted_file *g);

/*
 * The attributes that the server would send to GETATTR, except the fsid. -EOPNOTSUPP in a user namespace of its own,
 * where the kernel's uids and gids are not the server's.
 */
int granted_file_attributes(const struct granted_file *g, struct nfs_attr *ret);

/* The inode's granted file, with a reference, if it is of the mount's session; NULL: the server must be asked. */
struct granted_file *granted_file_of(const struct fs *fs, struct inode *i);

/*
 * The granted file to write by, with a reference. NULL if the mount is not in that session any more, or there is none,
 * or the file has set-id bits: the bits that a write clears depend on the writer and the writer's groups, so the server
 * must write.
 */
struct granted_file *granted_file_to_write(const struct fs *fs, struct inode *i, uint64_t generation);

/*
 * The file is not open for writing any more: returns the writer for the caller to give up, or NULL. The caller holds
 * the inode's lock. Takes NULL.
 */
struct granted_file *granted_file_take_writer(struct granted_file *g);

/*
 * The daemon, or the sidecar for it, has changed the backing file: FLUSH and FSYNC must make the change stable. Takes
 * the inode's lock.
 */
void granted_file_changed(struct inode *i);

/*
 * Moves an error of writing to the disk, which this descriptor has not told yet, to the inode's write log: before
 * another descriptor, or the server, is asked in its place. Does not wait. The caller holds the inode's lock. Takes
 * NULL.
 */
void granted_file_take_error(const struct granted_file *g, struct inode *i);

/* The caller holds no lock. Takes NULL; returns NULL. */
struct granted_file *granted_file_unref(struct granted_file *g);
