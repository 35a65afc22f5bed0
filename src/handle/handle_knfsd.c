/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "handle/handle_knfsd.h"

#include <string.h>

#include "base/util.h"

#define VERSION 1
#define HEADER  4

/* key_len() of fs/nfsd/nfsfh.h */
static const uint8_t fsid_lengths[] = {
	[KNFSD_FSID_DEV] = 8,
	[KNFSD_FSID_NUM] = 4,
	[KNFSD_FSID_MAJOR_MINOR] = 12,
	[KNFSD_FSID_ENCODE_DEV] = 8,
	[KNFSD_FSID_UUID4_INUM] = 8,
	[KNFSD_FSID_UUID8] = 8,
	[KNFSD_FSID_UUID16] = 16,
	[KNFSD_FSID_UUID16_INUM] = 24,
};

/* True for types of kernel handles that include the parent directory: enum fid_type of include/linux/exportfs.h. */
static bool names_parent(uint8_t type)
{
	switch (type) {
	case 0x02: /* FILEID_INO32_GEN_PARENT */
	case 0x82: /* the same with 64 bit inode numbers: xfs */
	case 0x4e: /* FILEID_BTRFS_WITH_PARENT */
	case 0x4f: /* FILEID_BTRFS_WITH_PARENT_ROOT */
	case 0x52: /* FILEID_UDF_WITH_PARENT */
	case 0x62: /* FILEID_NILFS_WITH_PARENT */
	case 0x72: /* FILEID_FAT_WITH_PARENT */
		return true;
	default: /* export_mount_resolve() finds out others, when it compares with the file's own handle */
		return false;
	}
}

enum reason handle_knfsd_decode(const struct broker_fh *fh, struct nfs_handle *ret)
{
	struct nfs_handle h = {0};
	const uint8_t *p = fh->data;
	uint32_t left;

	if (fh->length < HEADER || fh->length > BROKER_MAX_FH || fh->length % 4 != 0)
		return REASON_BAD_HANDLE;
	if (p[0] != VERSION || p[1] != 0 || p[2] >= ARRAY_SIZE(fsid_lengths))
		return REASON_BAD_HANDLE;
	h.fsid_type = p[2];
	h.fsid_length = fsid_lengths[h.fsid_type];
	if (fh->length < HEADER + h.fsid_length)
		return REASON_BAD_HANDLE;
	memcpy(h.fsid, p + HEADER, h.fsid_length);

	left = fh->length - HEADER - h.fsid_length;
	h.kernel_type = p[3];
	h.is_root = h.kernel_type == 0;
	if (h.is_root ? left != 0 : left < 4 || left > sizeof(h.kernel))
		return REASON_BAD_HANDLE;
	/* nfsd_set_fh_dentry() converts this fsid to ENCODE_DEV, and then looks for the file id at a wrong offset. */
	if (h.fsid_type == KNFSD_FSID_MAJOR_MINOR && !h.is_root)
		return REASON_BAD_HANDLE;
	if (names_parent(p[3]))
		return REASON_SUBTREE_CHECK;
	memcpy(h.kernel, p + HEADER + h.fsid_length, left);
	h.kernel_length = left;
	*ret = h;
	return REASON_NONE;
}

int handle_knfsd_encode(const struct nfs_handle *h, struct broker_fh *ret)
{
	size_t n = HEADER + h->fsid_length;

	/*
	 * fh_compose() fails for other types, and the kernel's handles have whole words. The root's handle may have an
	 * fsid that only roots have.
	 */
	if (h->is_root || h->kernel_type <= 0 || h->kernel_type > UINT8_MAX || h->kernel_length % 4 != 0 ||
		h->fsid_type == KNFSD_FSID_MAJOR_MINOR)
		return -EOVERFLOW;
	*ret = (struct broker_fh){.length = (uint32_t)n + h->kernel_length,
		.data = {VERSION, 0, h->fsid_type, (uint8_t)h->kernel_type}};
	memcpy(ret->data + HEADER, h->fsid, h->fsid_length);
	memcpy(ret->data + n, h->kernel, h->kernel_length);
	return 0;
}
