/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Attributes: getattr, setattr, access, statfs. */
#include "fuse/names/handlers.h"
#include "fuse/request/request.h"

#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "fuse/fs/file.h"
#include "fuse/fs/open_hold.h"
#include "fuse/local/granted_file.h"
#include "fuse/local/server_refresh.h"
#include "fuse/local/inode_writes.h"
#include "fuse/paths/path_request.h"
#include "fuse/fs/convert.h"
#include "fuse/request/entry.h"
#include "fuse/shortcut/shortcut.h"

struct setattr_request {
	struct path_truncate p; /* also without a new size */
	struct stable_wait wait;
};

struct getattr_request {
	struct request r;
	struct behind_wait wait;
	struct broker_call broker;
};

static struct request *from_call(struct nfs_call *call)
{
	return CONTAINER_OF(call, struct request, call);
}

/*
 * True if the file has lost its last name, and no process has it open here. Only its backing id still makes the handle
 * lead to it, for which the sidecar keeps the file open: without the id the server's answer would be ESTALE, after
 * which the kernel walks the path again. Otherwise touch(1) by a name that the kernel believes would succeed, and make
 * no file. An open counts until its RELEASE has come, for which close(2) does not wait. The kernel opens other files
 * than regular ones without asking the daemon.
 */
static bool is_gone(struct inode *i, const struct nfs_attr *attr)
{
	if (attr->nlink > 0 || !S_ISREG(attr->mode))
		return false;
	LOCKED(&i->lock);
	return !inode_is_open(i);
}

/* Replies with the attributes of the answer, or asks for them if the answer has none. */
static void attr_done(struct nfs_call *call)
{
	struct request *r = from_call(call);
	struct stat st;
	double timeout;

	if (call->error < 0) {
		request_end_error(r, call->error);
		return;
	}
	if (!call->has_attr) {
		request_send(r, NFS_GETATTR, attr_done);
		return;
	}
	/* With another type the kernel would mark the inode bad for ever, even the root's. */
	if ((call->attr.mode & S_IFMT) != r->inode->type || is_gone(r->inode, &call->attr)) {
		request_end_error(r, -ESTALE);
		return;
	}
	timeout = request_tell_attributes(r, r->inode, &call->attr, &st);
	request_count(r);
	(void)fuse_reply_attr(r->req, &st, timeout);
	request_end(r);
}

static void ask_for_attributes(void *arg)
{
	request_send(arg, NFS_GETATTR, attr_done);
}

/* Sends GETATTR, after the server has looked at local changes of the file that it may not know (server_refresh.h). */
static void ask_server_for_attributes(struct request *r)
{
	if (server_refresh_needed(r->fs, r->inode))
		request_groups(r);
	server_refresh_then(r->fs, r->inode, &r->call.cred, request_patience(r), ask_for_attributes, r);
}

/* If the sidecar has no attributes of the file, asks the server. */
static void local_attr_done(struct broker_call *call, int error, const void *body)
{
	struct request *r = &CONTAINER_OF(call, struct getattr_request, broker)->r;
	const struct broker_open_reply *reply = body;

	if (error < 0 || reply->error < 0 || reply->attr.fileid != r->inode->fileid) {
		ask_server_for_attributes(r);
		return;
	}
	r->call.error = 0;
	r->call.has_attr = true;
	attr_of_broker(r->fs, &reply->attr, &r->call.attr);
	attr_done(&r->call);
}

/*
 * True if the daemon has a descriptor of the backing file: the call has the backing file's attributes then. The kernel
 * asks after each read, because a read may change the time of access. A directory that has changed is the sidecar's to
 * tell of, which sends the notices of its names.
 */
static bool know_attributes(struct request *r)
{
	r->asked = attr_clock();
	if (!granted_file_look(r->fs, r->inode, &r->call.attr) ||
		(r->inode->type == S_IFDIR && !known_is_version(r->inode, &r->call.attr)))
		return false;
	r->call.error = 0;
	r->call.has_attr = true;
	return true;
}

static void on_getattr_settled(struct behind_wait *w, int error)
{
	struct getattr_request *g = CONTAINER_OF(w, struct getattr_request, wait);
	struct request *r = &g->r;
	struct broker_open body = {.fh = request_broker_fh(&r->inode->fh), .flags = BROKER_OPEN_ATTR};

	if (error < 0) {
		request_end_error(r, error);
		return;
	}
	if (know_attributes(r)) {
		attr_done(&r->call);
		return;
	}
	if (!request_has_id(r->fs, r->inode)) {
		ask_server_for_attributes(r);
		return;
	}
	r->asked = attr_clock();
	r->operation.path = OPERATION_BY_SIDECAR;
	g->broker.done = local_attr_done;
	shortcut_open(r->fs->shortcut, &g->broker, &body);
}

/* Waits for the writes that came before, so that the answer has their size and times. */
static void op_getattr(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	struct getattr_request *g = calloc(1, sizeof(*g));

	if (!g) {
		operation_refuse(req, ENOMEM);
		return;
	}
	request_init_ids(&g->r, req, ino);
	request_groups_if_needed(&g->r);
	g->wait.done = on_getattr_settled;
	g->wait.patience = request_patience(&g->r);
	write_behind_settle(&g->r.inode->behind, &g->wait);
}

/* nfstime3 has 32 bits without a sign. Returns the nearest time that it can represent, as the kernel's client does. */
static struct timespec nfs_time(struct timespec t)
{
	if (t.tv_sec < 0)
		return (struct timespec){0};
	if (t.tv_sec > (time_t)UINT32_MAX)
		return (struct timespec){.tv_sec = UINT32_MAX};
	return t;
}

static void fill_sattr(const struct namespaces *n, struct nfs_sattr *s, const struct stat *attr, int to_set)
{
	memset(s, 0, sizeof(*s));
	s->set_mode = to_set & FUSE_SET_ATTR_MODE;
	s->mode = attr->st_mode;
	s->set_uid = to_set & FUSE_SET_ATTR_UID;
	s->uid = namespaces_uid_to_server(n, attr->st_uid);
	s->set_gid = to_set & FUSE_SET_ATTR_GID;
	s->gid = namespaces_gid_to_server(n, attr->st_gid);
	s->set_size = to_set & FUSE_SET_ATTR_SIZE;
	s->size = (uint64_t)attr->st_size;
	s->set_atime = to_set & (FUSE_SET_ATTR_ATIME | FUSE_SET_ATTR_ATIME_NOW);
	s->atime_now = to_set & FUSE_SET_ATTR_ATIME_NOW;
	s->atime = nfs_time(attr->st_atim);
	s->set_mtime = to_set & (FUSE_SET_ATTR_MTIME | FUSE_SET_ATTR_MTIME_NOW);
	s->mtime_now = to_set & FUSE_SET_ATTR_MTIME_NOW;
	s->mtime = nfs_time(attr->st_mtim);
}

/*
 * True if the server's answer may depend on the caller's groups, unless it is a refusal. Only the owner, or root, may
 * change the mode and set times to other values than now; the groups decide only on the set-group-ID bit
 * (fs/attr.c setattr_prepare). A writer may set the times to now, and the owner may give the file to one of his groups.
 */
static bool groups_decide(const struct nfs_sattr *a)
{
	return a->set_size || a->set_uid || a->set_gid || (a->set_mode && a->mode & S_ISGID) ||
	       (a->set_atime && a->atime_now) || (a->set_mtime && a->mtime_now);
}

static bool sets_only_size(const struct nfs_sattr *a)
{
	return a->set_size && !a->set_mode && !a->set_uid && !a->set_gid && !a->set_atime && !a->set_mtime;
}

/* The path of a new size. The server sets all other attributes. */
static const struct data_path *path_of(const struct setattr_request *s)
{
	const struct request *r = &s->p.r;

	return sets_only_size(&s->p.sattr) ? data_path_choose(r->fs, r->inode, NULL, DATA_TRUNCATE).path : &by_server;
}

/*
 * The writes that came before are answered: sets the attributes now. The error of a failed write is reported to the
 * opens of the file, and the write is not sent again.
 */
static void send_setattr(struct setattr_request *s, int error)
{
	struct request *r = &s->p.r;

	if (error == -EINTR || error == -ENOMEM) {
		request_end_error(r, error);
		return;
	}
	if (s->p.sattr.set_size) {
		/* Where the server was asked already, it also truncates. */
		(s->p.allowed ? &by_server : path_of(s))->truncate(&s->p);
		return;
	}
	r->call.args.sattr = s->p.sattr;
	request_send(r, NFS_SETATTR, attr_done);
}

static void on_setattr_settled(struct behind_wait *w, int error)
{
	struct stable_wait *stable = CONTAINER_OF(w, struct stable_wait, behind);

	send_setattr(CONTAINER_OF(stable, struct setattr_request, wait), error);
}

static void on_setattr_committed(struct stable_wait *w, int error)
{
	send_setattr(CONTAINER_OF(w, struct setattr_request, wait), error);
}

static void start_setattr(struct setattr_request *s)
{
	const struct nfs_sattr *a = &s->p.sattr;
	struct request *r = &s->p.r;

	/*
	 * Commits all writes first. A write that a restarted server has lost must not be sent again after the
	 * truncation, and the new mode or owner must not forbid a WRITE or COMMIT.
	 */
	if ((a->set_size || a->set_mode || a->set_uid || a->set_gid) && write_log_dirty(&r->inode->writes)) {
		request_groups(r);
		s->wait.done = on_setattr_committed;
		s->wait.patience = request_patience(r);
		inode_writes_commit(r->fs, r->inode, &r->call.cred, &s->wait);
		return;
	}
	/* A write that came before must not change the times afterwards. */
	s->wait.behind.done = on_setattr_settled;
	s->wait.behind.patience = request_patience(r);
	write_behind_settle(&r->inode->behind, &s->wait.behind);
}

static void restart_setattr(struct path_truncate *p)
{
	start_setattr(CONTAINER_OF(p, struct setattr_request, p));
}

static void op_setattr(fuse_req_t req, fuse_ino_t ino, struct stat *attr, int to_set, struct fuse_file_info *fi)
{
	struct setattr_request *s = calloc(1, sizeof(*s));
	struct request *r;

	if (!s) {
		operation_refuse(req, ENOMEM);
		return;
	}
	r = &s->p.r;
	if (fi)
		request_init_open(r, req, ino, &file_of(fuse_req_userdata(req), fi)->as);
	else
		request_init_ids(r, req, ino);
	s->p.by_open = fi != NULL;
	s->p.restart = restart_setattr;
	s->p.done = attr_done;
	fill_sattr(&r->fs->namespaces, &s->p.sattr, attr, to_set);
	if (!groups_decide(&s->p.sattr))
		request_groups_if_needed(r);
	else if (r->call.cred.uid == 0 && !s->p.sattr.set_size)
		request_groups_for_sidecar(r);
	else
		request_groups(r);
	if (s->p.sattr.set_size && !fi && path_of(s) == &by_server)
		by_server.truncate(&s->p);
	else
		start_setattr(s);
}

static void access_done(struct nfs_call *call)
{
	struct request *r = from_call(call);
	int error = call->error;

	if (error == 0 && (call->res.access & call->args.access.bits) != call->args.access.bits)
		error = -EACCES;
	request_end_error(r, error);
}

/* Returns the ACCESS bits for a mask of R_OK, W_OK, X_OK; fs/nfs/dir.c nfs_access_calc_mask. */
static uint32_t access_bits(uint32_t type, int mask)
{
	uint32_t bits = 0;

	if (mask & R_OK)
		bits |= NFS_ACCESS_READ;
	if (mask & W_OK)
		bits |= NFS_ACCESS_MODIFY | NFS_ACCESS_EXTEND | (S_ISDIR(type) ? NFS_ACCESS_DELETE : 0);
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
		request_send(r, NFS_GETATTR, access_done); /* F_OK: the file must exist */
	else if (known_allowed(r->fs, r->inode, &r->call.cred, r->call.args.access.bits))
		request_end_error(r, 0);
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
	request_count(r);
	(void)fuse_reply_statfs(r->req, &st);
	request_end(r);
}

static void op_statfs(fuse_req_t req, fuse_ino_t ino)
{
	struct request *r = request_new_ids(req, ino == 0 ? FUSE_ROOT_ID : ino, NULL);

	if (!r)
		return;
	request_groups_if_needed(r);
	request_send(r, NFS_FSSTAT, statfs_done);
}

void attributes_set_operations(struct fuse_lowlevel_ops *ops)
{
	ops->getattr = op_getattr;
	ops->setattr = op_setattr;
	ops->access = op_access;
	ops->statfs = op_statfs;
}
