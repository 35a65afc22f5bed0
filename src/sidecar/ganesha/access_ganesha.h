/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * NFS-Ganesha's own access decision for a regular file of its VFS back end. Pure.
 *
 * Ganesha does not ask the kernel: it compares the mode bits with the squashed credential
 * (fsal_check_access_no_acl of 4.3, src/FSAL/access_check.c; Debian's build knows no POSIX ACLs) and
 * then opens the file as root. To answer ACCESS as the server does, the sidecar must apply the same
 * rule. Whether a backing id is registered is decided by this rule *and* the kernel (grant.c).
 */
#pragma once

#include "sidecar/exports/server_kind.h"

/* nfs_access_op(): the ACCESS bits; export_writable is the export's Access_Type = RW. */
int access_ganesha_bits(const struct access_file *f, const struct broker_cred *cred, bool export_writable);

/* What READ and WRITE check (nfs3_read.c, nfs3_write.c): a file that may be executed may be read. */
bool access_ganesha_may_read(const struct access_file *f, const struct broker_cred *cred);
bool access_ganesha_may_write(const struct access_file *f, const struct broker_cred *cred);
