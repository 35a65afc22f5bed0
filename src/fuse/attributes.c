/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Attributes: getattr, setattr, access, statfs. */
#include "fuse/request.h"

#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "fuse/file.h"

struct setattr_request {
	struct request r;
	struct commit_wait wait;
};

static struct request *from_call(struct nfs_call *call)
{
	return CONTAINER_OF(call, struct request, call);
}

/* Replies with the attributes that came; asks for them when they did not. */
static void attr_done(struct nfs_call *call)
{
	struct request *r = from_call(call);
	struct stat st;

	if (call->error < 0) {
		request_end_error(r, call->error);
		return;
	}
	if (!call->has_attr) {
		request_send(r, NFS_GETATTR, attr_done);
		return;
	}
	attr_to_stat(&call->attr, &st);
	(void)fuse_reply_attr(r->req, &st, attr_timeout(r->fs, r->inode->type));
	request_end(r);
}

static void op_getattr(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	struct request *r = request_new(req, ino, NULL, NULL);

	if (r)
		request_send(r, NFS_GETATTR, attr_done);
}

static void fill_sattr(struct nfs_sattr *s, const struct stat *attr, int to_set)
{
	memset(s, 0, sizeof(*s));
	s->set_mode = to_set & FUSE_SET_ATTR_MODE;
	s->mode = attr->st_mode;
	s->set_uid = to_set & FUSE_SET_ATTR_UID;
	s->uid = attr->st_uid;
	s->set_gid = to_set & FUSE_SET_ATTR_GID;
	s->gid = attr->st_gid;
	s->set_size = to_set & FUSE_SET_ATTR_SIZE;
	s->size = (uint64_t)attr->st_size;
	s->set_atime = to_set & (FUSE_SET_ATTR_ATIME | FUSE_SET_ATTR_ATIME_NOW);
	s->atime_now = to_set & FUSE_SET_ATTR_ATIME_NOW;
	s->atime = attr->st_atim;
	s->set_mtime = to_set & (FUSE_SET_ATTR_MTIME | FUSE_SET_ATTR_MTIME_NOW);
	s->mtime_now = to_set & FUSE_SET_ATTR_MTIME_NOW;
	s->mtime = attr->st_mtim;
}

static void setattr_committed(struct commit_wait *w, int error)
{
	struct setattr_request *s = CONTAINER_OF(w, struct setattr_request, wait);

	if (error < 0)
		request_end_error(&s->r, error);
	else
		request_send(&s->r, NFS_SETATTR, attr_done);
}

static void op_setattr(
	fuse_req_t req, fuse_ino_t ino, struct stat *attr, int to_set, struct fuse_file_info *fi)
{
	struct setattr_request *s = calloc(1, sizeof(*s));
	struct request *r;

	if (!s) {
		(void)fuse_reply_err(req, ENOMEM);
		return;
	}
	r = &s->r;
	if (request_init(r, req, ino, NULL, NULL) < 0)
		return;
	if (fi) /* ftruncate: the right is the open's */
		r->call.cred = file_of(fi)->cred;
	fill_sattr(&r->call.args.sattr, attr, to_set);
	/* A write that a restarted server lost must not be sent again after the truncation. */
	if (r->call.args.sattr.set_size && write_log_dirty(&r->inode->writes)) {
		s->wait.done = setattr_committed;
		write_log_commit(
			&r->inode->writes, r->fs->transport, &r->inode->fh, &r->call.cred, &s->wait);
		return;
	}
	request_send(r, NFS_SETATTR, attr_done);
}

static void access_done(struct nfs_call *call)
{
	struct request *r = from_call(call);
	int error = call->error;

	if (error == 0 && (call->res.access & call->args.access.bits) != call->args.access.bits)
		error = -EACCES;
	request_end_error(r, error);
}

/* Which ACCESS bits a mask of R_OK, W_OK, X_OK stands for; fs/nfs/dir.c nfs_access_calc_mask. */
static uint32_t access_bits(uint32_t type, int mask)
{
	uint32_t bits = 0;

	if (mask & R_OK)
		bits |= NFS_ACCESS_READ;
	if (mask & W_OK)
		bits |= NFS_ACCESS_MODIFY | NFS_ACCESS_EXTEND |
			(S_ISDIR(type) ? NFS_ACCESS_DELETE : 0);
	if (mask & X_OK)
		bits |= S_ISDIR(type) ? NFS_ACCESS_LOOKUP : NFS_ACCESS_EXECUTE;
	return bits;
}

static void op_access(fuse_req_t req, fuse_ino_t ino, int mask)
{
	struct request *r = request_new(req, ino, NULL, NULL);

	if (!r)
		return;
	r->call.args.access.bits = access_bits(r->inode->type, mask);
	if (r->call.args.access.bits == 0)
		request_send(r, NFS_GETATTR, access_done); /* F_OK: the file must be there */
	else
		request_send(r, NFS_ACCESS, access_done);
}

static void statfs_done(struct nfs_call *call)
{
	struct request *r = from_call(call);
	struct statvfs st = {.f_bsize = 4096, .f_frsize = 4096, .f_namemax = NFS_NAME_MAX};

	if (call->error < 0) {
		request_end_error(r, call->error);
		return;
	}
	st.f_blocks = call->res.fsstat.tbytes / st.f_frsize;
	st.f_bfree = call->res.fsstat.fbytes / st.f_frsize;
	st.f_bavail = call->res.fsstat.abytes / st.f_frsize;
	st.f_files = call->res.fsstat.tfiles;
	st.f_ffree = call->res.fsstat.ffiles;
	st.f_favail = call->res.fsstat.afiles;
	st.f_fsid = r->fs->fsid;
	(void)fuse_reply_statfs(r->req, &st);
	request_end(r);
}

static void op_statfs(fuse_req_t req, fuse_ino_t ino)
{
	struct request *r = request_new(req, ino == 0 ? FUSE_ROOT_ID : ino, NULL, NULL);

	if (r)
		request_send(r, NFS_FSSTAT, statfs_done);
}

void attributes_set_operations(struct fuse_lowlevel_ops *ops)
{
	ops->getattr = op_getattr;
	ops->setattr = op_setattr;
	ops->access = op_access;
	ops->statfs = op_statfs;
}
