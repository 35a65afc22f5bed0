/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Functions that the files behind known.h share: the keys of remembered names and rights, and the rules on how long an
 * inode's attributes may be believed. known.c has attributes and epochs, known_names.c names, known_rights.c rights.
 *
 * The inode's lock guards struct known. The caller holds that lock, except where a comment says that the function takes
 * it or needs none.
 */
#pragma once

#include "fuse/fs/fs.h"
#include "fuse/known/cache.h"
#include "fuse/known/known.h"

/* The key of a remembered name or right: the directory's inode and epoch, and the name or the credential itself. */
struct known_key {
	uint64_t generation; /* of the directory's inode */
	uint64_t epoch;
	char bytes[NFS_NAME_MAX + 1];
};
_Static_assert(sizeof(struct known_key) <= CACHE_KEY_MAX, "a key is what a cache takes");
_Static_assert(sizeof(struct nfs_cred) <= NFS_NAME_MAX, "a credential fits where a name does");

/* Fills the key; returns the number of its bytes. Needs no lock. */
size_t known_make_key(struct known_key *k, const struct inode *dir, uint64_t epoch, const void *bytes, size_t size);

/* The shortest and the longest timeout that the options set for the attributes of this inode. Needs no lock. */
struct attr_limits known_limits(const struct mount_options *o, const struct inode *i);

/* True if an answer may be older than a change by this mount. asked: attr_clock() when the question was sent. */
bool known_is_outdated(const struct inode *i, uint64_t asked);

/* True if the inode's attributes may be believed now. */
bool known_is_believed(const struct fs *fs, const struct inode *i);

/* True if notices of the changes of the directory come, so that its names need no question. */
bool known_is_watched(const struct fs *fs, const struct inode *i);

/* The directory may have names that nobody has told. The caller holds the lock. */
void known_no_more_whole(struct inode *dir);

/* True if the remembered names and rights of the directory's epoch may be believed. */
bool known_names_are_believed(const struct fs *fs, const struct inode *dir);

/*
 * Others have changed the names of the directory, by a notice; or may have, before notices began. The caller holds the
 * lock.
 */
void known_company_comes(struct inode *dir, bool noticed);

/* known_doubt() for a caller who holds the lock. */
void known_doubt_locked(struct inode *i);

/* For how many seconds the kernel may believe the remembered attributes; 0 if it may not be told them again. */
double known_believable(const struct fs *fs, const struct inode *i);

/* Notes that the kernel is told attributes that it may believe for so many seconds. Returns seconds. */
double known_told(struct inode *i, double seconds);

/* Takes the lock. True if the credential is known to be allowed to search the directory of that epoch. */
bool known_may_search(struct fs *fs, struct inode *dir, uint64_t epoch, const struct nfs_cred *cred);

/* True if the mode lets everybody search the directory. */
bool known_all_may_search(const struct inode *dir);

/* True if the credential is known to have all these ACCESS bits in that epoch of the directory. Needs no lock. */
bool known_has_rights(struct fs *fs, const struct inode *dir, uint64_t epoch, const struct nfs_cred *cred,
	uint32_t bits);
