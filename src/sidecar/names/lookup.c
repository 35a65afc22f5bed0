/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sidecar/names/lookup.h"

#include <sys/stat.h>

#include "base/util.h"
#include "sidecar/backing/thread_cred.h"
#include "sidecar/names/directory.h"

/* names_open() with the credential's right to search. */
static int open_name(int dir, const char *name, const struct broker_cred *cred)
{
	int fd = thread_cred_become(cred);

	if (fd >= 0)
		fd = names_open(dir, name);
	thread_cred_restore();
	return fd;
}

/* 0, or -EXDEV for a file that the server may show under another handle. */
static int describe(const struct grant_context *g, int fd, const struct statx *dir, struct broker_found *reply)
{
	struct nfs_handle h = g->at->handle;
	struct statx stx;
	int r = grant_attributes(fd, &stx, &reply->attr);

	if (r < 0)
		return r;
	/* A subvolume of btrfs has a device number of its own. */
	if (stx.stx_dev_major != dir->stx_dev_major || stx.stx_dev_minor != dir->stx_dev_minor ||
		(stx.stx_attributes & (STATX_ATTR_MOUNT_ROOT | STATX_ATTR_AUTOMOUNT)) != 0)
		return -EXDEV;
	r = export_mount_handle(fd, &h);
	return r < 0 ? r : g->server->encode(&h, &reply->fh);
}

static int look_up(const struct grant_context *g, const struct broker_lookup *request, struct broker_found *reply)
{
	_cleanup_close_ int dir = export_mount_directory(g->at->mount, &g->at->handle), fd = -1;
	struct access_file file;
	struct broker_cred cred;
	enum reason reason;
	struct statx stx;
	int r = dir < 0 ? dir : grant_attributes(dir, &stx, &reply->dir);

	if (r >= 0)
		r = grant_squash(g, &request->cred, &cred, &reason);
	if (r < 0)
		return r;
	file = (struct access_file){.fd = dir, .mode = stx.stx_mode, .uid = stx.stx_uid, .gid = stx.stx_gid};
	if (!g->server->may_search(&file, &cred))
		return -EACCES;
	if (request->asks_acl != 0)
		reply->dir.flags = names_directory_acl(dir);
	fd = r = open_name(dir, request->name, &cred);
	return r < 0 ? r : describe(g, fd, &stx, reply);
}

void names_lookup(const struct grant_context *g, const struct broker_lookup *request, struct broker_found *reply)
{
	bool plain = names_is_plain(request->name, sizeof(request->name)) && request->asks_acl <= 1;
	int r = plain ? look_up(g, request, reply) : -EINVAL;

	if (r == 0 || r == -ENOENT)
		reply->error = r;
	else
		*reply = (struct broker_found){.error = r, .reason = REASON_SERVER_DECIDES};
}
