/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * An NFS file handle, taken apart: which filesystem (and with it which export) in the server's own
 * terms, and which file of it in the kernel's. A value; what is in it came from a client, and only
 * its lengths have been checked.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define NFS_HANDLE_MAX_FSID   24
#define NFS_HANDLE_MAX_KERNEL 64

struct nfs_handle {
	uint16_t export_id; /* NFS-Ganesha's; knfsd names the export by the fsid alone */
	uint8_t fsid_type;  /* the server's own numbering */
	uint32_t fsid_length;
	uint8_t fsid[NFS_HANDLE_MAX_FSID];
	bool is_root; /* knfsd: the export's directory, without a kernel handle */
	int kernel_type;
	uint32_t kernel_length;
	uint8_t kernel[NFS_HANDLE_MAX_KERNEL];
};
