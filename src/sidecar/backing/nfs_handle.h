/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The parts of an NFS file handle: the filesystem (and the export) in the server's own encoding, and the file in the
 * kernel's encoding. A value. The bytes come from a client; only their lengths have been checked.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define NFS_HANDLE_MAX_FSID   24
#define NFS_HANDLE_MAX_KERNEL 64

struct nfs_handle {
	uint16_t export_id; /* NFS-Ganesha only; in knfsd's handles the fsid alone names the export */
	uint8_t fsid_type;  /* the server's own numbering */
	uint32_t fsid_length;
	uint8_t fsid[NFS_HANDLE_MAX_FSID];
	bool is_root; /* knfsd only: the handle is of the export's directory and has no kernel handle */
	int kernel_type;
	uint32_t kernel_length;
	uint8_t kernel[NFS_HANDLE_MAX_KERNEL];
};

/* True if both handles of one export are of one file; false also for the two handles of an export's root. */
static inline bool nfs_handle_is_same_file(const struct nfs_handle *a, const struct nfs_handle *b)
{
	return a->is_root == b->is_root && a->kernel_type == b->kernel_type && a->kernel_length == b->kernel_length &&
	       memcmp(a->kernel, b->kernel, a->kernel_length) == 0;
}
