/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Takes NFS-Ganesha's file handles apart, and puts them together. Pure: looks nothing up and trusts no byte.
 *
 *   0x43, flags, export id (16 bits, network order), length of the opaque part, opaque part,
 *   zeros up to a multiple of 4 in NFSv3 (nfs_fh.h, file_handle_v3; nfs3_sizeof_handle)
 *
 * The VFS back end makes the opaque part (FSAL_VFS/os/linux/handle_syscalls.c): one byte with the fsid type in the low
 * bits and the width of the handle type in the two high bits, the fsid, the handle type, the kernel's handle.
 * Versions 4.3 to 15.2 have the same layout.
 */
#pragma once

#include "localiofs/broker_protocol.h"
#include "localiofs/reason.h"
#include "handle/nfs_handle.h"

/* enum fsid_type of fsal_api.h, without the types that need options for which no grants are given. */
enum ganesha_fsid {
	GANESHA_FSID_UUID = 3,   /* two u64: the bytes of the filesystem's UUID */
	GANESHA_FSID_STATFS = 4, /* two u32 of statfs f_fsid, or major and minor when it is zero */
	GANESHA_FSID_DEVICE = 5, /* two u32: major and minor */
};

/*
 * REASON_BAD_HANDLE for a handle that is not a Ganesha file's: wrong version, flags, lengths or padding, the pseudo
 * filesystem (export 0), handles of data servers, dummies. REASON_EXPORT_OPTIONS for an fsid type that gets no grants.
 */
enum reason handle_ganesha_decode(const struct broker_fh *fh, struct nfs_handle *ret);

/* server_kind.encode */
int handle_ganesha_encode(const struct nfs_handle *h, struct broker_fh *ret);
