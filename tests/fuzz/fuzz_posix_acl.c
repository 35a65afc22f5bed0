/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* An ACL from a program and an ACL from a server: an accepted ACL is the same after conversion to NFS and back. */
#include "fuzz.h"
#include "fuse/kernel/posix_acl.h"

static void there_and_back(const struct posix_acl *acl)
{
	static struct nfs_ace entries[NFS_ACL_MAX + 4];
	static uint8_t value[POSIX_ACL_XATTR_SIZE(NFS_ACL_MAX)];
	static struct posix_acl again;
	uint32_t count = posix_acl_to_nfs(acl, 1, 2, 0, entries);

	CHECK(acl->count <= NFS_ACL_MAX && count <= ARRAY_SIZE(entries));
	if (count <= NFS_ACL_MAX) {
		CHECK(posix_acl_from_nfs(entries, count, &again) == 0);
		/* A mask that equals the group's rights adds nothing to a mode, so it may be gone afterwards. */
		CHECK(again.count == acl->count ||
			(acl->count == POSIX_ACL_MODE_ENTRIES + 1 && again.count == POSIX_ACL_MODE_ENTRIES));
		CHECK(posix_acl_mode(&again) == posix_acl_mode(acl));
	}
	posix_acl_to_xattr(acl, value);
	CHECK(posix_acl_from_xattr(value, POSIX_ACL_XATTR_SIZE(acl->count), &again) == 0);
	CHECK(again.count == acl->count);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct nfs_ace entries[64];
	static struct posix_acl acl;
	uint32_t count = (uint32_t)MIN(size / sizeof(entries[0]), ARRAY_SIZE(entries));

	if (posix_acl_from_xattr(data, size, &acl) == 0)
		there_and_back(&acl);
	memcpy(entries, data, count * sizeof(entries[0]));
	if (posix_acl_from_nfs(entries, count, &acl) == 0)
		there_and_back(&acl);
	return 0;
}
