/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sidecar/handle_ganesha.h"

#include <errno.h>
#include <string.h>

#define VERSION          0x43
#define FLAG_BIG_ENDIAN  0x40
#define HEADER           5 /* version, flags, export id, length */
#define FSID_MASK        0x1f
#define DUMMY            0x20
#define KERNEL_TYPE_MASK 0xc0
#define KERNEL_TYPE_8    0x40
#define KERNEL_TYPE_16   0x80

#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
#define OUR_FLAGS FLAG_BIG_ENDIAN
#else
#define OUR_FLAGS 0
#endif

/*
 * ext4, xfs and others ignore what follows the bytes they know, so that one file would have many
 * handles. The lengths are those of include/linux/exportfs.h's types; parents (connectable handles)
 * are never asked for by Ganesha. 0: a type not known here, whose length its filesystem checks.
 */
static uint32_t kernel_handle_length(int type)
{
	switch (type) {
	case 0x01: /* FILEID_INO32_GEN: ext2, ext3, ext4; tmpfs has 12 and cannot be exported */
		return 8;
	case 0x81: /* xfs: FILEID_INO32_GEN | XFS_FILEID_TYPE_64FLAG */
		return 12;
	case 0x4d: /* FILEID_BTRFS_WITHOUT_PARENT */
		return 20;
	default:
		return 0;
	}
}

static int decode_kernel(const uint8_t *p, size_t left, unsigned width, struct ganesha_handle *h)
{
	uint32_t expected;
	int16_t type16;
	int32_t type32;
	size_t used;

	switch (width) {
	case KERNEL_TYPE_8:
		used = 1;
		if (left < used)
			return -EBADMSG;
		h->kernel_type = p[0];
		break;
	case KERNEL_TYPE_16:
		used = sizeof(type16);
		if (left < used)
			return -EBADMSG;
		memcpy(&type16, p, used);
		h->kernel_type = type16;
		break;
	case KERNEL_TYPE_MASK: /* 32 bits */
		used = sizeof(type32);
		if (left < used)
			return -EBADMSG;
		memcpy(&type32, p, used);
		h->kernel_type = type32;
		break;
	default:
		return -EBADMSG;
	}
	left -= used;
	if (left < 4 || left > sizeof(h->kernel))
		return -EBADMSG;
	expected = kernel_handle_length(h->kernel_type);
	if (expected != 0 && left != expected)
		return -EBADMSG;
	memcpy(h->kernel, p + used, left);
	h->kernel_length = (uint32_t)left;
	return 0;
}

int handle_ganesha_decode(const struct broker_fh *fh, struct ganesha_handle *ret)
{
	struct ganesha_handle h = {0};
	size_t opaque, fsid_length;
	const uint8_t *p = fh->data;
	int r;

	if (fh->length < HEADER + 1 || fh->length > BROKER_MAX_FH)
		return -EBADMSG;
	if (p[0] != VERSION || p[1] != OUR_FLAGS)
		return -EBADMSG;
	h.export_id = (uint16_t)(p[2] << 8 | p[3]);
	opaque = p[4];
	if (h.export_id == 0 || opaque == 0)
		return -EBADMSG;
	/* exact (NFSv4) or padded with zeros to four bytes (NFSv3) */
	if (fh->length != HEADER + opaque && fh->length != (HEADER + opaque + 3) / 4 * 4)
		return -EBADMSG;
	for (size_t i = HEADER + opaque; i < fh->length; i++)
		if (p[i] != 0)
			return -EBADMSG;

	if ((p[HEADER] & DUMMY) != 0)
		return -EBADMSG;
	h.fsid_type = (enum ganesha_fsid)(p[HEADER] & FSID_MASK);
	switch (h.fsid_type) {
	case GANESHA_FSID_UUID:
		fsid_length = 16;
		break;
	case GANESHA_FSID_STATFS:
	case GANESHA_FSID_DEVICE:
		fsid_length = 8;
		break;
	default:
		return -EOPNOTSUPP;
	}
	if (opaque < 1 + fsid_length)
		return -EBADMSG;
	memcpy(h.fsid, p + HEADER + 1, fsid_length);
	r = decode_kernel(p + HEADER + 1 + fsid_length, opaque - 1 - fsid_length,
		p[HEADER] & KERNEL_TYPE_MASK, &h);
	if (r < 0)
		return r;
	*ret = h;
	return 0;
}
