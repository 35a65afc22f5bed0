/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "fuse/fs/namespaces.h"

#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "base/util.h"
#include "base/whole_io.h"

int id_map_parse(struct id_map *m, const char *text)
{
	m->count = 0;
	while (*text != '\0') {
		struct id_extent e;
		int used = 0;

		if (m->count == ID_EXTENTS ||
			sscanf(text, "%" SCNu32 " %" SCNu32 " %" SCNu32 " %n", &e.inside, &e.outside, &e.length,
				&used) != 3 ||
			used == 0)
			return -EINVAL;
		m->extents[m->count++] = e;
		text += used;
	}
	return m->count > 0 ? 0 : -EINVAL;
}

static int read_map(const char *path, struct id_map *ret)
{
	char text[ID_EXTENTS * 34];
	ssize_t n = read_small_file(path, text, sizeof(text));

	return n < 0 ? (int)n : id_map_parse(ret, text);
}

static bool is_plain(const struct id_map *m)
{
	return m->count == 1 && m->extents[0].inside == 0 && m->extents[0].outside == 0 &&
	       m->extents[0].length == UINT32_MAX;
}

static bool to_outside(const struct id_map *m, uint32_t id, uint32_t *ret)
{
	for (unsigned n = 0; n < m->count; n++) {
		const struct id_extent *e = &m->extents[n];

		if (id >= e->inside && id - e->inside < e->length) {
			*ret = e->outside + (id - e->inside);
			return true;
		}
	}
	return false;
}

static bool to_inside(const struct id_map *m, uint32_t id, uint32_t *ret)
{
	for (unsigned n = 0; n < m->count; n++) {
		const struct id_extent *e = &m->extents[n];

		if (id >= e->outside && id - e->outside < e->length) {
			*ret = e->inside + (id - e->outside);
			return true;
		}
	}
	return false;
}

int namespaces_look(struct namespaces *n, bool map_outside, bool foreign_users, bool foreign_pids)
{
	int r = read_map("/proc/self/uid_map", &n->uids);

	if (r == 0)
		r = read_map("/proc/self/gid_map", &n->gids);
	if (r == -ENOENT) { /* no /proc, or a kernel without user namespaces */
		n->uids = (struct id_map){.count = 1, .extents = {{.length = UINT32_MAX}}};
		n->gids = n->uids;
		r = 0;
	}
	n->plain = is_plain(&n->uids) && is_plain(&n->gids);
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
	(void)to_outside(m, id, &outside);
	return outside;
}

static uint32_t from_server(const struct namespaces *n, const struct id_map *m, uint32_t id)
{
	uint32_t inside = ID_NOBODY;

	if (!n->translates)
		return id;
	(void)to_inside(m, id, &inside);
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
		if (to_outside(&n->gids, groups[i], &groups[kept]))
			kept++;
	return kept;
}

bool namespaces_owner_to_server(const struct namespaces *n, uint32_t *uid, uint32_t *gid)
{
	return to_outside(&n->uids, *uid, uid) && to_outside(&n->gids, *gid, gid);
}

struct nfs_cred namespaces_own_cred(const struct namespaces *n)
{
	struct nfs_cred cred = {.uid = geteuid(), .gid = getegid()};

	if (n->outside && !namespaces_owner_to_server(n, &cred.uid, &cred.gid))
		cred.uid = cred.gid = ID_NOBODY;
	return cred;
}
