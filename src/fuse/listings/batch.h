/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A batch: entries of a directory as the NFS server has answered them, in one reply or in several that follow each
 * other; or all entries, as the sidecar has. The offset of an entry is the cookie of the entry before it.
 *
 * A batch belongs to the request that gathers it, and then to an open directory, under its lock. No lock of its own.
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
