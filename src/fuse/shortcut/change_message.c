/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "fuse/shortcut/change.h"

#include <string.h>
#include <sys/stat.h>

#include "fuse/fs/convert.h"
#include "fuse/shortcut/shortcut.h"

#define PERMISSIONS 07777U

/* Copies a text with its NUL; ret is zeroed. False if it is empty or too long. */
static bool copy_text(const char *text, char *ret, size_t size)
{
	size_t length = strlen(text);

	if (length == 0 || length >= size)
		return false;
	memcpy(ret, text, length);
	return true;
}

/* The names become stable by SYNC_DIR, when somebody calls fsync(2), and not before the reply. */
bool change_is_lazy(const struct fs *fs)
{
	return fs->options->commit == COMMIT_FSYNC && !fs_is_sync(fs);
}

static bool sets_only_mode(const struct nfs_sattr *a)
{
	return !a->set_uid && !a->set_gid && !a->set_size && !a->set_atime && !a->set_mtime;
}

/*
 * CREATE is EXCLUSIVE for the sidecar whatever call->exclusive says: the NFS server, too, makes no file that exists
 * already (nfs3_sequences.h).
 */
static bool make_message(const struct nfs_call *call, uint32_t type, struct broker_make *ret)
{
	const struct nfs_sattr *a = &call->args.sattr;

	ret->dir = request_broker_fh(&call->fh);
	ret->cred = broker_cred_of_nfs(call);
	ret->mode = type | (a->mode & PERMISSIONS);
	ret->rdev_major = call->rdev_major;
	ret->rdev_minor = call->rdev_minor;
	if (type == S_IFREG)
		ret->flags |= BROKER_CHANGE_EXCLUSIVE;
	if (type == S_IFREG && call->opening)
		ret->open_flags = call->opening->wants;
	return a->set_mode && sets_only_mode(a) && copy_text(call->name, ret->name, sizeof(ret->name));
}

static bool symlink_message(const struct nfs_call *call, struct broker_symlink *ret)
{
	ret->dir = request_broker_fh(&call->fh);
	ret->cred = broker_cred_of_nfs(call);
	return !call->args.sattr.set_mode && sets_only_mode(&call->args.sattr) &&
	       copy_text(call->name, ret->name, sizeof(ret->name)) &&
	       copy_text(call->name2, ret->target, sizeof(ret->target));
}

static bool remove_message(const struct nfs_call *call, struct broker_remove *ret)
{
	ret->dir = request_broker_fh(&call->fh);
	ret->cred = broker_cred_of_nfs(call);
	if (call->proc == NFS_RMDIR)
		ret->flags |= BROKER_CHANGE_DIRECTORY;
	return copy_text(call->name, ret->name, sizeof(ret->name));
}

static bool rename_message(const struct nfs_call *call, struct broker_rename *ret)
{
	ret->dir = request_broker_fh(&call->fh);
	ret->dir2 = request_broker_fh(&call->fh2);
	ret->cred = broker_cred_of_nfs(call);
	return copy_text(call->name, ret->name, sizeof(ret->name)) &&
	       copy_text(call->name2, ret->name2, sizeof(ret->name2));
}

static bool link_message(const struct nfs_call *call, struct broker_link *ret)
{
	ret->fh = request_broker_fh(&call->fh);
	ret->dir = request_broker_fh(&call->fh2);
	ret->cred = broker_cred_of_nfs(call);
	return copy_text(call->name, ret->name, sizeof(ret->name));
}

static bool setattr_message(const struct nfs_call *call, struct broker_setattr *ret)
{
	const struct nfs_sattr *a = &call->args.sattr;

	ret->fh = request_broker_fh(&call->fh);
	ret->cred = broker_cred_of_nfs(call);
	ret->set = (a->set_mode ? BROKER_SET_MODE : 0) | (a->set_uid ? BROKER_SET_UID : 0) |
		   (a->set_gid ? BROKER_SET_GID : 0);
	if (a->set_atime)
		ret->set |= a->atime_now ? BROKER_SET_ATIME_NOW : BROKER_SET_ATIME;
	if (a->set_mtime)
		ret->set |= a->mtime_now ? BROKER_SET_MTIME_NOW : BROKER_SET_MTIME;
	ret->mode = a->set_mode ? a->mode & PERMISSIONS : 0;
	ret->uid = a->set_uid ? a->uid : 0;
	ret->gid = a->set_gid ? a->gid : 0;
	if (ret->set & BROKER_SET_ATIME) {
		ret->atime_sec = a->atime.tv_sec;
		ret->atime_nsec = (uint32_t)a->atime.tv_nsec;
	}
	if (ret->set & BROKER_SET_MTIME) {
		ret->mtime_sec = a->mtime.tv_sec;
		ret->mtime_nsec = (uint32_t)a->mtime.tv_nsec;
	}
	return ret->set != 0 && !a->set_size;
}

bool change_message(const struct fs *fs, const struct nfs_call *call, struct change_message *ret)
{
	uint32_t flags = change_is_lazy(fs) ? BROKER_CHANGE_LAZY : 0;

	memset(ret, 0, sizeof(*ret));
	switch (call->proc) {
	case NFS_CREATE:
	case NFS_MKDIR:
	case NFS_MKNOD:
		ret->type = BROKER_MAKE;
		ret->length = sizeof(ret->body.make);
		ret->body.make.flags = flags;
		return make_message(call,
			call->proc == NFS_CREATE  ? S_IFREG
			: call->proc == NFS_MKDIR ? S_IFDIR
						  : call->args.sattr.mode & S_IFMT,
			&ret->body.make);
	case NFS_SYMLINK:
		ret->type = BROKER_SYMLINK;
		ret->length = sizeof(ret->body.symlink);
		ret->body.symlink.flags = flags;
		return symlink_message(call, &ret->body.symlink);
	case NFS_REMOVE:
	case NFS_RMDIR:
		ret->type = BROKER_REMOVE;
		ret->length = sizeof(ret->body.remove);
		ret->body.remove.flags = flags;
		return remove_message(call, &ret->body.remove);
	case NFS_RENAME:
		ret->type = BROKER_RENAME;
		ret->length = sizeof(ret->body.rename);
		ret->body.rename.flags = flags;
		return rename_message(call, &ret->body.rename);
	case NFS_LINK:
		ret->type = BROKER_LINK;
		ret->length = sizeof(ret->body.link);
		ret->body.link.flags = flags;
		return link_message(call, &ret->body.link);
	case NFS_SETATTR:
		ret->type = BROKER_SETATTR;
		ret->length = sizeof(ret->body.setattr);
		ret->body.setattr.flags = flags;
		return setattr_message(call, &ret->body.setattr);
	default:
		return false;
	}
}

static void take_wcc(const struct fs *fs, const struct broker_wcc *wcc, struct nfs_wcc *ret)
{
	const struct broker_version *before = &wcc->before;

	*ret = (struct nfs_wcc){.has_before = wcc->has_before, .has_after = wcc->has_after};
	if (ret->has_before) {
		ret->size_before = before->size;
		ret->mtime_before = (struct timespec){before->mtime_sec, before->mtime_nsec};
		ret->ctime_before = (struct timespec){before->ctime_sec, before->ctime_nsec};
	}
	if (!ret->has_after)
		return;
	attr_of_broker(fs, &wcc->after, &ret->after);
	ret->no_acl = (wcc->after.flags & BROKER_ATTR_NO_ACL) != 0;
}

void change_take_made(const struct fs *fs, const struct broker_made *made, struct nfs_call *call)
{
	call->error = made->error;
	take_wcc(fs, &made->dir, &call->dir);
	call->has_attr = made->error == 0;
	call->new_fh.len = 0;
	if (made->error < 0)
		return;
	(void)nfs_fh_of_broker(&made->fh, &call->new_fh);
	attr_of_broker(fs, &made->open.attr, &call->attr);
	call->watched = call->proc == NFS_MKDIR && made->open.watched != 0;
	call->no_acl = (made->open.attr.flags & BROKER_ATTR_NO_ACL) != 0;
	call->empty = (made->open.attr.flags & BROKER_ATTR_EMPTY) != 0;
}

void change_take_changed(const struct fs *fs, const struct broker_changed *changed, struct nfs_call *call)
{
	call->error = changed->error;
	call->has_attr = changed->has_attr && (call->proc == NFS_LINK || call->proc == NFS_SETATTR);
	if (call->has_attr)
		attr_of_broker(fs, &changed->attr, &call->attr);
	take_wcc(fs, &changed->dir, call->proc == NFS_LINK ? &call->dir2 : &call->dir);
	if (call->proc == NFS_RENAME)
		take_wcc(fs, &changed->dir2, &call->dir2);
}
