/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sidecar/notices/tell.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/util.h"
#include "sidecar/backing/thread_cred.h"
#include "sidecar/broker/packet.h"
#include "sidecar/grant/grant.h"

#define NOBODY 0xfffe1234U /* an id that no file is likely to have */

/* True if the peer may claim to be somebody who may read the directory. */
static bool may_read(const struct locator *l, const struct location *at, const struct access_file *dir)
{
	const struct broker_cred claims[] = {
		{.uid = dir->uid, .gid = dir->gid},
		{.uid = NOBODY, .gid = NOBODY},
		{.uid = NOBODY, .gid = dir->gid},
		{.uid = 0, .gid = 0},
	};

	for (size_t i = 0; i < ARRAY_SIZE(claims); i++) {
		struct broker_cred c;
		bool reads;

		if (l->table->server->squash(&at->perms, &claims[i], &c) < 0)
			continue;
		reads = (c.uid == dir->uid || l->table->server->may_read(dir, &c)) && thread_cred_become(&c) >= 0 &&
			thread_cred_allows(dir->fd, R_OK);
		thread_cred_restore();
		if (reads)
			return true;
	}
	return false;
}

static void set_version(const struct broker_attr *attr, struct broker_notice *n)
{
	n->has_version = 1;
	n->version = (struct broker_version){.size = attr->size,
		.mtime_sec = attr->mtime_sec,
		.ctime_sec = attr->ctime_sec,
		.mtime_nsec = attr->mtime_nsec,
		.ctime_nsec = attr->ctime_nsec};
}

/* True if the notice may carry the name. */
static bool names_are_open(const struct teller *t, const struct change *c, const struct location *at, int fd,
	const struct statx *stx)
{
	const struct access_file dir = {.fd = fd, .mode = stx->stx_mode, .uid = stx->stx_uid, .gid = stx->stx_gid};
	bool open;

	if (c->names != TOLD_NAMES_UNDECIDED)
		return c->names == TOLD_NAMES_OPEN;
	open = t->claims_any && may_read(t->locator, at, &dir);
	listener_judge(t->listener, c, open);
	return open;
}

static struct nfs_handle handle_of_child(const struct change *c, const struct location *dir)
{
	struct nfs_handle child = dir->handle;

	child.is_root = false;
	child.kernel_type = c->child_type;
	child.kernel_length = c->child_length;
	memcpy(child.kernel, c->child, c->child_length);
	return child;
}

static void set_name(const struct teller *t, const struct change *c, const struct location *at, struct broker_notice *n)
{
	struct nfs_handle child;

	n->kind = BROKER_NOTICE_NAME;
	n->state = c->state;
	memcpy(n->name, c->name, sizeof(n->name));
	if (c->state != BROKER_NAME_PRESENT)
		return;
	child = handle_of_child(c, at);
	if (t->locator->table->server->encode(&child, &n->child) < 0)
		n->state = BROKER_NAME_UNKNOWN;
}

/* Looks at the object of a change, as far as the peer may still know of it. */
static void look(const struct teller *t, const struct change *c, struct broker_notice *n)
{
	struct location at;
	struct statx stx;
	struct broker_attr attr;
	_cleanup_close_ int fd = -1;

	if (locator_find(t->locator, &c->fh, &at) != REASON_NONE)
		return;
	fd = export_mount_resolve(at.mount, &at.handle);
	if (fd < 0 || grant_attributes(fd, &stx, &attr) < 0)
		return;
	set_version(&attr, n);
	if (c->kind == BROKER_NOTICE_NAME && names_are_open(t, c, &at, fd, &stx))
		set_name(t, c, &at, n);
}

/* The same for a child of the change's directory; false if the client may not know the child. */
static bool look_at_child(const struct teller *t, const struct change *c, struct broker_notice *n)
{
	_cleanup_close_ int dir = -1, fd = -1;
	struct nfs_handle child;
	struct broker_attr attr;
	struct location at;
	struct statx stx;

	if (locator_find(t->locator, &c->fh, &at) != REASON_NONE)
		return false;
	dir = export_mount_resolve(at.mount, &at.handle);
	if (dir < 0 || grant_attributes(dir, &stx, &attr) < 0 || !names_are_open(t, c, &at, dir, &stx))
		return false;
	child = handle_of_child(c, &at);
	fd = export_mount_resolve(at.mount, &child);
	if (fd < 0 || grant_attributes(fd, &stx, &attr) < 0 || t->locator->table->server->encode(&child, &n->fh) < 0)
		return false;
	set_version(&attr, n);
	return true;
}

int tell_changes(const struct teller *t)
{
	struct change c;
	unsigned left = NOTICES_QUEUE + 1;
	int r = 0;

	for (; r >= 0 && left > 0 && listener_take(t->listener, &c); left--) {
		struct broker_notice n = {.kind = c.kind == BROKER_NOTICE_NAME ? BROKER_NOTICE_DIRECTORY : c.kind,
			.fh = c.fh};

		if (c.kind == BROKER_NOTICE_ATTR && c.child_length > 0) {
			if (!look_at_child(t, &c, &n))
				continue;
		} else if (c.kind != BROKER_NOTICE_DOUBT) {
			look(t, &c, &n);
		}
		n.number = ++*t->number;
		counters_add(&t->counters->notices[n.kind]);
		r = packet_send(t->socket, BROKER_NOTICE, 0, &n, -1);
	}
	if (left == 0)
		wake_up(t->wake);
	return r;
}
