/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "fuse/kernel/posix_acl.h"

#include <endian.h>
#include <string.h>

#define XATTR_VERSION 2
#define NO_ID         UINT32_MAX
#define PERMISSIONS   7U

struct xattr_entry {
	uint16_t tag, perm;
	uint32_t id;
};

/*
 * True for a valid ACL: in the order of the tags, one entry of each, but any number of named users and groups, which
 * need a mask.
 */
static bool is_acl(const struct posix_acl *acl)
{
	bool named = false;
	uint32_t seen = 0;

	for (uint32_t n = 0; n < acl->count; n++) {
		const struct nfs_ace *e = &acl->entries[n];
		bool many = e->tag == POSIX_ACL_USER || e->tag == POSIX_ACL_GROUP;

		/* Tags are bits in the order of entries, so no higher bit may have been seen. */
		if (e->perm & ~PERMISSIONS || seen > (many ? e->tag * 2 - 1 : e->tag - 1) || (many && e->id == NO_ID))
			return false;
		named |= many;
		seen |= e->tag;
	}
	return (seen & ~(uint32_t)(POSIX_ACL_USER | POSIX_ACL_GROUP | POSIX_ACL_MASK)) ==
		       (POSIX_ACL_USER_OBJ | POSIX_ACL_GROUP_OBJ | POSIX_ACL_OTHER) &&
	       (!named || seen & POSIX_ACL_MASK);
}

static bool is_tag(uint32_t tag)
{
	return tag == POSIX_ACL_USER_OBJ || tag == POSIX_ACL_USER || tag == POSIX_ACL_GROUP_OBJ ||
	       tag == POSIX_ACL_GROUP || tag == POSIX_ACL_MASK || tag == POSIX_ACL_OTHER;
}

static bool has_id(uint32_t tag)
{
	return tag == POSIX_ACL_USER || tag == POSIX_ACL_GROUP;
}

int posix_acl_from_xattr(const void *value, size_t size, struct posix_acl *ret)
{
	const uint8_t *at = value;
	uint32_t version;
	size_t count;

	ret->count = 0;
	if (size == 0)
		return 0;
	if (size < sizeof(version))
		return -EINVAL;
	memcpy(&version, at, sizeof(version));
	if (le32toh(version) != XATTR_VERSION)
		return -EOPNOTSUPP;
	if ((size - sizeof(version)) % sizeof(struct xattr_entry) != 0)
		return -EINVAL;
	count = (size - sizeof(version)) / sizeof(struct xattr_entry);
	if (count > NFS_ACL_MAX)
		return -ENOSPC;
	at += sizeof(version);
	for (size_t n = 0; n < count; n++, at += sizeof(struct xattr_entry)) {
		struct xattr_entry e;
		uint32_t tag;

		memcpy(&e, at, sizeof(e));
		tag = le16toh(e.tag);
		if (!is_tag(tag))
			return -EINVAL;
		ret->entries[n] = (struct nfs_ace){.tag = tag,
			.perm = le16toh(e.perm),
			.id = has_id(tag) ? le32toh(e.id) : NO_ID};
	}
	ret->count = (uint32_t)count;
	return count == 0 || is_acl(ret) ? 0 : -EINVAL;
}

void posix_acl_to_xattr(const struct posix_acl *acl, uint8_t *ret)
{
	uint32_t version = htole32(XATTR_VERSION);

	memcpy(ret, &version, sizeof(version));
	ret += sizeof(version);
	for (uint32_t n = 0; n < acl->count; n++, ret += sizeof(struct xattr_entry)) {
		const struct nfs_ace *from = &acl->entries[n];
		struct xattr_entry e = {.tag = htole16((uint16_t)from->tag),
			.perm = htole16((uint16_t)from->perm),
			.id = htole32(from->id)};

		memcpy(ret, &e, sizeof(e));
	}
}

static int compare(const void *a, const void *b)
{
	const struct nfs_ace *x = a, *y = b;

	if (x->tag != y->tag)
		return x->tag < y->tag ? -1 : 1;
	return x->id < y->id ? -1 : x->id > y->id;
}

/* Drops the mask of an ACL with four entries if it equals the group's permissions: then only NFSACL added the mask. */
static void drop_mask(struct posix_acl *acl)
{
	struct nfs_ace *e = acl->entries;

	if (acl->count != POSIX_ACL_MODE_ENTRIES + 1 || e[1].tag != POSIX_ACL_GROUP_OBJ || e[2].tag != POSIX_ACL_MASK ||
		e[1].perm != e[2].perm)
		return;
	e[2] = e[3];
	acl->count--;
}

int posix_acl_from_nfs(const struct nfs_ace *entries, uint32_t count, struct posix_acl *ret)
{
	ret->count = 0;
	if (count > NFS_ACL_MAX)
		return -EIO;
	for (uint32_t n = 0; n < count; n++) {
		struct nfs_ace e = entries[n];

		e.tag &= ~NFS_ACE_DEFAULT;
		if (!is_tag(e.tag))
			return -EIO;
		if (!has_id(e.tag))
			e.id = NO_ID;
		if (e.tag == POSIX_ACL_MASK)
			e.perm &= PERMISSIONS; /* Solaris sets more bits in the mask */
		ret->entries[n] = e;
	}
	ret->count = count;
	if (count == 0)
		return 0;
	qsort(ret->entries, count, sizeof(*entries), compare);
	drop_mask(ret);
	return is_acl(ret) ? 0 : -EIO;
}

static struct nfs_ace to_nfs(const struct nfs_ace *e, uint32_t uid, uint32_t gid, uint32_t flag)
{
	uint32_t id = e->tag == POSIX_ACL_USER_OBJ    ? uid
		      : e->tag == POSIX_ACL_GROUP_OBJ ? gid
		      : has_id(e->tag)                ? e->id
						      : 0;

	return (struct nfs_ace){.tag = e->tag | flag, .id = id, .perm = e->perm};
}

uint32_t posix_acl_to_nfs(const struct posix_acl *acl, uint32_t uid, uint32_t gid, uint32_t flag, struct nfs_ace *ret)
{
	uint32_t to = 0;

	for (uint32_t n = 0; n < acl->count; n++) {
		struct nfs_ace mask = acl->entries[n];

		ret[to++] = to_nfs(&acl->entries[n], uid, gid, flag);
		if (acl->count != POSIX_ACL_MODE_ENTRIES || mask.tag != POSIX_ACL_GROUP_OBJ)
			continue;
		mask.tag = POSIX_ACL_MASK;
		ret[to++] = to_nfs(&mask, uid, gid, flag);
	}
	return to;
}

uint32_t posix_acl_mode(const struct posix_acl *acl)
{
	uint32_t user = 0, group = 0, other = 0;

	for (uint32_t n = 0; n < acl->count; n++) {
		const struct nfs_ace *e = &acl->entries[n];

		if (e->tag == POSIX_ACL_USER_OBJ)
			user = e->perm;
		else if (e->tag == POSIX_ACL_GROUP_OBJ || e->tag == POSIX_ACL_MASK)
			group = e->perm; /* the mask comes later, and replaces the group's permissions */
		else if (e->tag == POSIX_ACL_OTHER)
			other = e->perm;
	}
	return user << 6 | group << 3 | other;
}

void posix_acl_from_mode(uint32_t mode, struct posix_acl *ret)
{
	static const uint32_t tags[] = {POSIX_ACL_USER_OBJ, POSIX_ACL_GROUP_OBJ, POSIX_ACL_OTHER};

	ret->count = POSIX_ACL_MODE_ENTRIES;
	for (uint32_t n = 0; n < POSIX_ACL_MODE_ENTRIES; n++)
		ret->entries[n] =
			(struct nfs_ace){.tag = tags[n], .id = NO_ID, .perm = mode >> (6 - 3 * n) & PERMISSIONS};
}
