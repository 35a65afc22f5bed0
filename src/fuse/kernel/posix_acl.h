/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * POSIX ACLs and their two external forms. The first form is the value of the extended attributes
 * system.posix_acl_access and system.posix_acl_default (acl(5); linux/posix_acl_xattr.h, version 2, little endian). The
 * second form is the entries of NFSACL (fs/nfs_common/nfsacl.c), which differ:
 *   - an ACL that says no more than a mode has four entries, with a mask equal to the group's permissions;
 *   - entries of the owner and of the owning group carry their ids; entries of the mask and of others carry 0;
 *   - entries of a default ACL have NFS_ACE_DEFAULT in their tags;
 *   - the entries may have any order.
 * struct posix_acl is the internal form: an array of struct nfs_ace in the order of POSIX, with id ~0 in entries that
 * need no id, without NFS_ACE_DEFAULT, and without a mask that only NFSACL added. Values and pure functions.
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

/* The number of entries of an ACL that says no more than a mode; any other ACL has more. */
#define POSIX_ACL_MODE_ENTRIES 3

#define POSIX_ACL_XATTR_SIZE(count) (4 + 8 * (size_t)(count))

struct posix_acl {
	uint32_t count; /* 0: none */
	struct nfs_ace entries[NFS_ACL_MAX];
};

/*
 * Reads an extended attribute's value; a value without entries means no ACL. -EOPNOTSUPP for another version,
 * -EINVAL for an invalid ACL (fs/posix_acl.c posix_acl_valid), -ENOSPC for too many entries.
 */
int posix_acl_from_xattr(const void *value, size_t size, struct posix_acl *ret);

/* Writes the value of an extended attribute: POSIX_ACL_XATTR_SIZE(acl->count) bytes. */
void posix_acl_to_xattr(const struct posix_acl *acl, uint8_t *ret);

/* Reads the entries of a server's answer, NFS_ACL_MAX at most. -EIO if they are no ACL. */
int posix_acl_from_nfs(const struct nfs_ace *entries, uint32_t count, struct posix_acl *ret);

/*
 * Writes the entries for a server, for a file with this owner and group; flag is NFS_ACE_DEFAULT or 0. ret must have
 * room for four entries, and for as many as the ACL has. Returns the number of entries.
 */
uint32_t posix_acl_to_nfs(const struct posix_acl *acl, uint32_t uid, uint32_t gid, uint32_t flag, struct nfs_ace *ret);

/* The mode that the entries of owner, group (or mask) and others give: a default ACL's limit. 0 without entries. */
uint32_t posix_acl_mode(const struct posix_acl *acl);

/* The ACL that says the same as a mode. */
void posix_acl_from_mode(uint32_t mode, struct posix_acl *ret);
