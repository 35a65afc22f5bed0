/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The parts of known.h, for each other: keys of what is remembered by name or credential, and what an inode's
 * attributes allow. known.c has attributes and epochs, known_names.c names, known_rights.c rights.
 *
 * The caller holds the inode's lock, except where a comment says that a function takes it.
 */
#pragma once

#include "fuse/fs/fs.h"
#include "fuse/known/cache.h"
#include "fuse/known/known.h"

/* What a name or a right depends on, and the name or the credential itself. */
struct known_key {
	uint64_t generation; /* of the directory's inode */
	uint64_t epoch;
	char bytes[NFS_NAME_MAX + 1];
};
_Static_assert(sizeof(struct known_key) <= CACHE_KEY_MAX, "a key is what a cache takes");
_Static_assert(sizeof(struct nfs_cred) <= NFS_NAME_MAX, "a credential fits where a name does");

/* Fills the key; returns how many bytes of it count. */
size_t known_make_key(struct known_key *k, const struct inode *dir, uint64_t epoch, const void *bytes, size_t size);

/* For how many seconds the options let attributes of this inode be believed. */
struct attr_limits known_limits(const struct mount_options *o, const struct inode *i);

/* True if an answer to a question of that time (attr_clock()) may be older than a change by this mount. */
bool known_is_outdated(const struct inode *i, uint64_t asked);

/* True if the inode's attributes may be believed now. */
bool known_is_believed(const struct fs *fs, const struct inode *i);

/* For how many seconds the attributes may be told again; 0 when they may not. */
double known_believable(const struct fs *fs, const struct inode *i);

/* The kernel is told attributes that it will believe for so long, and that is noted. Returns seconds. */
double known_told(struct inode *i, double seconds);

/* Takes the lock: true if the attributes of the directory may be believed; *ret: its epoch in any case. */
bool known_current_epoch(const struct fs *fs, struct inode *dir, uint64_t *ret);

/* True if the credential is known to have all these ACCESS bits in that epoch of the directory. No lock is needed. */
bool known_has_rights(struct fs *fs, const struct inode *dir, uint64_t epoch, const struct nfs_cred *cred,
	uint32_t bits);
