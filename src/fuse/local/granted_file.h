/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A backing file whose descriptor the sidecar has sent. The inode has a reference, and each read and write in progress
 * has one. The last reference closes the descriptor and tells the sidecar so.
 *
 * While the file is open for writing, the inode also has a descriptor for writing, as a granted_file of its own: the
 * writer of the granted_file for reading, which has the number. Only while: no process can execute a file that is open
 * for writing. So the daemon has the file open twice. Data that was written by the writer is made stable by fsync of
 * the writer, or by COMMIT after the session's end.
 *
 * A looker is a granted_file of its own, too. Its descriptor has O_PATH and tells the attributes of a file with a
 * backing id, and the setter may set them by the descriptor (fuse/setter/); it has no number. The inode keeps it until
 * it gives its id up. A directory may have a looker, too, as long as it is used (idle_ids.h); by that one the setter
 * may change the directory's names.
 *
 * All members are constant, except the atomic members, the part of `file` that belongs to the rings, and writer and
 * writers, which the inode's lock guards.
 *
 * An open belongs to the session that granted it. After a REVOKE its writes go to the server: FILE_SYNC while another
 * open file still writes locally. When an open file gets set-id bits, its further writes go to the server.
 *
 * With odirect=any and odirect=buffered an O_DIRECT open takes this path as if the kernel had refused passthrough;
 * beside passthrough opens of the same file such an open is passthrough with direct_io. With odirect=any the descriptor
 * gets O_DIRECT if the file is not open otherwise. Then each read covers whole blocks, and the data before and after
 * the requested range is dropped. LOCALIO reads these first and last blocks through the page cache because its buffers
 * are the program's own pages; the daemon copies the data in any case. Writes use the page cache.
 */
#pragma once

#include <stdatomic.h>

#include "fuse/fs/fs.h"
#include "io/uring.h"

/* What the daemon may change by a looker, for which callers, and as whom. Plain value. */
struct setting {
	uint32_t kinds; /* enum broker_set; 0: nothing */
	bool asked;     /* the sidecar was asked for a directory's names, whatever it has answered */
	uint32_t uid, gid;
	uint32_t as_uid, as_gid;
};

struct granted_file {
	atomic_uint refs;
	struct fs *fs;
	struct uring_file file;      /* open for reading; a writer's for reading and writing */
	struct granted_file *writer; /* a reference, or NULL */
	int32_t number;              /* the sidecar's number of the descriptor, negative; 0 for a writer */
	bool instead;                /* the kernel has refused a backing id, so the sidecar sent the descriptor */
	bool root;                   /* granted to a user whom the server sees as root */
	unsigned writers;            /* open files that write by the writer */
	struct setting setting;      /* of a looker */
	bool made;                   /* a looker that has come with CREATE, and keeps the new file in memory since */
	uint64_t generation;         /* the session that sent the descriptor; no other session may use it */
	atomic_bool no_cache;        /* as in struct uring_io */
	atomic_uint align;           /* bytes: offset, length and buffer of a read are multiples; 1 without O_DIRECT */
};

/* Takes fd over, also on failure. writable: fd is O_RDWR. Returns one reference, or NULL without memory. */
struct granted_file *granted_file_new(struct fs *fs, int fd, bool writable, int32_t number, uint64_t generation);

/* True if g is a granted file of that session, and the session is not 0. */
static inline bool granted_file_serves(const struct granted_file *g, uint64_t generation)
{
	return g && generation != 0 && g->generation == generation;
}

/* True if g also has a writer. The caller holds the inode's lock. */
static inline bool granted_file_writes(const struct granted_file *g, uint64_t generation)
{
	return granted_file_serves(g, generation) && g->writer;
}

/*
 * Makes reads bypass the page cache, or use it. No effect if the filesystem has no O_DIRECT. The caller holds the
 * inode's lock, and the file is not open, so no read is in progress.
 */
void granted_file_set_direct(struct granted_file *g, bool direct);

struct granted_file *granted_file_ref(struct granted_file *g);

/*
 * The attributes that the server would send to GETATTR. -EOPNOTSUPP if the daemon's user namespace
 * does not map the owner, so that the server's ids are unknown.
 */
int granted_file_attributes(const struct granted_file *g, struct nfs_attr *ret);

/* The same of a descriptor in the backing filesystem. */
int granted_file_attributes_of(const struct fs *fs, int fd, struct nfs_attr *ret);

/* Returns a reference to the inode's granted file, or NULL if it is not of the mount's present session. */
struct granted_file *granted_file_of(const struct fs *fs, struct inode *i);

/* The same, or else a reference to the inode's looker of the present session. */
struct granted_file *granted_file_to_look(const struct fs *fs, struct inode *i);

/* True with the attributes of the inode's file, as that descriptor shows them now. */
bool granted_file_look(const struct fs *fs, struct inode *i, struct nfs_attr *ret);

/*
 * True if that descriptor shows that the file has no access ACL now, as the server would answer; *ret_mode is its mode,
 * which may be from right before. Only of a file that this mount has made, as long as the looker from CREATE stays: the
 * kernel has the ACL of a new file in memory (fs/ext4/acl.c ext4_init_acl). For that of another file, getxattr(2) may
 * wait for the disk, which no handler may.
 */
bool granted_file_has_no_acl(const struct fs *fs, struct inode *i, uint32_t *ret_mode);

/*
 * A reference to the inode's looker, by which the setter may make these kinds of changes (enum broker_set) for a caller
 * with these ids; or NULL.
 */
struct granted_file *granted_file_to_set(const struct fs *fs, struct inode *i, uint32_t kinds, uint32_t uid,
	uint32_t gid);

/*
 * True if the directory's looker tells that the daemon may change names for some caller, or that it may not for a
 * caller with these ids.
 */
bool granted_file_tells_names(const struct fs *fs, struct inode *dir, uint32_t uid, uint32_t gid);

/*
 * Gives the inode this looker, if it has a backing id of the looker's session. Returns the reference that is left over:
 * to the previous looker, or to this one; NULL if none. The caller holds the inode's lock. looker may be NULL.
 */
struct granted_file *granted_file_put_looker(struct inode *i, struct granted_file *looker);

/* True if inodes may have lookers. With nocto no open looks at its file. */
bool granted_file_may_look(const struct fs *fs);

/*
 * True if an inode that has a backing id, or will get one, or a directory lacks a looker that it may have. Takes the
 * inode's lock.
 */
bool granted_file_wants_looker(const struct fs *fs, struct inode *i);

/*
 * The inode's backing id is given up: removes the looker and returns its reference, or NULL. The caller holds the
 * inode's lock.
 */
struct granted_file *granted_file_take_looker(struct inode *i);

/*
 * Returns a reference to the writer of that session. NULL if the inode has no such writer, if the session has ended, or
 * if the file has set-id bits: which bits a write clears depends on the user and the user's groups, so the server must
 * write.
 */
struct granted_file *granted_file_to_write(const struct fs *fs, struct inode *i, uint64_t generation);

/*
 * The file is no longer open for writing: removes the writer and returns its reference, or NULL. The caller holds the
 * inode's lock. g may be NULL.
 */
struct granted_file *granted_file_take_writer(struct granted_file *g);

/*
 * The daemon, or the sidecar on its behalf, has changed the backing file: FLUSH and FSYNC must make the change stable.
 * Takes the inode's lock.
 */
void granted_file_changed(struct inode *i);

/*
 * Moves a write error of the disk that the descriptor has not reported yet to the inode's write log. Called before
 * another descriptor, or the server, replaces this descriptor. Does not wait. The caller holds the inode's lock. g may
 * be NULL.
 */
void granted_file_take_error(const struct granted_file *g, struct inode *i);

/* The caller holds no lock. g may be NULL. Returns NULL. */
struct granted_file *granted_file_unref(struct granted_file *g);
