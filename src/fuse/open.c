/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * open, create, release: who may, and which path the bytes will take.
 *
 * May it succeed? What NFSv3 ACCESS says for the opener's credential, told by the sidecar while the
 * mount is local and by the server otherwise. Which path? The inode's open_mode knows; choosing,
 * counting and replying happen under the inode's lock.
 */
#include "fuse/request.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "fuse/file.h"
#include "fuse/silly.h"
#include "log.h"

#define FMODE_EXEC_FLAG 0x20 /* __FMODE_EXEC: execve opens; the kernel passes it in OPEN's flags */

struct open_request {
	struct request r;
	struct broker_call broker;
	struct commit_wait wait;
	struct fuse_file_info fi;
	struct fuse_entry_param entry; /* CREATE */
	struct file *file;
	bool create;  /* the request is CREATE, answered with entry and open */
	bool created; /* this very open made the file: it may be opened whatever its mode */
	bool exclusive;
	bool exec;
	struct open_wish wish;
};

static struct open_request *from_call(struct nfs_call *call)
{
	return CONTAINER_OF(call, struct open_request, r.call);
}

/* Takes back what a CREATE counted, and ends the request. */
static void end_open(struct open_request *o, int error)
{
	if (o->entry.ino != 0)
		inode_table_forget(o->r.fs->inodes, o->r.inode, 1);
	free(o->file);
	request_end_error(&o->r, error);
}

/* ACCESS bits to errno; fs/nfs/dir.c nfs_open_permission_mask: an exec open asks only for that. */
static int permission(const struct open_request *o, uint32_t access)
{
	int mode = o->fi.flags & O_ACCMODE;

	if (o->created)
		return 0;
	if (o->exec)
		return access & NFS_ACCESS_EXECUTE ? 0 : -EACCES;
	if (mode != O_WRONLY && !(access & NFS_ACCESS_READ))
		return -EACCES;
	if (mode != O_RDONLY && (access & (NFS_ACCESS_MODIFY | NFS_ACCESS_EXTEND)) !=
					 (NFS_ACCESS_MODIFY | NFS_ACCESS_EXTEND))
		return -EACCES;
	return 0;
}

static int reply_open(struct open_request *o)
{
	return o->create ? fuse_reply_create(o->r.req, &o->entry, &o->fi)
			 : fuse_reply_open(o->r.req, &o->fi);
}

static void set_path(struct open_request *o, enum open_path path)
{
	struct inode *i = o->r.inode;
	bool registered = path == OPEN_PATH_PASSTHROUGH || path == OPEN_PATH_PASSTHROUGH_DIRECT;

	o->file->path = path;
	o->fi.fh = (uintptr_t)o->file;
	o->fi.backing_id = registered ? i->mode.backing_id : 0;
	o->fi.direct_io = path != OPEN_PATH_CACHED && path != OPEN_PATH_PASSTHROUGH;
	o->fi.keep_cache = 0;
}

/* With the inode's lock: an id without open files waits for the next open. */
static void mode_changed(struct fs *fs, struct inode *i)
{
	if (i->mode.backing_id > 0 && open_mode_registered(&i->mode) == 0)
		backing_ids_idle(fs->ids, i);
	else
		backing_ids_busy(fs->ids, i);
}

/* The decision is made: chooses, counts and replies as one step. */
static void finish_open(struct open_request *o)
{
	struct fs *fs = o->r.fs;
	struct inode *i = o->r.inode;
	int path, useless, sent = 0;

	o->file->inode = inode_ref(i);
	o->file->errors_seen = write_log_errors(&i->writes);
	{
		LOCKED(&i->lock);
		/* A WRITE that started since, or a REVOKE: this open cannot be the first local one. */
		if (o->wish.generation != 0 &&
			(o->wish.generation != probe_generation(fs->probe) ||
				(open_mode_registered(&i->mode) == 0 && write_log_dirty(&i->writes))))
			o->wish.generation = 0;
		path = open_mode_choose(&i->mode, &o->wish);
		useless = o->wish.granted_id;
		if (path >= 0) {
			fs->open_files++;
			useless = open_mode_count(&i->mode, &o->wish, (enum open_path)path);
			set_path(o, (enum open_path)path);
			sent = reply_open(o);
			o->r.req = NULL;
			if (sent < 0) {
				(void)open_mode_uncount(&i->mode, (enum open_path)path);
				fs->open_files--;
			}
			mode_changed(fs, i);
		}
	}
	backing_ids_close(fs->ids, useless);
	if (path >= 0 && sent == 0) {
		fs->counters.opens[path]++;
		o->file = NULL; /* RELEASE frees it */
		o->entry.ino = 0;
		request_end(&o->r);
		return;
	}
	if (path < 0) {
		/* The walk is repeated with revalidation and finds a fresh inode. */
		inode_table_retire(fs->inodes, i);
		fs->counters.opens_retired++;
	}
	(void)inode_unref(fs->inodes, i);
	end_open(o, path < 0 ? path : sent);
}

static void access_done(struct nfs_call *call)
{
	struct open_request *o = from_call(call);
	int error = call->error < 0 ? call->error : permission(o, call->res.access);

	if (error < 0)
		end_open(o, error);
	else
		finish_open(o);
}

static void open_remote(struct open_request *o)
{
	o->wish.generation = 0;
	o->wish.granted_id = 0;
	if (o->created) {
		finish_open(o);
		return;
	}
	o->r.call.fh = o->r.inode->fh;
	o->r.call.args.access.bits = NFS_ACCESS_READ | NFS_ACCESS_MODIFY | NFS_ACCESS_EXTEND |
				     NFS_ACCESS_EXECUTE;
	request_send(&o->r, NFS_ACCESS, access_done);
}

static void granted(struct broker_call *call, int error, const void *body)
{
	struct open_request *o = CONTAINER_OF(call, struct open_request, broker);
	const struct broker_open_reply *reply = body;
	struct fs *fs = o->r.fs;

	if (error < 0) {
		open_remote(o);
		return;
	}
	if (reply->backing_id > 0)
		backing_ids_registered(fs->ids);
	if (reply->error == 0 && (reply->attr.fileid != o->r.inode->fileid ||
					(reply->attr.mode & S_IFMT) != o->r.inode->type)) {
		log_warning("the sidecar has another file than the server under a handle of %s", fs->spec);
		backing_ids_close(fs->ids, reply->backing_id);
		fs->counters.last_denial = REASON_WRONG_EXPORT;
		fs->counters.grants_denied++;
		open_remote(o);
		return;
	}
	/* What the sidecar cannot decide, the server does. */
	if (reply->error < 0) {
		fs->counters.last_denial = reply->reason;
		fs->counters.grants_denied++;
		open_remote(o);
		return;
	}
	error = permission(o, reply->access);
	if (error < 0) {
		backing_ids_close(fs->ids, reply->backing_id);
		end_open(o, error);
		return;
	}
	if (reply->reason != REASON_NONE) {
		fs->counters.last_denial = reply->reason;
		fs->counters.grants_denied++;
	}
	o->wish.granted_id = MAX(reply->backing_id, 0);
	o->wish.granted_writable = reply->writable;
	finish_open(o);
}

/* Whether a fresh id could be of use to this open. */
static bool wants_id(struct open_request *o)
{
	struct inode *i = o->r.inode;

	LOCKED(&i->lock);
	if (open_mode_registered(&i->mode) > 0 || open_mode_cached(&i->mode))
		return false;
	return i->mode.backing_id == 0 || i->mode.generation != o->wish.generation ||
	       (o->wish.write && !i->mode.writable);
}

static void open_local(struct open_request *o)
{
	const struct inode *i = o->r.inode;
	struct broker_open body = {.fh = {.length = i->fh.len},
		.cred = {.uid = o->r.call.cred.uid,
			.gid = o->r.call.cred.gid,
			.ngroups = o->r.call.cred.ngroups}};

	memcpy(body.fh.data, i->fh.data, i->fh.len);
	for (uint32_t n = 0; n < body.cred.ngroups; n++)
		body.cred.groups[n] = o->r.call.cred.groups[n];
	if (wants_id(o))
		body.flags |= BROKER_OPEN_WANT_ID;
	o->broker.done = granted;
	probe_send(o->r.fs->probe, &o->broker, BROKER_OPEN, &body, sizeof(body));
}

static void open_committed(struct commit_wait *w, int error)
{
	struct open_request *o = CONTAINER_OF(w, struct open_request, wait);

	/* Data that cannot be made stable must not be overtaken by local writes. */
	if (error < 0)
		open_remote(o);
	else
		open_local(o);
}

/* The inode is known: opens it. */
static void start_open(struct open_request *o)
{
	struct fs *fs = o->r.fs;
	struct inode *i = o->r.inode;

	o->file = calloc(1, sizeof(*o->file));
	if (!o->file) {
		end_open(o, -ENOMEM);
		return;
	}
	o->file->cred = o->r.call.cred;
	o->file->write = (o->fi.flags & O_ACCMODE) != O_RDONLY;
	o->file->append = o->file->write && (o->fi.flags & O_APPEND);
	o->exec = o->fi.flags & FMODE_EXEC_FLAG;
	o->wish.read = (o->fi.flags & O_ACCMODE) != O_WRONLY;
	o->wish.write = o->file->write;
	o->wish.append = o->file->append;
	o->wish.generation = fs->probe ? probe_generation(fs->probe) : 0;
	if (o->wish.generation == 0 || !S_ISREG(i->type)) {
		open_remote(o);
		return;
	}
	/* Before an open is answered as local, every WRITE of the file is answered and stable. */
	if (write_log_dirty(&i->writes)) {
		o->wait.done = open_committed;
		write_log_commit(&i->writes, fs->transport, &i->fh, &o->file->cred, &o->wait);
		return;
	}
	open_local(o);
}

static struct open_request *open_request_new(
	fuse_req_t req, fuse_ino_t ino, const char *name, const struct fuse_file_info *fi)
{
	struct open_request *o = calloc(1, sizeof(*o));

	if (!o) {
		(void)fuse_reply_err(req, ENOMEM);
		return NULL;
	}
	o->fi = *fi;
	return request_init(&o->r, req, ino, name, NULL) < 0 ? NULL : o;
}

static void op_open(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	struct open_request *o = open_request_new(req, ino, NULL, fi);

	if (o)
		start_open(o);
}

/* The file that was created or found: its inode takes the directory's place in the request. */
static void create_found(struct request *r)
{
	struct open_request *o = CONTAINER_OF(r, struct open_request, r);
	struct inode *i;
	int error = request_make_entry(r, &o->entry, &i);

	if (error < 0) {
		request_end_error(r, error);
		return;
	}
	(void)inode_unref(r->fs->inodes, r->inode);
	r->inode = i;
	if (!S_ISREG(i->type)) {
		end_open(o, -ESTALE); /* something else took the name: the walk is repeated */
		return;
	}
	start_open(o);
}

static void existing_looked_up(struct nfs_call *call)
{
	struct open_request *o = from_call(call);

	if (call->error < 0)
		request_end_error(&o->r, call->error);
	else
		request_find_entry(&o->r, create_found);
}

static void create_done(struct nfs_call *call)
{
	struct open_request *o = from_call(call);

	/* Somebody made it meanwhile, and the caller does not mind: then it is a plain open. */
	if (call->error == -EEXIST && !o->exclusive) {
		/* But the kernel does not truncate after CREATE: let it walk again and find the file. */
		if (o->fi.flags & O_TRUNC) {
			request_end_error(&o->r, -ESTALE);
			return;
		}
		request_send(&o->r, NFS_LOOKUP, existing_looked_up);
		return;
	}
	if (call->error < 0) {
		request_end_error(&o->r, call->error);
		return;
	}
	o->created = true;
	request_find_entry(&o->r, create_found);
}

/* GUARDED, so that it is certain whether this open made the file. */
static void op_create(
	fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode, struct fuse_file_info *fi)
{
	struct open_request *o = open_request_new(req, parent, name, fi);

	if (!o)
		return;
	o->create = true;
	o->exclusive = fi->flags & O_EXCL;
	o->r.call.how = NFS_GUARDED;
	o->r.call.args.sattr.set_mode = true;
	o->r.call.args.sattr.mode = mode;
	request_send(&o->r, NFS_CREATE, create_done);
}

/* Pages of a mapping come after the last FLUSH: nobody else would have them committed. */
struct last_commit {
	struct commit_wait wait;
	struct fs *fs;
	struct inode *inode;
};

static void last_committed(struct commit_wait *w, int error)
{
	struct last_commit *l = CONTAINER_OF(w, struct last_commit, wait);

	/* -ENOTCONN: the mount ends, and the server has the data and will write it. */
	if (error < 0 && error != -ENOTCONN)
		log_warning("data written through a mapping of a file of %s was lost: %s", l->fs->spec,
			strerror(-error));
	(void)inode_unref(l->fs->inodes, l->inode);
	free(l);
}

static void commit_rest(struct fs *fs, struct inode *i, const struct nfs_cred *cred)
{
	struct last_commit *l;

	if (!write_log_dirty(&i->writes))
		return;
	l = calloc(1, sizeof(*l));
	if (!l)
		return;
	l->wait.done = last_committed;
	l->fs = fs;
	l->inode = inode_ref(i);
	write_log_commit(&i->writes, fs->transport, &i->fh, cred, &l->wait);
}

static void op_release(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	struct fs *fs = fuse_req_userdata(req);
	struct file *f = file_of(fi);
	struct inode *i = f->inode;
	int close_id = 0;
	bool last;

	{
		LOCKED(&i->lock);
		/* An id of an ended session is no good for the next open. */
		if (open_mode_uncount(&i->mode, f->path) &&
			i->mode.generation != (fs->probe ? probe_generation(fs->probe) : 0))
			close_id = open_mode_take_id(&i->mode);
		mode_changed(fs, i);
		last = open_mode_total(&i->mode) == 0;
	}
	fs->open_files--;
	backing_ids_close(fs->ids, close_id);
	backing_ids_trim(fs->ids);
	if (f->write)
		commit_rest(fs, i, &f->cred);
	if (last)
		silly_last_close(fs, i);
	(void)inode_unref(fs->inodes, i);
	free(f);
	(void)fuse_reply_err(req, 0);
}

void open_set_operations(struct fuse_lowlevel_ops *ops)
{
	ops->open = op_open;
	ops->create = op_create;
	ops->release = op_release;
}
