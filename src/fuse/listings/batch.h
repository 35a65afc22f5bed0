/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A batch: entries of a directory as the NFS server has answered them, in one reply or in several that follow each
 * other; or all entries, as the sidecar has. The offset of an entry is the cookie of the entry before it.
 *
 * A batch belongs to the request that gathers it, and then to an open directory, under its lock. No lock of its own.
 *
 * The mount keeps the batch of the directory that was closed last, if the sidecar has listed it whole: rm -r first
 * opens each directory to see whether it is empty, and opens it again to remove what is there. The next open of that
 * directory by the same caller takes the batch, if the OPENDIR has proved that the directory is still in the state of
 * the batch. That saves 7 us per file of 86 (one CPU).
 */
#pragma once

#include "fuse/node/inode.h"
#include "io/server.h"
#include "table/keyed_hash.h"

struct listed;

struct batch {
	struct listed **entries;
	size_t count;
	uint64_t first; /* the offset at which the batch starts */
	struct nfs_verf verf;
	/* Of the first reply: attr_clock() when it was asked for, now_ms() and known_epoch() when it came. */
	uint64_t asked, came_ms, epoch;
	uint64_t state; /* known_state() from before the question; 0: the reply does not prove it */
	bool eof;       /* the batch is the last of the directory */
	bool plus;      /* the entries have handles and attributes */
	bool by_sidecar;
};

struct fs;

/* Any thread. The batch of a directory that is closed; an earlier one is dropped. Empties *b. */
void batch_keep(struct fs *fs, const struct inode *dir, const struct nfs_cred *cred, struct batch *b);

/*
 * True with *ret, which was empty, if the kept batch is of this directory and caller, and of the state that the
 * directory has. Otherwise the kept batch is dropped.
 */
bool batch_take_kept(struct fs *fs, struct inode *dir, const struct nfs_cred *cred, struct batch *ret);

/*
 * True if a batch that was taken is still that of the directory's state, as far as notices tell: the first READDIR may
 * come late, after a rewinddir(3), if the kernel had a listing of its own.
 */
bool batch_holds(struct fs *fs, struct inode *dir, const struct batch *b);

/* At the end of the mount. */
void batch_drop_kept(struct fs *fs);

/* Frees the entries. */
void batch_drop(struct batch *b);

/* Copies the entries of a reply to READDIR or READDIRPLUS behind those of the batch. -ENOMEM. */
int batch_add(struct batch *b, const struct nfs_call *reply);

const struct nfs_entry *batch_entry(const struct batch *b, size_t n);

/* The index of the entry at the offset, or count if the batch does not have the entry. */
size_t batch_position(const struct batch *b, uint64_t offset);

/* The offset behind the last entry. */
uint64_t batch_end(const struct batch *b);

/* True if the directory ends at the offset. */
bool batch_ends_at(const struct batch *b, uint64_t offset);

/* What one entry adds to the digest of a directory (BROKER_DIGEST): 0 for "." and "..". */
uint64_t batch_digest_of(const struct hash_key *key, const struct nfs_entry *e);

/* The digest of a directory with these entries. */
uint64_t batch_digest(const struct batch *b, const struct hash_key *key);
