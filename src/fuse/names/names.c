/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Names: lookup, make, remove, rename, link. */
#include "base/whole_io.h"
#include "fuse/names/handlers.h"
#include "fuse/request/request.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "fuse/acl/default_acl.h"
#include "fuse/known/search_acl.h"
#include "fuse/names/silly.h"
#include "fuse/names/silly_removal.h"
#include "fuse/fs/convert.h"
#include "fuse/local/granted_file.h"
#include "fuse/request/entry.h"
#include "fuse/request/special_file.h"

static struct request *from_call(struct nfs_call *call)
{
	return CONTAINER_OF(call, struct request, call);
}

static void entry_done(struct nfs_call *call)
{
	if (call->error < 0)
		request_end_error(from_call(call), call->error);
	else
		request_find_entry(from_call(call), request_reply_entry);
}

static void lookup_done(struct nfs_call *call)
{
	if (call->error == -ENOENT)
		request_reply_absent(from_call(call));
	else if (call->error < 0)
		request_end_error(from_call(call), call->error);
	else
		request_find_entry(from_call(call), special_file_reply_entry);
}

/*
 * True if a descriptor shows the attributes of the file that is known to have the name. The kernel gets them without a
 * timeout, since nothing tells of local writes.
 */
static bool shows(struct request *r, struct inode *i, struct nfs_attr *ret)
{
	uint64_t asked = attr_clock();

	if (i->type != S_IFREG || !granted_file_look(r->fs, i, ret) || ret->nlink == 0)
		return false;
	(void)known_attributes(r->fs, i, ret, asked);
	return true;
}

static void op_lookup(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	struct request *r = request_new_ids(req, parent, name);
	struct nfs_attr attr;
	struct inode *i;
	uint64_t epoch;
	double seconds;
	int known;

	if (!r)
		return;
	if (!known_groups_matter(r->fs, r->inode, NULL, &r->call.cred, S_IXOTH))
		request_groups_if_needed(r);
	else if (known_current_epoch(r->fs, r->inode, &epoch))
		request_groups(r);
	else
		request_groups_for_sidecar(r); /* what is known of the directory answers nothing */
	known = known_lookup(r->fs, r->inode, name, &r->call.cred, &i, &attr, &seconds);
	if (known == -EAGAIN && i && shows(r, i, &attr)) {
		known = 0;
		seconds = 0;
	}
	if (known == -EAGAIN) {
		(void)inode_unref(r->fs->inodes, i);
		request_send(r, NFS_LOOKUP, lookup_done);
		return;
	}
	r->fs->counters.lookups_known++;
	search_acl_ask(r->fs, r->inode, &r->call.cred);
	if (known < 0)
		request_reply_absent(r);
	else
		request_reply_known(r, i, &attr, seconds);
}

static void op_forget(fuse_req_t req, fuse_ino_t ino, uint64_t nlookup)
{
	struct fs *fs = fuse_req_userdata(req);

	if (ino != FUSE_ROOT_ID)
		inode_table_forget(fs->inodes, fs_inode(fs, ino), nlookup);
	fuse_reply_none(req);
}

static void op_forget_multi(fuse_req_t req, size_t count, struct fuse_forget_data *forgets)
{
	struct fs *fs = fuse_req_userdata(req);

	for (size_t n = 0; n < count; n++)
		if (forgets[n].ino != FUSE_ROOT_ID)
			inode_table_forget(fs->inodes, fs_inode(fs, forgets[n].ino), forgets[n].nlookup);
	fuse_reply_none(req);
}

static void make(fuse_req_t req, fuse_ino_t parent, const char *name, const char *target, enum nfs_proc proc,
	mode_t mode, dev_t rdev)
{
	struct request *r = request_new_change(req, parent, name, target);

	if (!r)
		return;
	r->call.args.sattr.set_mode = proc != NFS_SYMLINK;
	r->call.args.sattr.mode = mode;
	r->call.rdev_major = major(rdev);
	r->call.rdev_minor = minor(rdev);
	default_acl_send(r, proc, entry_done);
}

static void op_mkdir(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode)
{
	make(req, parent, name, NULL, NFS_MKDIR, mode, 0);
}

static void op_symlink(fuse_req_t req, const char *target, fuse_ino_t parent, const char *name)
{
	make(req, parent, name, target, NFS_SYMLINK, 0777, 0);
}

/* mknod(2) of a regular file becomes a CREATE, because NFSv3's MKNOD makes no regular files. */
static void op_mknod(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode, dev_t rdev)
{
	make(req, parent, name, NULL, S_ISREG(mode) ? NFS_CREATE : NFS_MKNOD, mode, rdev);
}

static void op_rmdir(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	silly_remove_directory(req, parent, name);
}

/* A .nfs name that is not there any more has gone with the last close of its file. */
static void remove_done(struct nfs_call *call)
{
	bool gone = call->error == -ENOENT && silly_is_name(from_call(call)->name);

	request_end_error(from_call(call), gone ? 0 : call->error);
}

static void remove_now(struct request *r)
{
	request_send(r, NFS_REMOVE, remove_done);
}

static void op_unlink(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	struct request *r = request_new_change(req, parent, name, NULL);

	if (r)
		silly_remove_name(r, remove_now);
}

static void rename_done(struct nfs_call *call)
{
	if (call->error < 0)
		silly_rename_failed(from_call(call), call->error);
	else
		request_end_error(from_call(call), 0);
}

static void rename_now(struct request *r)
{
	request_send(r, NFS_RENAME, rename_done);
}

static void op_rename(fuse_req_t req, fuse_ino_t parent, const char *name, fuse_ino_t newparent, const char *newname,
	unsigned flags)
{
	struct request *r;

	/*
	 * NFSv3 has neither RENAME_NOREPLACE nor RENAME_EXCHANGE. After ENOSYS the kernel asks for no flags any more,
	 * and fails with EINVAL by itself (fs/fuse/dir.c fuse_rename2): mv(1) tries RENAME_NOREPLACE for each file.
	 */
	if (flags != 0) {
		operation_refuse(req, ENOSYS);
		return;
	}
	r = request_new_change(req, parent, name, newname);
	if (!r)
		return;
	/* What moves to another directory may be a directory, which is written to. */
	if (newparent != parent && r->call.cred.uid != 0)
		request_groups(r);
	request_set_directory2(r, newparent);
	silly_replace_name(r, rename_now);
}

/* The answer to LINK has the file's attributes but not its handle, which is known. */
static void link_done(struct nfs_call *call)
{
	struct request *r = from_call(call);

	if (call->error < 0) {
		request_end_error(r, call->error);
		return;
	}
	call->new_fh = r->inode->fh;
	request_find_entry(r, request_reply_entry);
}

#define READ_AND_WRITE (NFS_ACCESS_READ | NFS_ACCESS_MODIFY | NFS_ACCESS_EXTEND)

static void link_access_done(struct nfs_call *call)
{
	struct request *r = from_call(call);
	bool owner = call->has_attr && call->attr.uid == call->cred.uid;

	if (call->error < 0)
		request_end_error(r, call->error);
	else if ((call->res.access & READ_AND_WRITE) != READ_AND_WRITE && !owner)
		request_end_error(r, -EPERM);
	else
		request_send(r, NFS_LINK, link_done);
}

/* True if fs.protected_hardlinks is on, or cannot be read. */
static bool hard_links_are_protected(void)
{
	char text[16];

	return read_small_file("/proc/sys/fs/protected_hardlinks", text, sizeof(text)) < 1 || text[0] != '0';
}

/*
 * With fs.protected_hardlinks, only the owner of a file, or a caller who may read and write it, may give it another
 * name (fs/namei.c may_linkat). The kernel has checked all other conditions, but leaves this permission to the daemon,
 * and does not ask for it.
 */
static void op_link(fuse_req_t req, fuse_ino_t ino, fuse_ino_t newparent, const char *newname)
{
	struct request *r = request_new_change(req, ino, newname, NULL);

	if (!r)
		return;
	if (r->call.cred.uid != 0)
		request_groups(r);
	request_set_directory2(r, newparent);
	if (r->call.cred.uid == 0 || !hard_links_are_protected()) {
		request_send(r, NFS_LINK, link_done);
		return;
	}
	r->call.args.access.bits = READ_AND_WRITE;
	request_send(r, NFS_ACCESS, link_access_done);
}

static void readlink_done(struct nfs_call *call)
{
	struct request *r = from_call(call);

	if (call->error < 0) {
		request_end_error(r, call->error);
		return;
	}
	request_count(r);
	(void)fuse_reply_readlink(r->req, call->res.target);
	request_end(r);
}

static void op_readlink(fuse_req_t req, fuse_ino_t ino)
{
	struct request *r = request_new_ids(req, ino, NULL);

	if (!r)
		return;
	request_groups_if_needed(r);
	request_send(r, NFS_READLINK, readlink_done);
}

void names_set_operations(struct fuse_lowlevel_ops *ops)
{
	ops->lookup = op_lookup;
	ops->forget = op_forget;
	ops->forget_multi = op_forget_multi;
	ops->mkdir = op_mkdir;
	ops->symlink = op_symlink;
	ops->mknod = op_mknod;
	ops->unlink = op_unlink;
	ops->rmdir = op_rmdir;
	ops->rename = op_rename;
	ops->link = op_link;
	ops->readlink = op_readlink;
}
