/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The parts of an NFS file handle: the filesystem (and the export) in the server's own encoding, and the file in the
 * kernel's encoding. A value. The bytes come from a client, or from a server; only their lengths have been checked.
 */
#pragma once

#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "localiofs/broker_protocol.h"

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

/* A kernel's handle as open_by_handle_at(2) takes it. */
union file_handle_room {
	struct file_handle handle;
	char bytes[sizeof(struct file_handle) + NFS_HANDLE_MAX_KERNEL];
};

/* Replaces the file's part of a handle by the handle of the file behind the descriptor. 0 or a negative errno. */
int nfs_handle_read(int fd, struct nfs_handle *ret);

/*
 * The server's handle of the file with this kernel handle, of which only that part is read, in the filesystem and the
 * export of the file that the server's handle known names. 0, or a negative errno if there is none of this form.
 */
int nfs_handle_of_kernel(const struct broker_fh *known, const struct nfs_handle *kernel, struct broker_fh *ret);

/*
 * True if the server's handle dir is that of the directory behind the descriptor, and nfs_handle_of_kernel() makes the
 * server's handles of the files in it.
 */
bool nfs_handle_is_of(const struct broker_fh *dir, int fd);
