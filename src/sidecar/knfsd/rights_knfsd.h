/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The rights of a caller at knfsd: the credential that knfsd acts with, and the kernel's decision on a regular file.
 * The functions have no state; rights_knfsd_access() changes the calling thread's credentials while it runs.
 */
#pragma once

#include <stdio.h>

#include "localiofs/broker_protocol.h"
#include "sidecar/exports/server_kind.h"

/*
 * server_kind.squash, as nfsd_setuser() does it (fs/nfsd/auth.c). Unlike Ganesha, root_squash changes uid 0 and gid 0
 * each on its own and keeps the other groups, and an id of -1 is anonymous under any options. Pure. -EINVAL for too
 * many groups.
 */
int rights_knfsd_squash(const struct export_perms *perms, const struct broker_cred *wire, struct broker_cred *ret);

/*
 * The groups that the kernel takes instead of the caller's own (mountd --manage-gids): reads the text of the kernel's
 * auth.unix.gid cache (unix_gid_show() of net/sunrpc/svcauth_unix.c) and puts the groups of cred->uid into cred. 1; 0
 * with an unchanged cred when the cache has no valid answer for that uid, no groups, or more groups than a credential
 * has. *ret_any: the cache has an answer for any uid. As soon as it has, mountd runs with --manage-gids and the server
 * believes no caller's own groups; a caller without an answer is left to the server, which asks mountd.
 */
int rights_knfsd_groups(FILE *content, struct broker_cred *cred, bool *ret_any);

/*
 * server_kind.access. knfsd asks the kernel (nfsd_access() and nfsd_permission() of fs/nfsd/vfs.c), and so does this
 * function, with the squashed credential and the capabilities that nfsd_setuser() leaves.
 */
int rights_knfsd_access(const struct access_file *f, const struct broker_cred *cred, bool export_writable);
