/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "fuse/fs/namespaces.h"

#include <unistd.h>

#include "base/util.h"

int namespaces_look(struct namespaces *n, bool map_outside, bool foreign_users, bool foreign_pids)
{
	int r = id_map_read(&n->uids, "/proc/self/uid_map");

	if (r == 0)
		r = id_map_read(&n->gids, "/proc/self/gid_map");
	if (r == -ENOENT) { /* no /proc, or a kernel without user namespaces */
		n->uids = (struct id_map){.count = 1, .extents = {{.length = UINT32_MAX}}};
		n->gids = n->uids;
		r = 0;
	}
	n->plain = id_map_is_plain(&n->uids) && id_map_is_plain(&n->gids);
	n->outside = map_outside;
	n->translates = map_outside && !foreign_users && !n->plain;
	n->sees_callers = !foreign_pids;
	return r;
}

static uint32_t to_server(const struct namespaces *n, const struct id_map *m, uint32_t id)
{
	uint32_t outside = ID_NOBODY;

	if (!n->translates)
		return id;
	(void)id_map_outside(m, id, &outside);
	return outside;
}

static uint32_t from_server(const struct namespaces *n, const struct id_map *m, uint32_t id)
{
	uint32_t inside = ID_NOBODY;

	if (!n->translates)
		return id;
	(void)id_map_inside(m, id, &inside);
	return inside;
}

uint32_t namespaces_uid_to_server(const struct namespaces *n, uint32_t uid)
{
	return to_server(n, &n->uids, uid);
}

uint32_t namespaces_gid_to_server(const struct namespaces *n, uint32_t gid)
{
	return to_server(n, &n->gids, gid);
}

uint32_t namespaces_uid_from_server(const struct namespaces *n, uint32_t uid)
{
	return from_server(n, &n->uids, uid);
}

uint32_t namespaces_gid_from_server(const struct namespaces *n, uint32_t gid)
{
	return from_server(n, &n->gids, gid);
}

int namespaces_groups_to_server(const struct namespaces *n, gid_t *groups, int count)
{
	int kept = 0;

	if (n->plain || !n->outside)
		return count;
	for (int i = 0; i < count; i++)
		if (groups[i] != ID_NOBODY && id_map_outside(&n->gids, groups[i], &groups[kept]))
			kept++;
	return kept;
}

bool namespaces_owner_to_server(const struct namespaces *n, uint32_t *uid, uint32_t *gid)
{
	if (!n->plain && (*uid == ID_NOBODY || *gid == ID_NOBODY))
		return false;
	return id_map_outside(&n->uids, *uid, uid) && id_map_outside(&n->gids, *gid, gid);
}

struct nfs_cred namespaces_own_cred(const struct namespaces *n)
{
	struct nfs_cred cred = {.uid = geteuid(), .gid = getegid()};

	if (n->outside && !namespaces_owner_to_server(n, &cred.uid, &cred.gid))
		cred.uid = cred.gid = ID_NOBODY;
	return cred;
}
