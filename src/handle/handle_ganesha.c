/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "handle/handle_ganesha.h"

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
#define MAX_KERNEL       48 /* VFS_MAX_HANDLE */

#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
#define OUR_FLAGS FLAG_BIG_ENDIAN
#else
#define OUR_FLAGS 0
#endif

static int decode_kernel(const uint8_t *p, size_t left, unsigned width, struct nfs_handle *h)
{
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
	if (left < 4 || left > MAX_KERNEL)
		return -EBADMSG;
	memcpy(h->kernel, p + used, left);
	h->kernel_length = (uint32_t)left;
	return 0;
}

enum reason handle_ganesha_decode(const struct broker_fh *fh, struct nfs_handle *ret)
{
	struct nfs_handle h = {0};
	const uint8_t *p = fh->data;
	size_t opaque;

	if (fh->length < HEADER + 1 || fh->length > BROKER_MAX_FH)
		return REASON_BAD_HANDLE;
	if (p[0] != VERSION || p[1] != OUR_FLAGS)
		return REASON_BAD_HANDLE;
	h.export_id = (uint16_t)(p[2] << 8 | p[3]);
	opaque = p[4];
	if (h.export_id == 0 || opaque == 0)
		return REASON_BAD_HANDLE;
	/* exact (NFSv4) or padded with zeros to four bytes (NFSv3) */
	if (fh->length != HEADER + opaque && fh->length != (HEADER + opaque + 3) / 4 * 4)
		return REASON_BAD_HANDLE;
	for (size_t i = HEADER + opaque; i < fh->length; i++)
		if (p[i] != 0)
			return REASON_BAD_HANDLE;

	if ((p[HEADER] & DUMMY) != 0)
		return REASON_BAD_HANDLE;
	h.fsid_type = p[HEADER] & FSID_MASK;
	switch (h.fsid_type) {
	case GANESHA_FSID_UUID:
		h.fsid_length = 16;
		break;
	case GANESHA_FSID_STATFS:
	case GANESHA_FSID_DEVICE:
		h.fsid_length = 8;
		break;
	default:
		return REASON_EXPORT_OPTIONS;
	}
	if (opaque < 1 + h.fsid_length)
		return REASON_BAD_HANDLE;
	memcpy(h.fsid, p + HEADER + 1, h.fsid_length);
	if (decode_kernel(p + HEADER + 1 + h.fsid_length, opaque - 1 - h.fsid_length, p[HEADER] & KERNEL_TYPE_MASK,
		    &h) < 0)
		return REASON_BAD_HANDLE;
	*ret = h;
	return REASON_NONE;
}

/* Writes the handle's type in the fewest bytes. Returns their number, and sets the width. */
static size_t encode_type(int type, uint8_t *p, uint8_t *ret_width)
{
	int16_t type16 = (int16_t)type;
	int32_t type32 = type;

	if (type == (int)(uint8_t)type) {
		*ret_width = KERNEL_TYPE_8;
		p[0] = (uint8_t)type;
		return 1;
	}
	if (type == type16) {
		*ret_width = KERNEL_TYPE_16;
		memcpy(p, &type16, sizeof(type16));
		return sizeof(type16);
	}
	*ret_width = KERNEL_TYPE_MASK;
	memcpy(p, &type32, sizeof(type32));
	return sizeof(type32);
}

int handle_ganesha_encode(const struct nfs_handle *h, struct broker_fh *ret)
{
	uint8_t *p = ret->data;
	uint8_t width;
	size_t n = HEADER + 1;

	if (h->kernel_length > MAX_KERNEL)
		return -EOVERFLOW;
	*ret = (struct broker_fh){.data = {VERSION, OUR_FLAGS, (uint8_t)(h->export_id >> 8), (uint8_t)h->export_id}};
	memcpy(p + n, h->fsid, h->fsid_length);
	n += h->fsid_length;
	n += encode_type(h->kernel_type, p + n, &width);
	memcpy(p + n, h->kernel, h->kernel_length);
	n += h->kernel_length;
	p[HEADER] = h->fsid_type | width;
	p[HEADER - 1] = (uint8_t)(n - HEADER);
	ret->length = (uint32_t)(n + 3) / 4 * 4;
	return 0;
}
