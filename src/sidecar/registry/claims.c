/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sidecar/registry/claims.h"

#include <errno.h>
#include <linux/capability.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "base/util.h"
#include "base/whole_io.h"
#include "sidecar/registry/peer_process.h"

#define SET_IDS (UINT64_C(1) << CAP_SETUID | UINT64_C(1) << CAP_SETGID)
#define ADMIN   (UINT64_C(1) << CAP_SYS_ADMIN)

static const char *line_of(const char *status, const char *name)
{
	const char *line = strstr(status, name);

	return line != NULL ? line + strlen(name) : "";
}

/*
 * True if the process may take any id of its user namespace, and had the same privileges at connect(2). The file is
 * looked at, not the directory /proc/PID, which always has the process's euid (fs/proc/base.c task_dump_owner).
 */
static bool may_set_ids(const struct ucred *peer, const char *status)
{
	uint64_t caps = strtoull(line_of(status, "\nCapEff:"), NULL, 16);
	char path[64];
	struct stat st;

	(void)snprintf(path, sizeof(path), "/proc/%d/status", (int)peer->pid);
	return ((caps & ADMIN) != 0 || (caps & SET_IDS) == SET_IDS) && stat(path, &st) == 0 && st.st_uid == peer->uid;
}

static int take_mapped_ids(struct claims *c, pid_t pid)
{
	char path[64];
	int r;

	(void)snprintf(path, sizeof(path), "/proc/%d/uid_map", (int)pid);
	r = id_map_read(&c->uids, path);
	(void)snprintf(path, sizeof(path), "/proc/%d/gid_map", (int)pid);
	return r < 0 ? r : id_map_read(&c->gids, path);
}

/* The groups at connect(2): those in /proc may be of a set-user-id program that the process has executed since. */
static void take_own_ids(struct claims *c, int socket, const struct ucred *peer)
{
	gid_t groups[ID_EXTENTS];
	socklen_t size = sizeof(groups);

	c->uids.count = c->gids.count = 0;
	(void)id_map_add(&c->uids, peer->uid);
	(void)id_map_add(&c->gids, peer->gid);
	if (getsockopt(socket, SOL_SOCKET, SO_PEERGROUPS, groups, &size) < 0)
		return;
	for (size_t n = 0; n < size / sizeof(groups[0]); n++)
		(void)id_map_add(&c->gids, groups[n]);
}

/* What /proc says of the process, which this pid namespace shows. */
static int take_ids_of_process(struct claims *c, int socket, const struct ucred *peer)
{
	char path[64], status[8192];
	ssize_t n;
	int r = 0;

	(void)snprintf(path, sizeof(path), "/proc/%d/status", (int)peer->pid);
	n = read_small_file(path, status, sizeof(status));
	if (n < 0)
		return (int)n;
	if (may_set_ids(peer, status))
		r = take_mapped_ids(c, peer->pid);
	else
		take_own_ids(c, socket, peer);
	/* The same process until now: otherwise the number may be another process's. */
	return r == 0 && !peer_process_is_there(socket) ? -ESRCH : r;
}

int claims_of_peer(struct claims *c, int socket)
{
	struct ucred peer;
	socklen_t size = sizeof(peer);

	*c = (struct claims){.any = false};
	if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) < 0)
		return -errno;
	if (peer.pid > 0)
		return take_ids_of_process(c, socket, &peer);
	/* The process is outside the sidecar's pid namespace. The kernel tells its ids of connect(2) all the same. */
	take_own_ids(c, socket, &peer);
	return 0;
}

bool claims_allow(const struct claims *c, const struct broker_cred *cred)
{
	/* Untold groups decide nothing, or the request is refused (grant_squash_untold()). */
	uint32_t inside, ngroups = cred->ngroups == BROKER_GROUPS_UNTOLD ? 0 : cred->ngroups;

	if (c->any)
		return true;
	if (!id_map_inside(&c->uids, cred->uid, &inside) || !id_map_inside(&c->gids, cred->gid, &inside))
		return false;
	for (uint32_t n = 0; n < ngroups; n++)
		if (!id_map_inside(&c->gids, cred->groups[n], &inside))
			return false;
	return true;
}
