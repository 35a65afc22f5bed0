/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The rights on a file of *all* credentials that a peer may put into an AUTH_UNIX call, together.
 *
 * With AUTH_UNIX a peer may claim any uid and gid that the squash leaves, and a backing id has no permissions. So an id
 * may give the rights of the strongest credential that the peer can use over NFS, and never more. The tried credentials
 * are root, the owner, the owning group, each user and group of the ACL, and a user that neither the file nor the ACL
 * names. Each is squashed; then the server's own rule for READ and WRITE must allow the access, and the kernel must,
 * too (except for the owner, who is always allowed).
 *
 * With --claims=peer, grant.c demands the rights of the request's own credential as well. The functions have no state;
 * claimable_rights() changes the calling thread's credentials while it runs.
 */
#pragma once

#include <stdbool.h>

#include "sidecar/exports/server_kind.h"

/* 0 with the rights, or a negative errno. */
int claimable_rights(const struct server_kind *server, const struct access_file *f, const struct export_perms *perms,
	bool *ret_read, bool *ret_write);

/*
 * True if the rights of a squashed credential on the file may depend on its supplementary groups. They do not for root,
 * for the owner (fs/namei.c acl_permission_check), for a credential whose gid is the file's, and for a file whose bits
 * for group and others are equal; a file with an ACL may depend on groups in the last two cases.
 */
bool claimable_by_groups(const struct access_file *f, const struct broker_cred *cred);
