/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What may be done with a file by *some* credential that a peer may put into an AUTH_UNIX call.
 *
 * AUTH_UNIX lets a peer claim any uid and gid that squash does not take away, and a backing id
 * carries no permission of its own. So an id is as strong as the strongest credential the peer could
 * have used over NFS, and never stronger. Tried are root, the owner, the owning group, each user and
 * group of the ACL, and one that nothing names; each after squash, and each by two judges: the
 * server's own READ and WRITE rule, and the kernel (but for the owner, who may always).
 */
#pragma once

#include <stdbool.h>

#include "sidecar/exports/server_kind.h"

/* Runs with other credentials in between (thread_cred). */
int claimable_rights(const struct server_kind *server, const struct access_file *f, const struct export_perms *perms,
	bool *ret_read, bool *ret_write);

/*
 * Whether what the credential, after the squash, may do with the file can depend on its other groups. It does not for
 * root, nor for the owner (fs/namei.c acl_permission_check), nor where its group, or the file's bits, decide the same.
 */
bool claimable_by_groups(const struct access_file *f, const struct broker_cred *cred);
