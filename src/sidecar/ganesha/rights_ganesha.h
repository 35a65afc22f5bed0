/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The rights of a caller at NFS-Ganesha: the credential that Ganesha acts with, and Ganesha's own decision on a regular
 * file of its VFS back end. All functions are pure.
 *
 * Ganesha does not ask the kernel: it compares the mode bits with the squashed credential (fsal_check_access_no_acl of
 * 4.3, src/FSAL/access_check.c; Debian's build knows no POSIX ACLs) and then opens the file as root. The sidecar
 * applies the same rule, so that it answers ACCESS as the server does. A backing id needs this rule *and* the kernel's
 * permission (grant.c).
 */
#pragma once

#include "localiofs/broker_protocol.h"
#include "sidecar/exports/server_kind.h"

/*
 * server_kind.squash, as nfs_req_creds() of Ganesha 4.3 does it (src/support/nfs_creds.c). Unlike knfsd, root_squash
 * drops *all* groups of uid 0. -EINVAL for a uid, gid or group of -1 (an RPC error at the server), and for too many
 * groups.
 */
int rights_ganesha_squash(const struct export_perms *perms, const struct broker_cred *wire, struct broker_cred *ret);

/* server_kind.access, as nfs_access_op() does it. export_writable: the export's Access_Type is RW. */
int rights_ganesha_access(const struct access_file *f, const struct broker_cred *cred, bool export_writable);

/* True if the search of a directory is allowed: the FSAL_X_OK of nfs3_lookup.c. */
bool rights_ganesha_may_search(const struct access_file *f, const struct broker_cred *cred);
bool rights_ganesha_may_change_names(const struct access_file *f, const struct broker_cred *cred);

/* True if READ is allowed (nfs3_read.c): who may execute a file may read it. */
bool rights_ganesha_may_read(const struct access_file *f, const struct broker_cred *cred);

/* True if WRITE is allowed (nfs3_write.c). */
bool rights_ganesha_may_write(const struct access_file *f, const struct broker_cred *cred);
