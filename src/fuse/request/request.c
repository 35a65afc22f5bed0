/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "fuse/request/request.h"

#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "fuse/fs/open_hold.h"
#include "fuse/kernel/caller.h"
#include "fuse/fs/file.h"
#include "fuse/local/granted_file.h"
#include "fuse/known/search_acl.h"
#include "fuse/local/server_refresh.h"
#include "fuse/request/special_file.h"

#define UNKNOWN_PATIENCE_MS 2000 /* for a caller with a signal of which nobody knows what it is */

static void set_inode(struct request *r, fuse_req_t req, fuse_ino_t ino)
{
	r->fs = fuse_req_userdata(req);
	r->req = req;
	r->asked = attr_clock();
	r->inode = inode_ref(fs_inode(r->fs, ino));
	r->call.fh = r->inode->fh;
}

void request_init_open(struct request *r, fuse_req_t req, fuse_ino_t ino, const struct nfs_cred *cred)
{
	set_inode(r, req, ino);
	r->call.cred = *cred;
}

void request_init_file(struct request *r, fuse_req_t req, fuse_ino_t ino, const struct file *f)
{
	request_init_open(r, req, ino, &f->cred);
	if (!f->has_groups)
		request_groups(r);
}

void request_init_ids(struct request *r, fuse_req_t req, fuse_ino_t ino)
{
	const struct fuse_ctx *ctx = fuse_req_ctx(req);

	request_init_open(r, req, ino, &(struct nfs_cred){.uid = ctx->uid, .gid = ctx->gid});
}

void request_groups(struct request *r)
{
	struct nfs_cred *cred = &r->call.cred;
	int n = caller_groups(fuse_req_ctx(r->req)->pid, cred->groups, NFS_GROUPS_MAX);

	if (n < 0)
		r->fs->counters.groups_unknown++;
	else
		cred->ngroups = (uint32_t)n;
}

int request_init(struct request *r, fuse_req_t req, fuse_ino_t ino, const char *name, const char *name2)
{
	request_init_ids(r, req, ino);
	r->name = name ? strdup(name) : NULL;
	r->name2 = name2 ? strdup(name2) : NULL;
	if ((name && !r->name) || (name2 && !r->name2)) {
		request_end_error(r, -ENOMEM);
		return -ENOMEM;
	}
	r->call.name = r->name;
	r->call.name2 = r->name2;
	request_groups(r);
	return 0;
}

struct request *request_new(fuse_req_t req, fuse_ino_t ino, const char *name, const char *name2)
{
	struct request *r = calloc(1, sizeof(*r));

	if (!r) {
		(void)fuse_reply_err(req, ENOMEM);
		return NULL;
	}
	return request_init(r, req, ino, name, name2) < 0 ? NULL : r;
}

bool request_given_up(struct request *r)
{
	enum caller_state state;

	/*
	 * Signals first: /proc is asked only for who had one, where one would be told. Over io_uring the kernel
	 * tells of none that came before the request (fs/fuse/dev_uring.c fuse_uring_prepare_send).
	 */
	if (!r->req || (!r->unannounced && !fuse_req_is_uring(r->req) && !fuse_req_interrupted(r->req)))
		return false;
	state = caller_state(fuse_req_ctx(r->req)->pid);
	if (state == CALLER_UNKNOWN && fuse_req_interrupted(r->req)) {
		if (r->unknown_since == 0)
			r->unknown_since = now_ms();
		return now_ms() - r->unknown_since >= UNKNOWN_PATIENCE_MS;
	}
	return state == CALLER_KILLED || (state == CALLER_EXITING && r->unannounced);
}

static bool patience_given_up(void *arg)
{
	return request_given_up(arg);
}

struct patience request_patience(struct request *r)
{
	return (struct patience){.given_up = patience_given_up, .arg = r};
}

static bool call_given_up(struct nfs_call *call)
{
	struct request *r = CONTAINER_OF(call, struct request, call);

	if (r->removing)
		held_opens_given_up(r->removing);
	return request_given_up(r);
}

void request_set_directory2(struct request *r, fuse_ino_t dir)
{
	r->inode2 = inode_ref(fs_inode(r->fs, dir));
	r->call.fh2 = r->inode2->fh;
}

/* Whether the call changes the request's inodes, or what is in them. */
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

static bool changes_openers(const struct nfs_call *call)
{
	const struct nfs_sattr *a = &call->args.sattr;

	return call->proc == NFS_SETACL || (call->proc == NFS_SETATTR && (a->set_mode || a->set_uid || a->set_gid));
}

static bool two_inodes(const struct request *r)
{
	return r->inode2 && r->inode2 != r->inode;
}

/* What is known of a directory's names after a change of ours: kept, asked as known_change_end() says. */
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

/* The names that the change was about, after it was answered, in the request's inodes. */
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
		(void)inode_unref(fs->inodes, moved);
		/* Both stay as they are when they were the same file. */
		known_name_forget(fs, r->inode, call->name);
		known_name_forget(fs, r->inode2, call->name2);
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
 * A directory that is not there may be another one by now under the name that led to it: the kernel
 * walks again, and finds that or nothing. Ganesha says so of a handle that should be stale.
 */
static void look_for_directory(struct request *r)
{
	enum nfs_proc proc = r->call.proc;
	bool makes = proc == NFS_CREATE || proc == NFS_MKDIR || proc == NFS_SYMLINK || proc == NFS_MKNOD;

	if (!makes || r->call.error != -ENOENT || !known_believed(r->fs, r->inode))
		return;
	known_stale(r->fs);
	r->call.error = -ESTALE;
}

static void end_change(struct request *r)
{
	const struct nfs_call *call = &r->call;
	uint64_t asked = r->asked;
	struct outcome first, second;

	first.kept = known_change_end(r->fs, r->inode, wcc_of_inode(call), asked, &first.asked);
	second = first;
	if (two_inodes(r))
		second.kept = known_change_end(r->fs, r->inode2, &call->dir2, asked, &second.asked);
	r->asked = first.asked;
	if (call->proc == NFS_SETACL && call->error == 0)
		known_acl(r->fs, r->inode, true, 0, 0);
	learn_names(r, first, second);
}

/* What the answer says of directories. */
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
		(void)known_attributes(fs, r->inode, &call->dir.after, r->asked);
		known_rights(fs, r->inode, &call->cred, NFS_ACCESS_LOOKUP, r->asked);
		known_name(fs, r->inode, call->name, call->error == 0 ? &call->new_fh : NULL, r->asked);
		break;
	case NFS_ACCESS:
		if (call->error < 0 || !call->has_attr)
			break;
		(void)known_attributes(fs, r->inode, &call->attr, r->asked);
		known_rights(fs, r->inode, &call->cred, call->res.access, r->asked);
		break;
	case NFS_READDIR:
	case NFS_READDIRPLUS:
		if (call->error == 0 && call->dir.has_after)
			(void)known_attributes(fs, r->inode, &call->dir.after, r->asked);
		break;
	default:
		break;
	}
}

static void call_answered(struct nfs_call *call)
{
	struct request *r = CONTAINER_OF(call, struct request, call);

	if (r->changes) {
		look_for_directory(r);
		end_change(r);
	} else {
		learn(r);
	}
	search_acl_ask(r->fs, r->inode, &call->cred);
	r->answered(call);
}

void request_send(struct request *r, enum nfs_proc proc, void (*done)(struct nfs_call *call))
{
	r->call.proc = proc;
	r->call.done = call_answered;
	r->call.given_up = call_given_up;
	r->call.dir.has_after = r->call.dir2.has_after = false;
	r->answered = done;
	r->asked = attr_clock();
	r->changes = call_changes(r);
	r->changed = r->changed || r->changes;
	if (r->changes) {
		if (changes_openers(&r->call))
			known_openers_change(r->inode);
		known_change_begin(r->inode);
		if (two_inodes(r))
			known_change_begin(r->inode2);
	}
	transport_submit(r->fs->transport, &r->call);
}

void request_end(struct request *r)
{
	removal_ended(r->fs, &r->removing);
	(void)inode_unref(r->fs->inodes, r->inode);
	(void)inode_unref(r->fs->inodes, r->inode2);
	(void)inode_unref(r->fs->inodes, r->replaced);
	free(r->name);
	free(r->name2);
	free(r);
}

void request_end_error(struct request *r, int error)
{
	if (r->req)
		(void)fuse_reply_err(r->req, -error);
	request_end(r);
}

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

static void entry_settled(struct behind_wait *w, int error)
{
	struct request *r = CONTAINER_OF(w, struct request, settled);

	if (error < 0) {
		request_end_error(r, error);
		return;
	}
	r->call.fh = r->entry_fh;
	request_send(r, NFS_GETATTR, entry_attr_done);
}

static void entry_looked_at(void *arg)
{
	struct request *r = arg;

	r->call.fh = r->entry_fh;
	request_send(r, NFS_GETATTR, entry_attr_done);
}

static void look_at_entry(struct request *r, struct inode *i)
{
	r->looked = true;
	server_refresh_then(r->fs, i, &r->call.cred, request_patience(r), entry_looked_at, r);
}

static void entry_told(struct broker_call *call, int error, const void *body)
{
	struct request *r = CONTAINER_OF(call, struct request, broker);
	const struct broker_open_reply *reply = body;
	struct fs *fs = r->fs;
	struct inode *i;

	if (error == 0 && reply->error == 0 && reply->attr.fileid == r->entry_attr.fileid) {
		request_attr_of_broker(r, &reply->attr, &r->entry_attr);
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

/* What the backing file says of itself, where there is a descriptor of it. */
static bool take_own_attributes(struct request *r, struct inode *i)
{
	struct granted_file *granted = granted_file_of(r->fs, i);
	struct nfs_attr attr;
	bool taken = granted && granted_file_attributes(granted, &attr) == 0;

	(void)granted_file_unref(granted);
	if (!taken)
		return false;
	attr.fsid = r->fs->fsid;
	r->entry_attr = attr;
	return true;
}

/*
 * The server does not know yet what was changed past it: the entry is told with the attributes that the file has. The
 * kernel takes a size also where it is not to believe it: copy_file_range(2) goes by it (mm/filemap.c
 * generic_copy_file_checks), and cached pages behind it are dropped. True if that takes time.
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
	r->broker.done = entry_told;
	probe_send(r->fs->probe, &r->broker, BROKER_OPEN, &body, sizeof(body));
	return true;
}

/* Writes of the file were on their way to the server while it was asked: asks again behind them. */
static bool settle_entry(struct request *r)
{
	struct fs *fs = r->fs; /* the request may end meanwhile */
	struct inode *i = inode_table_find(fs->inodes, &r->entry_fh);
	bool outdated = i && request_is_outdated(r, i);

	if (i && !outdated && correct_entry(r, i)) {
		outdated = true;
	} else if (outdated) {
		r->settled.done = entry_settled;
		r->settled.patience = request_patience(r);
		write_behind_settle(i, &r->settled);
	}
	(void)inode_unref(fs->inodes, i);
	return outdated;
}

static void entry_step(struct request *r)
{
	struct nfs_call *call = &r->call;

	if (call->new_fh.len == 0) {
		request_send(r, NFS_LOOKUP, entry_lookup_done);
		return;
	}
	r->entry_fh = call->new_fh;
	if (!call->has_attr) {
		call->fh = r->entry_fh;
		request_send(r, NFS_GETATTR, entry_attr_done);
		return;
	}
	r->entry_attr = call->attr;
	if (!settle_entry(r))
		r->then(r);
}

void request_find_entry(struct request *r, void (*then)(struct request *r))
{
	r->then = then;
	entry_step(r);
}

struct broker_fh request_broker_fh(const struct nfs_fh *fh)
{
	struct broker_fh b = {.length = fh->len};

	memcpy(b.data, fh->data, fh->len);
	return b;
}

struct broker_cred request_broker_cred(const struct nfs_cred *cred)
{
	struct broker_cred b = {.uid = cred->uid, .gid = cred->gid, .ngroups = cred->ngroups};

	for (uint32_t n = 0; n < b.ngroups; n++)
		b.groups[n] = cred->groups[n];
	return b;
}

void request_attr_of_broker(const struct request *r, const struct broker_attr *attr, struct nfs_attr *ret)
{
	*ret = (struct nfs_attr){.mode = attr->mode,
		.nlink = attr->nlink,
		.uid = attr->uid,
		.gid = attr->gid,
		.size = attr->size,
		.used = attr->used,
		.fsid = r->fs->fsid,
		.fileid = attr->fileid,
		.rdev_major = attr->rdev_major,
		.rdev_minor = attr->rdev_minor,
		.atime = {attr->atime_sec, attr->atime_nsec},
		.mtime = {attr->mtime_sec, attr->mtime_nsec},
		.ctime = {attr->ctime_sec, attr->ctime_nsec}};
}

static void attr_to_stat(const struct nfs_attr *attr, struct stat *ret)
{
	memset(ret, 0, sizeof(*ret));
	ret->st_ino = attr->fileid;
	ret->st_mode = attr->mode;
	ret->st_nlink = attr->nlink;
	ret->st_uid = attr->uid;
	ret->st_gid = attr->gid;
	ret->st_size = (off_t)attr->size;
	ret->st_blocks = (blkcnt_t)((attr->used + 511) / 512);
	ret->st_blksize = 4096;
	ret->st_rdev = makedev(attr->rdev_major, attr->rdev_minor);
	ret->st_atim = attr->atime;
	ret->st_mtim = attr->mtime;
	ret->st_ctim = attr->ctime;
}

double request_tell_attributes(struct request *r, struct inode *i, const struct nfs_attr *attr, struct stat *ret)
{
	double seconds;

	attr_to_stat(attr, ret);
	seconds = known_attributes(r->fs, i, attr, r->asked);
	if (i->decoy) {
		/* Nobody would tell the kernel of a change that was made by the true one. */
		ret->st_rdev = 0;
		return 0;
	}
	/*
	 * Attributes that the kernel asked for before it is told to forget some it does not believe (fs/fuse/inode.c
	 * fuse_change_attributes_i), but those that answer a change it does (fs/fuse/dir.c fuse_do_setattr,
	 * create_new_entry).
	 */
	return r->changed && fs_generation(r->fs) != 0 ? 0 : seconds;
}

bool request_has_id(const struct fs *fs, struct inode *i)
{
	uint64_t generation = fs_generation(fs);

	LOCKED(&i->lock);
	return open_mode_has_id_of(&i->mode, generation);
}

/* Who was sent to walk again by an open has found this file, which that open may have; or none (NULL). */
static void walk_ended(struct request *r, const struct inode *i)
{
	atomic_uint_fast64_t *retry = fs_retry_of(r->fs, fuse_req_ctx(r->req)->pid);

	if (*retry != 0 && (!i || i->type == S_IFREG))
		*retry = i ? i->generation : 0;
}

/*
 * The kernel walks a name that it believes without asking, and only the server knows (ACLs, squash)
 * who may: it believes none but where everybody may. And none of a special file: whom it leads where is for each
 * caller to be asked.
 */
static void fill_entry(struct request *r, struct inode *i, struct fuse_entry_param *ret)
{
	struct fs *fs = r->fs;

	if (!is_special_file(i->type))
		ret->entry_timeout = known_entry_seconds(fs, r->inode2 ? r->inode2 : r->inode, i);
	ret->ino = fs_ino(fs, i);
	ret->generation = i->generation;
	inode_table_looked_up(fs->inodes, i);
	walk_ended(r, i);
}

int request_make_entry(struct request *r, const char *name, struct fuse_entry_param *ret, struct inode **ret_inode)
{
	struct inode *i;
	int error = r->decoy ? inode_table_get_decoy(r->fs->inodes, &r->entry_fh, &r->entry_attr, r->call.cred.uid, &i)
			     : inode_table_get(r->fs->inodes, &r->entry_fh, &r->entry_attr, &i);

	if (error < 0)
		return error;
	memset(ret, 0, sizeof(*ret));
	ret->attr_timeout = request_tell_attributes(r, i, &r->entry_attr, &ret->attr);
	if (request_has_id(r->fs, i))
		ret->attr_timeout = 0;
	known_named(r->fs, i, r->inode2 ? r->inode2 : r->inode, name, &r->entry_attr.ctime);
	/* GETATTR is what makes the server look. */
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
	if (fuse_reply_entry(r->req, entry) < 0)
		inode_table_forget(r->fs->inodes, i, 1);
	(void)inode_unref(r->fs->inodes, i);
	request_end(r);
}

void request_reply_absent(struct request *r)
{
	struct fuse_entry_param entry = {.entry_timeout = known_absence_seconds(r->fs, r->inode)};

	walk_ended(r, NULL);
	if (entry.entry_timeout > 0)
		(void)fuse_reply_entry(r->req, &entry);
	else
		(void)fuse_reply_err(r->req, ENOENT);
	request_end(r);
}

void request_reply_known(struct request *r, struct inode *i, const struct nfs_attr *attr, double seconds)
{
	struct fuse_entry_param entry = {.attr_timeout = seconds};

	attr_to_stat(attr, &entry.attr);
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
