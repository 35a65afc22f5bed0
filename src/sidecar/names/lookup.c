/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sidecar/names/change_parts.h"

#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "base/util.h"
#include "sidecar/backing/thread_cred.h"

int change_prepare_lookup(struct name_change *c, const struct grant_context *g)
{
	const struct broker_lookup *q = &c->request.lookup;
	bool plain = names_is_plain(q->name, sizeof(q->name)) && q->asks_acl <= 1;
	struct access_file file;
	struct statx stx;
	int r = plain ? c->dir.fd = export_mount_directory(g->at->mount, &g->at->handle) : -EINVAL;

	if (r >= 0)
		r = grant_attributes(c->dir.fd, &stx, &c->found.dir);
	if (r >= 0)
		r = change_squash(c, g, &q->cred);
	if (r < 0)
		return r;
	file = (struct access_file){.fd = c->dir.fd, .mode = stx.stx_mode, .uid = stx.stx_uid, .gid = stx.stx_gid};
	if (!g->server->may_search(&file, &c->cred))
		return -EACCES;
	if (q->asks_acl != 0)
		c->found.dir.flags = names_directory_acl(c->dir.fd);
	c->dir.device = makedev(stx.stx_dev_major, stx.stx_dev_minor);
	c->dir.mode = stx.stx_mode;
	c->dir.uid = stx.stx_uid;
	return 0;
}

/* names_open() with the credential's right to search. */
static int open_name(const struct name_change *c)
{
	int fd = thread_cred_become(&c->cred);

	if (fd >= 0)
		fd = names_open(c->dir.fd, c->request.lookup.name);
	thread_cred_restore();
	return fd;
}

/* 0, or -EXDEV for a file that the server may show under another handle. */
static int describe(struct name_change *c, int fd)
{
	struct nfs_handle h = c->at.handle;
	struct statx stx;
	int r = grant_attributes(fd, &stx, &c->found.attr);

	if (r < 0)
		return r;
	/* A subvolume of btrfs has a device number of its own. */
	if (makedev(stx.stx_dev_major, stx.stx_dev_minor) != c->dir.device ||
		(stx.stx_attributes & (STATX_ATTR_MOUNT_ROOT | STATX_ATTR_AUTOMOUNT)) != 0)
		return -EXDEV;
	r = export_mount_handle(fd, &h);
	return r < 0 ? r : c->server->encode(&h, &c->found.fh);
}

void change_look_up(struct name_change *c)
{
	_cleanup_close_ int fd = open_name(c);
	int r = fd < 0 ? fd : describe(c, fd);

	if (r == 0 || r == -ENOENT)
		c->found.error = r;
	else
		name_change_refuse(c, r, REASON_SERVER_DECIDES);
}
