/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sidecar/names/change_parts.h"

#include <dirent.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "base/text.h"
#include "base/util.h"
#include "setattr/access_acl.h"
#include "sidecar/backing/thread_cred.h"
#include "wire/broker_messages.h"

/* Tells the attributes of the open directory. -EACCES unless the server's own rule lets the credential search it. */
static int begin(struct name_change *c, const struct grant_context *g, const struct statx *stx, struct broker_attr *ret)
{
	struct access_file file = {.fd = c->dir.fd, .mode = stx->stx_mode, .uid = stx->stx_uid, .gid = stx->stx_gid};

	grant_tell_attributes(stx, ret);
	c->dir.device = makedev(stx->stx_dev_major, stx->stx_dev_minor);
	c->dir.inode = stx->stx_ino;
	c->dir.mode = stx->stx_mode;
	c->dir.uid = stx->stx_uid;
	return g->server->may_search(&file, &c->cred) ? 0 : -EACCES;
}

int change_prepare_lookup(struct name_change *c, const struct grant_context *g)
{
	const struct broker_lookup *q = &c->request.lookup;
	bool plain = names_is_plain(q->name, sizeof(q->name)) && q->asks_acl <= 1;
	struct statx stx;
	int r = plain ? names_directory_find(g->at, &c->dir, &stx) : -EINVAL;

	if (r >= 0)
		r = change_squash(c, g, &q->cred);
	if (r >= 0)
		r = begin(c, g, &stx, &c->found.dir);
	if (r >= 0 && q->asks_acl != 0)
		c->found.dir.flags = access_acl_of_directory(c->dir.fd);
	return r;
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

/*
 * The file's attributes, and its handle as the server makes it. -EXDEV if the server may show the file under another
 * handle.
 */
static int describe(const struct name_change *c, int fd, struct broker_attr *ret_attr, struct broker_fh *ret_fh)
{
	struct nfs_handle h = c->at.handle;
	struct statx stx;
	int r = grant_attributes(fd, &stx, ret_attr);

	if (r < 0)
		return r;
	/* A subvolume of btrfs has a device number of its own. */
	if (makedev(stx.stx_dev_major, stx.stx_dev_minor) != c->dir.device ||
		(stx.stx_attributes & (STATX_ATTR_MOUNT_ROOT | STATX_ATTR_AUTOMOUNT)) != 0)
		return -EXDEV;
	r = nfs_handle_read(fd, &h);
	return r < 0 ? r : c->server->encode(&h, ret_fh);
}

void change_look_up(struct name_change *c)
{
	_cleanup_close_ int fd = open_name(c);
	int r = fd < 0 ? fd : describe(c, fd, &c->found.attr, &c->found.fh);

	if (r == 0 || r == -ENOENT)
		c->found.error = r;
	else
		name_change_refuse(c, r, REASON_SERVER_DECIDES);
}

/* ---- LIST ---- */

#define NAMES_ROOM   32768 /* bytes of struct dirent64: more than fit into a reply, unless the names are long */
#define ENTRIES_ROOM (BROKER_MAX_LISTED - sizeof(struct broker_header) - sizeof(struct broker_listed))

int change_prepare_list(struct name_change *c, const struct grant_context *g)
{
	const struct broker_list *q = &c->request.list;
	int r = q->plus <= 1 && q->asks_acl <= 1 ? names_directory_to_read(g, &q->cred, 0, &c->cred) : -EINVAL;
	struct statx stx;

	if (r < 0)
		return r;
	c->dir.fd = r;
	r = export_mount_attributes(r, &stx);
	return r < 0 ? r : begin(c, g, &stx, &c->listed.dir);
}

/* The name at *at, which goes on to the next name. */
static const struct dirent64 *next_name(const char *names, size_t *at)
{
	const struct dirent64 *e = (const struct dirent64 *)(const void *)(names + *at);

	*at += e->d_reclen;
	return e;
}

/* False for too many names. Assumes that the handles of the files are as long as that of the directory. */
static bool may_fit(const struct name_change *c, const char *names, size_t size)
{
	uint32_t fh_length = c->request.list.plus != 0 ? c->request.list.dir.length : 0;
	size_t bytes = 0;

	for (size_t at = 0; at < size;) {
		const char *name = next_name(names, &at)->d_name;

		bytes += broker_entry_size(is_dot(name) ? 0 : fh_length, (uint32_t)strlen(name));
	}
	return bytes <= ENTRIES_ROOM;
}

/* Nobody is told the file number of what an export is in. */
static bool is_export_root(const struct name_change *c)
{
	struct stat root;

	return fstat(c->mount->root, &root) < 0 || (root.st_dev == c->dir.device && root.st_ino == c->dir.inode);
}

/*
 * True if the server must list the name. NFS-Ganesha learns the place of a device, FIFO or socket when it lists the
 * directory, and answers no request about the file before that.
 */
static bool is_servers(const struct name_change *c, const struct dirent64 *e)
{
	return change_server_remembers(c) && e->d_type != DT_REG && e->d_type != DT_DIR && e->d_type != DT_LNK;
}

/* True if the file must be looked at: to describe it, or because it may be a mount point or a subvolume. */
static bool is_looked_at(const struct name_change *c, const struct dirent64 *e)
{
	return c->request.list.plus != 0 || (e->d_type != DT_REG && e->d_type != DT_LNK);
}

/* -ENOENT for a file that is gone. With the credential's right to search. */
static int look_at(const struct name_change *c, const struct dirent64 *e, struct broker_entry *ret,
	struct broker_fh *ret_fh)
{
	_cleanup_close_ int fd = names_open(c->dir.fd, e->d_name);
	struct broker_attr attr;
	int r = fd < 0 ? fd : describe(c, fd, &attr, ret_fh);

	if (r < 0 || c->request.list.plus == 0)
		return r;
	if (c->request.list.asks_acl != 0 && S_ISREG(attr.mode))
		attr.flags = access_acl_of_file(fd);
	ret->attr = attr;
	ret->fileid = attr.fileid;
	ret->fh_length = ret_fh->length;
	return 0;
}

/* Adds an entry. 0, or a negative errno: the server must list the directory. */
static int list_name(struct name_change *c, const struct dirent64 *e)
{
	struct broker_fh fh;
	struct broker_entry_ref ref = {.entry = {.cookie = (uint64_t)e->d_off,
					       .fileid = e->d_ino,
					       .name_length = (uint32_t)strlen(e->d_name)},
		.fh = fh.data,
		.name = e->d_name};
	int r = 0;

	if (is_dot(e->d_name)) {
		ref.entry.attr.mode = S_IFDIR;
		if (e->d_name[1] == '.' && is_export_root(c))
			ref.entry.fileid = c->dir.inode;
	} else if (is_servers(c, e)) {
		return -EOPNOTSUPP;
	} else if (is_looked_at(c, e)) {
		r = look_at(c, e, &ref.entry, &fh);
	}
	if (r < 0)
		return r == -ENOENT ? 0 : r;
	c->listed.count++;
	return broker_entry_put(c->entries, ENTRIES_ROOM, &c->entries_used, &ref) ? 0 : -E2BIG;
}

static int list_names(struct name_change *c, const char *names, size_t size)
{
	int r;

	if (!may_fit(c, names, size))
		return -E2BIG;
	c->entries = malloc(ENTRIES_ROOM);
	if (c->entries == NULL)
		return -ENOMEM;
	r = thread_cred_become(&c->cred);
	for (size_t at = 0; r >= 0 && at < size;)
		r = list_name(c, next_name(names, &at));
	thread_cred_restore();
	return r;
}

void change_list(struct name_change *c)
{
	_Alignas(struct dirent64) char names[NAMES_ROOM];
	ssize_t size = names_directory_read(c->dir.fd, names, sizeof(names));
	int r = size < 0 ? (int)size : list_names(c, names, (size_t)size);

	if (r < 0)
		name_change_refuse(c, r, REASON_SERVER_DECIDES);
}
