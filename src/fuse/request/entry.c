/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "fuse/request/entry.h"

#include <string.h>
#include <sys/stat.h>

#include "fuse/fs/file.h"
#include "fuse/local/granted_file.h"
#include "fuse/local/server_refresh.h"
#include "fuse/fs/convert.h"
#include "fuse/shortcut/shortcut.h"

static void entry_step(struct request *r);

static void entry_attr_done(struct nfs_call *call)
{
	struct request *r = CONTAINER_OF(call, struct request, call);

	if (call->error < 0) {
		request_end_error(r, call->error);
		return;
	}
	call->new_fh = r->entry_fh;
	entry_step(r);
}

static void entry_lookup_done(struct nfs_call *call)
{
	struct request *r = CONTAINER_OF(call, struct request, call);

	if (call->error < 0)
		request_end_error(r, call->error);
	else
		entry_step(r);
}

bool request_is_outdated(const struct request *r, struct inode *i)
{
	LOCKED(&i->lock);
	return write_behind_outdates(&i->behind, r->asked);
}

static void on_entry_settled(struct behind_wait *w, int error)
{
	struct request *r = CONTAINER_OF(w, struct request, settled);

	if (error < 0) {
		request_end_error(r, error);
		return;
	}
	r->call.fh = r->entry_fh;
	request_send(r, NFS_GETATTR, entry_attr_done);
}

static void on_entry_looked_at(void *arg)
{
	struct request *r = arg;

	r->call.fh = r->entry_fh;
	request_send(r, NFS_GETATTR, entry_attr_done);
}

static void look_at_entry(struct request *r, struct inode *i)
{
	r->looked = true;
	request_groups(r);
	server_refresh_then(r->fs, i, &r->call.cred, request_patience(r), on_entry_looked_at, r);
}

static void on_local_attributes(struct broker_call *call, int error, const void *body)
{
	struct request *r = CONTAINER_OF(call, struct request, broker);
	const struct broker_open_reply *reply = body;
	struct fs *fs = r->fs;
	struct inode *i;

	if (error == 0 && reply->error == 0 && reply->attr.fileid == r->entry_attr.fileid) {
		attr_of_broker(r->fs, &reply->attr, &r->entry_attr);
		r->then(r);
		return;
	}
	i = inode_table_find(fs->inodes, &r->entry_fh);
	if (i)
		look_at_entry(r, i);
	else
		r->then(r);
	(void)inode_unref(fs->inodes, i);
}

/* True if the daemon has a descriptor of the backing file: entry_attr has the backing file's own attributes then. */
static bool take_own_attributes(struct request *r, struct inode *i)
{
	struct granted_file *granted = granted_file_of(r->fs, i);
	struct nfs_attr attr;
	bool taken = granted && granted_file_attributes(granted, &attr) == 0;

	(void)granted_file_unref(granted);
	if (!taken)
		return false;
	r->entry_attr = attr;
	return true;
}

/*
 * If the server may not know local changes of the file yet, replaces its attributes by those of the backing file. The
 * kernel uses the size in an answer even if it must not cache the attributes: copy_file_range(2) relies on that size
 * (mm/filemap.c generic_copy_file_checks), and the kernel drops cached pages behind it. True if the attributes come
 * later, in a callback.
 */
static bool correct_entry(struct request *r, struct inode *i)
{
	struct broker_open body = {.fh = request_broker_fh(&r->entry_fh), .flags = BROKER_OPEN_ATTR};

	if (r->looked || !server_refresh_needed(r->fs, i) || take_own_attributes(r, i))
		return false;
	if (!request_has_id(r->fs, i)) {
		look_at_entry(r, i);
		return true;
	}
	r->operation.path = OPERATION_BY_SIDECAR;
	r->broker.done = on_local_attributes;
	shortcut_open(r->fs->shortcut, &r->broker, &body);
	return true;
}

/*
 * True if the attributes are not final yet: writes of the file were on their way to the server when it answered, so the
 * request asks again behind these writes; or correct_entry() waits.
 */
static bool settle_entry(struct request *r)
{
	struct fs *fs = r->fs; /* the request may end in correct_entry() or write_behind_settle() */
	struct inode *i = inode_table_find(fs->inodes, &r->entry_fh);
	bool outdated = i && request_is_outdated(r, i);

	if (i && !outdated && correct_entry(r, i)) {
		outdated = true;
	} else if (outdated) {
		r->settled.done = on_entry_settled;
		r->settled.patience = request_patience(r);
		write_behind_settle(&i->behind, &r->settled);
	}
	(void)inode_unref(fs->inodes, i);
	return outdated;
}

/* True if the server's answer may have old attributes. GETATTR is answered after the server has looked. */
static bool is_behind(const struct request *r)
{
	return !r->call.by_sidecar && r->call.proc != NFS_GETATTR &&
	       shortcut_is_behind(r->fs->shortcut, &r->entry_fh, r->asked);
}

static void entry_step(struct request *r)
{
	struct nfs_call *call = &r->call;

	if (call->new_fh.len == 0) {
		request_send(r, NFS_LOOKUP, entry_lookup_done);
		return;
	}
	r->entry_fh = call->new_fh;
	if (!call->has_attr || is_behind(r)) {
		call->fh = r->entry_fh;
		request_send(r, NFS_GETATTR, entry_attr_done);
		return;
	}
	r->entry_attr = call->attr;
	r->looked = r->looked || call->by_sidecar; /* these are the file's own attributes */
	if (!settle_entry(r))
		r->then(r);
}

void request_find_entry(struct request *r, void (*then)(struct request *r))
{
	r->then = then;
	entry_step(r);
}

/* True if the call's attributes are the inode's: of GETATTR, or of the new directory of MKDIR. */
static bool is_of(const struct nfs_call *call, const struct inode *i)
{
	return call->proc == NFS_GETATTR || (call->proc == NFS_MKDIR && nfs_fh_equal(&call->new_fh, &i->fh));
}

double request_tell_attributes(struct request *r, struct inode *i, const struct nfs_attr *attr, struct stat *ret)
{
	double seconds;

	attr_to_stat(&r->fs->namespaces, attr, ret);
	seconds = known_attributes_watched(r->fs, i, attr, r->asked, r->call.watched && is_of(&r->call, i));
	if (i->decoy)
		ret->st_rdev = 0;
	/*
	 * A special file changes with its decoys, and they with it, for example by a rename through one of them. The
	 * kernel takes them for other files, so it asks each time.
	 */
	if (is_special_file(i->type))
		return 0;
	/*
	 * After a notification to forget attributes, the kernel does not cache attributes that it requested before
	 * (fs/fuse/inode.c fuse_change_attributes_i). But it does cache those in the answer to a change
	 * (fs/fuse/dir.c fuse_do_setattr, create_new_entry), so these get a timeout of 0.
	 */
	return r->changed && fs_generation(r->fs) != 0 ? 0 : seconds;
}

bool request_has_id(const struct fs *fs, struct inode *i)
{
	uint64_t generation = fs_generation(fs);

	LOCKED(&i->lock);
	return open_mode_has_id_of(&i->mode, generation);
}

/*
 * An open may have failed with ESTALE to make the kernel walk the path again (open_name.c). Stores for the opener's
 * thread the file that the new walk has found, or that it has found none (NULL).
 */
static void walk_ended(struct request *r, const struct inode *i)
{
	atomic_uint_fast64_t *retry = fs_retry_of(r->fs, fuse_req_ctx(r->req)->pid);

	if (*retry != 0 && (!i || i->type == S_IFREG))
		*retry = i ? i->generation : 0;
}

/*
 * True if link(2) depends on bits of the mode that the next write takes away. The kernel lets no stranger link a file
 * with set-id bits (fs/namei.c safe_hardlink_source), goes by the mode from the last answer, and does not ask before.
 */
static bool has_set_id(const struct stat *st)
{
	return S_ISREG(st->st_mode) && (st->st_mode & (S_ISUID | S_ISGID)) != 0;
}

/*
 * The kernel walks a cached name for every caller without a question, but only the server knows who may search the
 * directory (ACLs, squash). So the kernel may cache a name only if everybody may search the directory. It may not cache
 * the name of a special file, because each caller needs an answer of its own (special_file.h), nor that of a file with
 * set-id bits. ret->attr is filled in.
 */
static void fill_entry(struct request *r, struct inode *i, struct fuse_entry_param *ret)
{
	struct fs *fs = r->fs;

	if (!is_special_file(i->type) && !has_set_id(&ret->attr))
		ret->entry_timeout = known_entry_seconds(fs, r->inode2 ? r->inode2 : r->inode, i);
	ret->ino = i->number;
	ret->generation = i->generation;
	inode_table_looked_up(fs->inodes, i);
	walk_ended(r, i);
}

/*
 * Fills in the attributes of a name. The server's attributes of a file with an id may be older than the file, so the
 * kernel must not believe them, unless a listing has found that they are not; but they do not take back attributes that
 * it believes already.
 */
static void fill_attributes(struct request *r, struct inode *i, struct fuse_entry_param *ret)
{
	bool held = request_has_id(r->fs, i);
	struct nfs_attr attr;

	if (held && !r->changed && known_tell_again(r->fs, i, &r->entry_attr, &attr, &ret->attr_timeout)) {
		attr_to_stat(&r->fs->namespaces, &attr, &ret->attr);
		return;
	}
	ret->attr_timeout = request_tell_attributes(r, i, &r->entry_attr, &ret->attr);
	if (held && !r->listed)
		ret->attr_timeout = 0;
}

int request_make_entry(struct request *r, const char *name, struct fuse_entry_param *ret, struct inode **ret_inode)
{
	struct inode *i;
	int error = r->decoy ? inode_table_get_decoy(r->fs->inodes, &r->entry_fh, &r->entry_attr, r->call.cred.uid, &i)
			     : inode_table_get(r->fs->inodes, &r->entry_fh, &r->entry_attr, &i);

	if (error < 0)
		return error;
	memset(ret, 0, sizeof(*ret));
	fill_attributes(r, i, ret);
	known_named(r->fs, i, r->inode2 ? r->inode2 : r->inode, name, &r->entry_attr.ctime);
	if (r->call.proc == NFS_MKDIR && nfs_fh_equal(&r->call.new_fh, &i->fh))
		known_new_directory(r->fs, i, &r->call, r->asked);
	/* The kernel must ask with GETATTR, whose handler makes the server look at the file. */
	if (server_refresh_needed(r->fs, i)) {
		known_doubt(i);
		ret->attr_timeout = 0;
	}
	fill_entry(r, i, ret);
	*ret_inode = i;
	return 0;
}

static void reply_entry(struct request *r, struct inode *i, const struct fuse_entry_param *entry)
{
	request_count(r);
	if (fuse_reply_entry(r->req, entry) < 0)
		inode_table_forget(r->fs->inodes, i, 1);
	(void)inode_unref(r->fs->inodes, i);
	request_end(r);
}

void request_reply_absent(struct request *r)
{
	struct fuse_entry_param entry = {.entry_timeout = known_absence_seconds(r->fs, r->inode)};

	walk_ended(r, NULL);
	r->operation.error = ENOENT;
	request_count(r);
	if (entry.entry_timeout > 0)
		(void)fuse_reply_entry(r->req, &entry);
	else
		(void)fuse_reply_err(r->req, ENOENT);
	request_end(r);
}

void request_reply_known(struct request *r, struct inode *i, const struct nfs_attr *attr, double seconds)
{
	struct fuse_entry_param entry = {.attr_timeout = seconds};

	attr_to_stat(&r->fs->namespaces, attr, &entry.attr);
	known_named(r->fs, i, r->inode, r->name, NULL);
	fill_entry(r, i, &entry);
	reply_entry(r, i, &entry);
}

void request_reply_entry(struct request *r)
{
	struct fuse_entry_param entry;
	struct inode *i;
	int error = request_make_entry(r, r->name, &entry, &i);

	if (error < 0)
		request_end_error(r, error);
	else
		reply_entry(r, i, &entry);
}
