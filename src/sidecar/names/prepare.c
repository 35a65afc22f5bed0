/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sidecar/names/change_parts.h"

#include <sys/stat.h>

#include "base/util.h"
#include "setattr/setattr.h"

/* True if the name is plain, and the protocol knows all flags. */
static bool is_known(const char *name, size_t room, uint32_t flags)
{
	return names_is_plain(name, room) && names_are_flags(flags);
}

int change_squash(struct name_change *c, const struct grant_context *g, const struct broker_cred *asked)
{
	enum reason reason;

	return grant_squash_untold(g, asked, &c->cred, &c->lacks_groups, &reason);
}

/* The first directory, with the squashed credential. */
static int open_directory(struct name_change *c, const struct grant_context *g, const struct broker_cred *asked)
{
	int r = change_squash(c, g, asked);

	return r < 0 ? r : names_directory_open(g, &c->cred, c->noticed, &c->dir);
}

static int prepare_make(struct name_change *c, const struct grant_context *g)
{
	const struct broker_make *q = &c->request.make;

	/* Ganesha and the kernel's server differ in what they do with set-id bits and the sticky bit. */
	if (!is_known(q->name, sizeof(q->name), q->flags) || (q->mode & ~(uint32_t)(S_IFMT | 0777)) != 0)
		return -EINVAL;
	return open_directory(c, g, &q->cred);
}

static int prepare_symlink(struct name_change *c, const struct grant_context *g)
{
	const struct broker_symlink *q = &c->request.symlink;

	if (!is_known(q->name, sizeof(q->name), q->flags) || !names_is_text(q->target, sizeof(q->target)))
		return -EINVAL;
	return open_directory(c, g, &q->cred);
}

static int prepare_remove(struct name_change *c, const struct grant_context *g)
{
	const struct broker_remove *q = &c->request.remove;

	return is_known(q->name, sizeof(q->name), q->flags) ? open_directory(c, g, &q->cred) : -EINVAL;
}

static int prepare_rename(struct name_change *c, const struct grant_context *g, const struct grant_context *g2)
{
	const struct broker_rename *q = &c->request.rename;
	bool known = is_known(q->name, sizeof(q->name), q->flags) && names_is_plain(q->name2, sizeof(q->name2));
	int r = known ? open_directory(c, g, &q->cred) : -EINVAL;

	if (r >= 0 && !nfs_handle_is_same_file(&g->at->handle, &g2->at->handle))
		r = names_directory_open(g2, &c->cred, c->noticed2, &c->dir2);
	/* One directory has one state before the change, and one after it. */
	if (r >= 0 && c->dir.inode == c->dir2.inode && c->dir.device == c->dir2.device)
		names_directory_close(&c->dir2);
	return r;
}

/*
 * Opens the file at g->at, unless the session has given its own descriptor, of a file that still has a name. A device,
 * FIFO, socket or symbolic link has no descriptor by which its attributes could be made stable: then the server must do
 * it.
 */
static int open_file(struct name_change *c, const struct grant_context *g, struct statx *ret_stx)
{
	struct broker_attr attr;
	int r = c->file >= 0 ? grant_attributes(c->file, ret_stx, &attr) : -ENOENT;

	if (r < 0 || attr.nlink == 0) {
		close_fdp(&c->file);
		r = c->file = export_mount_file(g->at->mount, &g->at->handle);
		if (r >= 0)
			r = grant_attributes(c->file, ret_stx, &attr);
	}
	return r >= 0 && c->stable && !S_ISREG(attr.mode) && !S_ISDIR(attr.mode) ? -EOPNOTSUPP : r;
}

static int prepare_link(struct name_change *c, const struct grant_context *g, const struct grant_context *g2)
{
	const struct broker_link *q = &c->request.link;
	struct statx stx;
	int r = is_known(q->name, sizeof(q->name), q->flags) ? open_directory(c, g, &q->cred) : -EINVAL;

	return r < 0 ? r : open_file(c, g2, &stx);
}

/*
 * True if NFS-Ganesha has a rule of its own: it squashes the new owner and group, too (squash_setattr() in
 * src/support/nfs_creds.c), and sets a file to the present time only by its mode, also for the owner.
 */
static bool has_own_rule(const struct grant_context *g, const struct broker_setattr *q, const struct broker_cred *cred,
	const struct access_file *file)
{
	bool squashes = g->at->perms.squash != SQUASH_NONE;
	bool roots = ((q->set & BROKER_SET_UID) != 0 && q->uid == 0) || ((q->set & BROKER_SET_GID) != 0 && q->gid == 0);
	bool owner = (q->set & (BROKER_SET_UID | BROKER_SET_GID)) != 0;
	bool present = (q->set & (BROKER_SET_ATIME_NOW | BROKER_SET_MTIME_NOW)) != 0;

	if (g->server->process == NULL)
		return false;
	if (squashes && (roots || (owner && g->at->perms.squash == SQUASH_ALL)))
		return true;
	return present && (g->server->access(file, cred, true) & NFS_ACCESS_MODIFY) == 0;
}

uint32_t name_change_may_set(const struct grant_context *g)
{
	uint32_t present = BROKER_SET_ATIME_NOW | BROKER_SET_MTIME_NOW, owner = BROKER_SET_UID | BROKER_SET_GID;
	uint32_t set = BROKER_SET_MODE | BROKER_SET_ATIME | BROKER_SET_MTIME;

	if (!g->at->perms.write)
		return 0;
	if (g->server->process == NULL) /* see has_own_rule() */
		return set | owner | present;
	return g->at->perms.squash == SQUASH_NONE ? set | owner : set;
}

uint32_t name_change_may_name(const struct grant_context *g, const struct broker_attr *dir,
	const struct broker_cred *cred)
{
	return g->at->perms.write && dir->uid == cred->uid ? BROKER_SET_NAMES | BROKER_SET_MKDIR : 0;
}

static int prepare_setattr(struct name_change *c, const struct grant_context *g)
{
	const struct broker_setattr *q = &c->request.setattr;
	struct access_file file;
	struct statx stx;
	bool known = names_are_flags(q->flags) && setattr_is_whole(q);
	int r = known ? change_squash(c, g, &q->cred) : -EOPNOTSUPP;

	if (r >= 0 && !g->at->perms.write)
		r = -EROFS;
	if (r >= 0)
		r = open_file(c, g, &stx);
	/* The servers have rules of their own for set-id bits, and Ganesha for symbolic links. */
	if (r >= 0 && (!setattr_leaves_set_id(q, stx.stx_mode) || S_ISLNK(stx.stx_mode)))
		r = -EOPNOTSUPP;
	if (r < 0)
		return r;
	file = (struct access_file){.fd = c->file, .mode = stx.stx_mode, .uid = stx.stx_uid, .gid = stx.stx_gid};
	return has_own_rule(g, q, &c->cred, &file) ? -EOPNOTSUPP : r;
}

static int prepare(struct name_change *c)
{
	const struct grant_context g = {.server = c->server, .at = &c->at, .fuse_fd = -1};
	const struct grant_context g2 = {.server = c->server, .at = &c->at2, .fuse_fd = -1};

	switch (c->type) {
	case BROKER_MAKE:
		return prepare_make(c, &g);
	case BROKER_SYMLINK:
		return prepare_symlink(c, &g);
	case BROKER_REMOVE:
		return prepare_remove(c, &g);
	case BROKER_RENAME:
		return prepare_rename(c, &g, &g2);
	case BROKER_LINK:
		return prepare_link(c, &g, &g2);
	case BROKER_SETATTR:
		return prepare_setattr(c, &g);
	case BROKER_LIST:
		return change_prepare_list(c, &g);
	default:
		return change_prepare_lookup(c, &g);
	}
}

/* True if the credential uses names as the owner of the directory, which groups can neither allow nor forbid. */
static bool owner_decides(const struct name_change *c)
{
	bool changes = c->type == BROKER_MAKE || c->type == BROKER_SYMLINK || c->type == BROKER_REMOVE ||
		       (c->type == BROKER_RENAME && c->dir2.fd < 0);
	mode_t rights = S_IXUSR | (changes ? S_IWUSR : 0);

	return (changes || c->type == BROKER_LOOKUP) && c->dir.uid == c->cred.uid && (c->dir.mode & rights) == rights;
}

bool name_change_prepare(struct name_change *c)
{
	int r = prepare(c);

	if (r >= 0 && c->lacks_groups && !owner_decides(c))
		r = -EACCES;
	if (r < 0)
		name_change_refuse(c, r, c->lacks_groups ? REASON_GROUPS : REASON_SERVER_DECIDES);
	return r >= 0;
}
