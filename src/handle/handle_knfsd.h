/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Takes knfsd's file handles apart, and puts them together. Pure: looks nothing up and trusts no byte.
 *
 *   version 1, auth type 0, fsid type, file id type (one byte each), fsid, file id
 *   (include/linux/nfsd/nfsfh.h; fs/nfsd/nfsfh.c: fh_compose, nfsd_set_fh_dentry)
 *
 * File id type 0 is the export's directory; the other types are the kernel's handle types, with the kernel's bytes. All
 * integers are in host byte order, except in the old device types.
 */
#pragma once

#include "localiofs/broker_protocol.h"
#include "localiofs/reason.h"
#include "handle/nfs_handle.h"

/* enum fsid_source and mk_fsid() of fs/nfsd/nfsfh.h */
enum knfsd_fsid {
	KNFSD_FSID_DEV = 0,         /* major << 16 | minor in network order, inode */
	KNFSD_FSID_NUM = 1,         /* fsid=N */
	KNFSD_FSID_MAJOR_MINOR = 2, /* DEV with more bits; in handles of an export's root only */
	KNFSD_FSID_ENCODE_DEV = 3,  /* new_encode_dev() in host order, inode */
	KNFSD_FSID_UUID4_INUM = 4,  /* inode (4 bytes), UUID folded to 4 bytes */
	KNFSD_FSID_UUID8 = 5,       /* UUID folded to 8 bytes */
	KNFSD_FSID_UUID16 = 6,
	KNFSD_FSID_UUID16_INUM = 7, /* inode (8 bytes), UUID */
};

/*
 * REASON_BAD_HANDLE for a handle that knfsd does not make. REASON_SUBTREE_CHECK for a handle that also names the file's
 * directory: only exports with subtree_check have such handles.
 */
enum reason handle_knfsd_decode(const struct broker_fh *fh, struct nfs_handle *ret);

/* server_kind.encode */
int handle_knfsd_encode(const struct nfs_handle *h, struct broker_fh *ret);
