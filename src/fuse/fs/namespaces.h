/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The user and pid namespaces of the daemon and of its mount: which ids go to the server, and whose groups are visible.
 *
 * A daemon in a user namespace of its own sees other ids than its parent namespace does. In a container that maps uid
 * 1000 to 0, a user would be root on the server by the ids inside. So the server gets the ids of the parent namespace,
 * with map=outside, and the attributes from the server are translated back. An owner that the namespace does not map is
 * shown as 65534 (nobody). The kernel refuses writes to such files (fs/namei.c HAS_UNMAPPED_ID).
 *
 * FUSE requests have the ids of the user namespace in which the mount was made (fs/fuse/dev.c fuse_req_init), and pids
 * of its pid namespace. If another program has made the mount, its namespaces may be others than the daemon's:
 *
 *	user namespace    the ids in requests are those of the mount's namespace, and are not translated
 *	pid namespace     a pid in a request may be another process's here, so /proc is not read: callers have no
 *	                  supplementary groups, and only FUSE_INTERRUPT tells that a caller is gone
 *
 * A plain value of the mount, constant after namespaces_look(). Any thread.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "io/nfs_types.h"
#include "table/id_map.h"

#define ID_NOBODY                                                                                           \
	65534U /* in /proc and stat(2), the kernel shows this id for all that a user namespace does not map \
		*/

struct namespaces {
	struct id_map uids, gids; /* of the daemon's user namespace and its parent */
	bool plain;               /* both maps map each id to itself */
	bool translates; /* ids in FUSE requests are of the daemon's user namespace, and the server gets the parent's */
	bool outside;    /* the server gets ids of the parent namespace */
	bool sees_callers; /* pids in FUSE requests are of the daemon's pid namespace */
};

/*
 * Reads the maps. map_outside: the mount option map=outside. foreign_users, foreign_pids: the mount was made in another
 * user or pid namespace. Returns 0 or a negative errno.
 */
int namespaces_look(struct namespaces *n, bool map_outside, bool foreign_users, bool foreign_pids);

/* An id in a FUSE request as the server gets the id. An id that is not mapped becomes nobody's. */
uint32_t namespaces_uid_to_server(const struct namespaces *n, uint32_t uid);
uint32_t namespaces_gid_to_server(const struct namespaces *n, uint32_t gid);

/* An id from the server as the kernel gets the id. An id that is not mapped becomes nobody's. */
uint32_t namespaces_uid_from_server(const struct namespaces *n, uint32_t uid);
uint32_t namespaces_gid_from_server(const struct namespaces *n, uint32_t gid);

/*
 * Translates groups from /proc, in place, for the server. Drops groups that are not mapped, and ID_NOBODY, which may
 * stand for such a group. Returns their number.
 */
int namespaces_groups_to_server(const struct namespaces *n, gid_t *groups, int count);

/*
 * Translates the owner in a stat(2) of this process to the server's ids. False if an id is not mapped, or is ID_NOBODY
 * in a namespace of its own.
 */
bool namespaces_owner_to_server(const struct namespaces *n, uint32_t *uid, uint32_t *gid);

/* The credential of the daemon's own questions to the server. */
struct nfs_cred namespaces_own_cred(const struct namespaces *n);
