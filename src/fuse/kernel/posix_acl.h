/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * POSIX ACLs in the two forms that they come in: the value of the extended attributes
 * system.posix_acl_access and system.posix_acl_default (acl(5); linux/posix_acl_xattr.h, version 2,
 * little endian), and the entries of NFSACL (fs/nfs_common/nfsacl.c), which differ:
 *   - what a mode says has four entries there, with a mask that is like the group's;
 *   - entries of the owner and the owning group carry their ids; of the mask and others 0;
 *   - entries of a default ACL have NFS_ACE_DEFAULT in their tags;
 *   - no order is promised.
 * In between an ACL is an array of struct nfs_ace, in the order of POSIX, ids that mean nothing ~0,
 * without NFS_ACE_DEFAULT, without the mask that nobody set. Values and pure functions.
 */
#pragma once

#include "io/server.h"

enum posix_acl_tag {
	POSIX_ACL_USER_OBJ = 0x01,
	POSIX_ACL_USER = 0x02,
	POSIX_ACL_GROUP_OBJ = 0x04,
	POSIX_ACL_GROUP = 0x08,
	POSIX_ACL_MASK = 0x10,
	POSIX_ACL_OTHER = 0x20,
};

/* An ACL that says no more than a mode has as many entries, and no other has so few. */
#define POSIX_ACL_MODE_ENTRIES 3

#define POSIX_ACL_XATTR_SIZE(count) (4 + 8 * (size_t)(count))

struct posix_acl {
	uint32_t count; /* 0: none */
	struct nfs_ace entries[NFS_ACL_MAX];
};

/*
 * From an extended attribute's value; a value without entries is none. -EOPNOTSUPP for another
 * version, -EINVAL for what is no ACL (fs/posix_acl.c posix_acl_valid), -ENOSPC for too many entries.
 */
int posix_acl_from_xattr(const void *value, size_t size, struct posix_acl *ret);

/* Into a value of POSIX_ACL_XATTR_SIZE(acl->count) bytes. */
void posix_acl_to_xattr(const struct posix_acl *acl, uint8_t *ret);

/* From what a server answered, at most NFS_ACL_MAX; -EIO when that is no ACL. */
int posix_acl_from_nfs(const struct nfs_ace *entries, uint32_t count, struct posix_acl *ret);

/*
 * Into entries for a server, of a file with this owner and group; flag is NFS_ACE_DEFAULT or 0. There
 * must be room for four, and for as many as the ACL has. Returns how many there are.
 */
uint32_t posix_acl_to_nfs(const struct posix_acl *acl, uint32_t uid, uint32_t gid, uint32_t flag, struct nfs_ace *ret);

/* The mode that the entries of everybody make: what a default ACL allows. 0 without entries. */
uint32_t posix_acl_mode(const struct posix_acl *acl);

/* What a mode says. */
void posix_acl_from_mode(uint32_t mode, struct posix_acl *ret);
