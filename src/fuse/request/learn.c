/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "fuse/request/learn.h"

#include <sys/stat.h>

#include "fuse/lease/lease.h"
#include "fuse/shortcut/shortcut.h"

/* True if the call changes the request's inodes or their contents. */
static bool call_changes(const struct request *r)
{
	switch (r->call.proc) {
	case NFS_SETATTR:
	case NFS_SETACL:
	case NFS_CREATE:
	case NFS_MKDIR:
	case NFS_SYMLINK:
	case NFS_MKNOD:
	case NFS_REMOVE:
	case NFS_RMDIR:
	case NFS_RENAME:
	case NFS_LINK:
		return nfs_fh_equal(&r->call.fh, &r->inode->fh);
	default:
		return false;
	}
}

/* True if the call may change who may open the file. */
static bool changes_openers(const struct nfs_call *call)
{
	const struct nfs_sattr *a = &call->args.sattr;

	return call->proc == NFS_SETACL || (call->proc == NFS_SETATTR && (a->set_mode || a->set_uid || a->set_gid));
}

static bool two_inodes(const struct request *r)
{
	return r->inode2 && r->inode2 != r->inode;
}

/* The result of known_change_end() for a directory. kept: its known names are still right. */
struct outcome {
	bool kept;
	uint64_t asked;
};

static void learn_name(struct fs *fs, struct inode *dir, const char *name, const struct nfs_fh *fh, struct outcome of,
	bool done)
{
	if (done && of.kept)
		known_name(fs, dir, name, fh, of.asked);
	else
		known_name_forget(fs, dir, name);
}

/* Updates the known names that the answered change has made, removed or moved. */
static void learn_names(struct request *r, struct outcome first, struct outcome second)
{
	struct nfs_call *call = &r->call;
	struct fs *fs = r->fs;
	bool done = call->error == 0;
	struct inode *moved;

	switch (call->proc) {
	case NFS_SETATTR:
	case NFS_SETACL:
		break;
	case NFS_LINK:
		known_links_changed(fs);
		learn_name(fs, r->inode2, call->name, &call->fh, second, done);
		break;
	case NFS_RENAME:
		known_links_changed(fs);
		moved = known_file(fs, r->inode, call->name);
		if (done)
			known_moved(fs, moved, r->inode, r->inode2);
		if (moved)
			known_doubt(moved);
		done = done && moved && r->moves;
		learn_name(fs, r->inode, call->name, NULL, first, done);
		learn_name(fs, r->inode2, call->name2, done ? &moved->fh : NULL, second, done);
		(void)inode_unref(fs->inodes, moved);
		break;
	case NFS_REMOVE:
	case NFS_RMDIR:
		known_links_changed(fs);
		learn_name(fs, r->inode, call->name, NULL, first, done);
		break;
	default:
		learn_name(fs, r->inode, call->name, &call->new_fh, first, done && call->new_fh.len > 0);
		break;
	}
}

static const struct nfs_wcc *wcc_of_inode(const struct nfs_call *call)
{
	return call->proc == NFS_SETATTR || call->proc == NFS_SETACL || call->proc == NFS_LINK ? NULL : &call->dir;
}

/*
 * The server answers ENOENT for the directory of a new name. The directory's own name may lead to another directory by
 * now: ESTALE makes the kernel walk again, and the walk finds that directory or none. NFS-Ganesha answers ENOENT where
 * ESTALE would be right.
 */
static void look_for_directory(struct request *r)
{
	enum nfs_proc proc = r->call.proc;
	bool makes = proc == NFS_CREATE || proc == NFS_MKDIR || proc == NFS_SYMLINK || proc == NFS_MKNOD;

	if (!makes || r->call.error != -ENOENT || (r->fs->leased == 0 && !known_believed(r->fs, r->inode)))
		return;
	known_stale(r->fs);
	r->call.error = -ESTALE;
}

/* Remembers the names that the kernel itself has changed: their notices are no news (lease.h). */
static void learn_own_names(struct request *r)
{
	const struct nfs_call *call = &r->call;
	struct fs *fs = r->fs;
	struct inode *moved, *replaced;

	switch (call->proc) {
	case NFS_SETATTR:
	case NFS_SETACL:
		break;
	case NFS_LINK:
		known_own_name(fs, r->inode2, call->name, &call->fh);
		break;
	case NFS_RENAME:
		moved = known_file(fs, r->inode, call->name);
		replaced = known_file(fs, r->inode2, call->name2);
		if (moved && moved != replaced) { /* RENAME changes nothing if both names are the same file's */
			known_own_name(fs, r->inode, call->name, NULL);
			known_own_name(fs, r->inode2, call->name2, &moved->fh);
		}
		(void)inode_unref(fs->inodes, moved);
		(void)inode_unref(fs->inodes, replaced);
		break;
	case NFS_REMOVE:
	case NFS_RMDIR:
		known_own_name(fs, r->inode, call->name, NULL);
		break;
	default:
		/* No notice comes of a directory that the daemon has made: one of its name and handle is foreign. */
		if (call->born != 0)
			known_name_is_noticed(fs, r->inode, call->name);
		else if (call->new_fh.len > 0)
			known_own_name(fs, r->inode, call->name, &call->new_fh);
		break;
	}
}

/* True if the sidecar has set attributes of a directory. */
static bool has_set_directory(const struct request *r)
{
	const struct nfs_call *call = &r->call;

	return call->proc == NFS_SETATTR && call->error == 0 && call->by_sidecar && call->has_attr &&
	       r->inode->type == S_IFDIR && S_ISDIR(call->attr.mode);
}

static void end_change(struct request *r)
{
	const struct nfs_call *call = &r->call;
	uint64_t asked = r->asked;
	struct outcome first, second;

	if (call->error == 0)
		learn_own_names(r);
	first.kept = false;
	if (has_set_directory(r))
		known_set_end(r->fs, r->inode, &call->attr, asked, &first.asked);
	else
		first.kept = known_change_end(r->fs, r->inode, wcc_of_inode(call), asked, &first.asked);
	second = first;
	if (two_inodes(r))
		second.kept = known_change_end(r->fs, r->inode2, &call->dir2, asked, &second.asked);
	r->asked = first.asked;
	if (call->proc == NFS_SETACL && call->error == 0)
		known_acl(r->fs, r->inode, true, 0, 0);
	learn_names(r, first, second);
	lease_change_ended(r->fs);
}

/* Learns attributes, rights and names from an answer about a directory. */
static void learn(struct request *r)
{
	const struct nfs_call *call = &r->call;
	struct fs *fs = r->fs;

	if (!nfs_fh_equal(&call->fh, &r->inode->fh) || r->inode->type != S_IFDIR)
		return;
	switch (call->proc) {
	case NFS_LOOKUP:
		if (!call->dir.has_after || (call->error < 0 && call->error != -ENOENT))
			break;
		(void)known_attributes_watched(fs, r->inode, &call->dir.after, r->asked, call->watched);
		if (call->no_acl)
			known_no_acl(r->inode, &call->dir.after, r->asked);
		known_rights(fs, r->inode, &call->cred, NFS_ACCESS_LOOKUP, r->asked);
		known_name(fs, r->inode, call->name, call->error == 0 ? &call->new_fh : NULL, r->asked);
		break;
	case NFS_GETATTR:
		if (call->error < 0 || !call->no_acl)
			break;
		(void)known_attributes_watched(fs, r->inode, &call->attr, r->asked, call->watched);
		known_no_acl(r->inode, &call->attr, r->asked);
		break;
	case NFS_ACCESS:
		if (call->error < 0 || !call->has_attr)
			break;
		(void)known_attributes_watched(fs, r->inode, &call->attr, r->asked, call->watched);
		if (call->no_acl)
			known_no_acl(r->inode, &call->attr, r->asked);
		known_rights(fs, r->inode, &call->cred, call->res.access, r->asked);
		break;
	case NFS_READDIR:
	case NFS_READDIRPLUS:
		if (call->error == 0 && call->dir.has_after)
			(void)known_attributes_watched(fs, r->inode, &call->dir.after, r->asked, call->watched);
		break;
	default:
		break;
	}
}

/* A directory that is known whole may have the names that the change makes, whatever its outcome. */
static void note_names(const struct request *r)
{
	const struct nfs_call *call = &r->call;

	switch (call->proc) {
	case NFS_CREATE:
	case NFS_MKDIR:
	case NFS_SYMLINK:
	case NFS_MKNOD:
		known_may_have(r->inode, call->name);
		break;
	case NFS_LINK:
		known_may_have(r->inode2, call->name);
		break;
	case NFS_RENAME:
		known_may_have(r->inode2, call->name2);
		break;
	default:
		break;
	}
}

/*
 * True if the sidecar should begin notices of the directory, and say whether it has an ACL. Not for GETATTR and ACCESS
 * on a mount on which nobody walks: that mount stays without notices, and asleep.
 */
static bool asks_acl(const struct request *r)
{
	bool about = (r->call.proc == NFS_GETATTR || r->call.proc == NFS_ACCESS) && r->inode->type == S_IFDIR &&
		     nfs_fh_equal(&r->call.fh, &r->inode->fh) && r->fs->shortcut &&
		     shortcut_reason(r->fs->shortcut) == REASON_NONE;

	return (r->call.proc == NFS_LOOKUP || about) && known_wants_no_acl(r->fs, r->inode);
}

/*
 * True if a RENAME that is done has moved a name: it changes nothing if both names were the same file's. Other requests
 * of the mount wait for the kernel's locks of the directories.
 */
static bool moves(const struct request *r)
{
	struct inode *moved = NULL, *replaced = NULL;
	bool sure = r->call.proc == NFS_RENAME && known_owner(r->fs, r->inode, r->call.name, &moved) && moved &&
		    known_owner(r->fs, r->inode2, r->call.name2, &replaced) && moved != replaced;

	(void)inode_unref(r->fs->inodes, moved);
	(void)inode_unref(r->fs->inodes, replaced);
	return sure;
}

void learn_from_question(struct request *r)
{
	r->asked = attr_clock();
	r->moves = moves(r);
	r->changes = call_changes(r);
	r->changed = r->changed || r->changes;
	r->call.asks_acl = asks_acl(r);
	if (!r->changes)
		return;
	note_names(r);
	if (changes_openers(&r->call))
		known_openers_change(r->inode);
	known_change_begin(r->inode);
	if (two_inodes(r))
		known_change_begin(r->inode2);
}

void learn_from_making(struct request *r)
{
	end_change(r);
	r->changes = false;
	r->asked = attr_clock();
}

void learn_from_answer(struct request *r)
{
	if (r->call.watched || r->call.born != 0)
		lease_want(r->fs);
	if (r->changes) {
		look_for_directory(r);
		end_change(r);
	} else {
		learn(r);
	}
}
