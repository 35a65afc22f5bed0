/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Extended attributes: the two of POSIX ACLs, if the server has NFSACL. There are no others, because NFSv3 has none.
 * The server decides about access, and the daemon stores no ACLs. It only remembers that a file has none, for as long
 * as the file's attributes are believed, since ls -l and cp -a ask about each file. Of a file that it has made the
 * daemon itself sees that, if the sidecar trusts it (granted_file_has_no_acl()).
 *
 * The mount does not use FUSE_POSIX_ACL, which would let the kernel decide by ACLs. Without this flag the kernel passes
 * the ACL attributes to the daemon (fs/fuse/acl.c fuse_no_acl), but only in mounts of the initial user namespace. The
 * kernel also asks for security.capability, at each exec and at times before a write; the daemon answers this without
 * the server.
 *
 * If the server has no NFSACL, or stores no ACLs (NFS-Ganesha answers without entries), the answer is ENOSYS, which
 * ends the kernel's questions.
 */
#include "fuse/acl/acl.h"
#include "fuse/request/request.h"

#include <string.h>
#include <sys/stat.h>

#include "fuse/acl/default_acl.h"
#include "fuse/local/granted_file.h"
#include "fuse/kernel/posix_acl.h"

static const char *const acl_names[] = {"system.posix_acl_access", "system.posix_acl_default"};

enum acl_kind {
	ACL_KIND_ACCESS,
	ACL_KIND_DEFAULT,
	ACL_KIND_NONE, /* another attribute */
};

struct get_request {
	struct request r;
	enum acl_kind kind; /* NONE: the list of names */
	size_t size;        /* of the caller's buffer; 0: only how large it must be */
};

struct set_request {
	struct request r;
	enum acl_kind kind;
	struct behind_wait wait;
	struct posix_acl acls[2]; /* the new one and the other, by kind */
	struct nfs_ace entries[2][NFS_ACL_MAX + 1];
};

/*
 * True if the request was answered with ENOSYS, because the server has no ACLs. The kernel remembers ENOSYS and never
 * asks again: callers get EOPNOTSUPP from then on, or ENODATA when they read an ACL.
 */
static bool answered_enosys(fuse_req_t req)
{
	struct fs *fs = fuse_req_userdata(req);

	fs->counters.requests_xattr++;
	if (!fs->has_acls)
		operation_refuse(req, ENOSYS);
	return !fs->has_acls;
}

static enum acl_kind kind_of(const char *name)
{
	for (int kind = 0; kind < ACL_KIND_NONE; kind++)
		if (strcmp(acl_names[kind], name) == 0)
			return (enum acl_kind)kind;
	return ACL_KIND_NONE;
}

static void ask(struct request *r, bool access, bool dflt, void (*done)(struct nfs_call *call))
{
	r->call.args.acl = (struct nfs_acls){.mask = (access ? NFS_ACL_ACCESS | NFS_ACL_ACCESS_COUNT : 0U) |
						     (dflt ? NFS_ACL_DEFAULT | NFS_ACL_DEFAULT_COUNT : 0U)};
	request_send(r, NFS_GETACL, done);
}

/* Takes one of the two ACLs from the server's answer. An access ACL that says no more than the mode counts as none. */
static int take(const struct nfs_acls *from, enum acl_kind kind, struct posix_acl *ret)
{
	int error = kind == ACL_KIND_ACCESS ? posix_acl_from_nfs(from->access, from->access_count, ret)
					    : posix_acl_from_nfs(from->dflt, from->default_count, ret);

	if (error == 0 && kind == ACL_KIND_ACCESS && ret->count == POSIX_ACL_MODE_ENTRIES)
		ret->count = 0;
	return error;
}

/* Replies with the data, or with its size if the caller's buffer has size 0, as getxattr(2) does. */
static void reply_sized(struct get_request *g, const void *data, size_t size)
{
	g->r.operation.error = g->size > 0 && size > g->size ? ERANGE : 0;
	request_count(&g->r);
	if (g->size == 0)
		(void)fuse_reply_xattr(g->r.req, size);
	else if (size > g->size)
		(void)fuse_reply_err(g->r.req, ERANGE);
	else
		(void)fuse_reply_buf(g->r.req, data, size);
	request_end(&g->r);
}

/* The answer tells that the file has no ACL. */
static void found_none(struct get_request *g)
{
	const struct nfs_call *call = &g->r.call;

	if (call->has_attr && !S_ISDIR(g->r.inode->type))
		known_no_file_acl(g->r.inode, &call->attr, g->r.asked);
}

static void get_done(struct nfs_call *call)
{
	struct get_request *g = CONTAINER_OF(call, struct get_request, r.call);
	uint8_t value[POSIX_ACL_XATTR_SIZE(NFS_ACL_MAX)];
	struct posix_acl acl = {0};
	int error = call->error;

	if (error == 0)
		error = take(&call->res.acl, g->kind, &acl);
	if (error == 0 && acl.count == 0) {
		found_none(g);
		error = -ENODATA;
	}
	if (error < 0) {
		request_end_error(&g->r, error);
		return;
	}
	posix_acl_to_xattr(&acl, value);
	reply_sized(g, value, POSIX_ACL_XATTR_SIZE(acl.count));
}

static void list_done(struct nfs_call *call)
{
	struct get_request *g = CONTAINER_OF(call, struct get_request, r.call);
	char list[64];
	size_t size = 0;

	if (call->error < 0) {
		request_end_error(&g->r, call->error);
		return;
	}
	for (int kind = 0; kind < ACL_KIND_NONE; kind++) {
		struct posix_acl acl;

		if (take(&call->res.acl, (enum acl_kind)kind, &acl) < 0 || acl.count == 0)
			continue;
		memcpy(list + size, acl_names[kind], strlen(acl_names[kind]) + 1);
		size += strlen(acl_names[kind]) + 1;
	}
	if (size == 0)
		found_none(g);
	reply_sized(g, list, size);
}

/* True if a file has no ACL: known without a question, or seen by the daemon's own descriptor of the file. */
static bool has_no_acl(struct request *r)
{
	uint32_t mode;

	return known_has_no_file_acl(r->fs, r->inode) || granted_file_has_no_acl(r->fs, r->inode, &mode);
}

static void get(fuse_req_t req, fuse_ino_t ino, enum acl_kind kind, size_t size, bool list)
{
	struct get_request *g = calloc(1, sizeof(*g));
	bool directory, none;

	if (!g) {
		operation_refuse(req, ENOMEM);
		return;
	}
	if (request_init(&g->r, req, ino, NULL, NULL) < 0)
		return;
	g->kind = kind;
	g->size = size;
	directory = S_ISDIR(g->r.inode->type);
	none = !directory && has_no_acl(&g->r);
	/* Symbolic links have no ACLs, and only directories have a default ACL. */
	if (list && (none || S_ISLNK(g->r.inode->type)))
		reply_sized(g, NULL, 0);
	else if (S_ISLNK(g->r.inode->type))
		request_end_error(&g->r, -EOPNOTSUPP);
	else if (list)
		ask(&g->r, true, directory, list_done);
	else if (none || (kind == ACL_KIND_DEFAULT && !directory))
		request_end_error(&g->r, -ENODATA);
	else
		ask(&g->r, kind == ACL_KIND_ACCESS, kind == ACL_KIND_DEFAULT, get_done);
}

static void op_getxattr(fuse_req_t req, fuse_ino_t ino, const char *name, size_t size)
{
	enum acl_kind kind = kind_of(name);

	if (answered_enosys(req))
		return;
	if (kind == ACL_KIND_NONE)
		operation_refuse(req, EOPNOTSUPP);
	else
		get(req, ino, kind, size, false);
}

static void op_listxattr(fuse_req_t req, fuse_ino_t ino, size_t size)
{
	if (!answered_enosys(req))
		get(req, ino, ACL_KIND_NONE, size, true);
}

static struct set_request *set_from_call(struct nfs_call *call)
{
	return CONTAINER_OF(call, struct set_request, r.call);
}

static void set_done(struct nfs_call *call)
{
	struct set_request *s = set_from_call(call);

	default_acl_forget(s->r.inode);
	/* SETACL has also changed the mode, which the kernel does not know. */
	if (call->error == 0)
		fs_invalidate_attributes(s->r.fs, s->r.inode);
	request_end_error(&s->r, call->error);
}

/* Both ACLs, the owner and the mode are known: sends SETACL. */
static void send_acls(struct set_request *s, const struct nfs_attr *attr)
{
	struct nfs_acls *args = &s->r.call.args.acl;
	uint32_t uid = attr->uid, gid = attr->gid;

	if (s->acls[ACL_KIND_ACCESS].count == 0)
		posix_acl_from_mode(attr->mode, &s->acls[ACL_KIND_ACCESS]);
	*args = (struct nfs_acls){.mask = NFS_ACL_ACCESS, .access = s->entries[0], .dflt = s->entries[1]};
	args->access_count = posix_acl_to_nfs(&s->acls[ACL_KIND_ACCESS], uid, gid, 0, s->entries[0]);
	if (S_ISDIR(s->r.inode->type)) {
		args->mask |= NFS_ACL_DEFAULT;
		args->default_count =
			posix_acl_to_nfs(&s->acls[ACL_KIND_DEFAULT], uid, gid, NFS_ACE_DEFAULT, s->entries[1]);
	}
	request_send(&s->r, NFS_SETACL, set_done);
}

static void set_attr_known(struct nfs_call *call)
{
	if (call->error < 0)
		request_end_error(&set_from_call(call)->r, call->error);
	else
		send_acls(set_from_call(call), &call->attr);
}

static void set_others_known(struct nfs_call *call)
{
	struct set_request *s = set_from_call(call);
	enum acl_kind other = s->kind == ACL_KIND_ACCESS ? ACL_KIND_DEFAULT : ACL_KIND_ACCESS;
	int error = call->error;

	if (error == 0 && S_ISDIR(s->r.inode->type))
		error = take(&call->res.acl, other, &s->acls[other]);
	if (error < 0)
		request_end_error(&s->r, error);
	else if (!call->has_attr)
		request_send(&s->r, NFS_GETATTR, set_attr_known);
	else
		send_acls(s, &call->attr);
}

/*
 * True if the new ACL says no more than a mode, of a file that has no ACL now: then SETATTR does the same
 * (fs/posix_acl.c posix_acl_update_mode()), which the daemon or the sidecar may do. cp -a sets such an ACL of each
 * file. A remembered answer is not good enough: an ACL that others have set since would stay. SETATTR would also clear
 * set-id bits.
 */
static bool is_chmod(const struct set_request *s, uint32_t *ret_mode)
{
	const struct posix_acl *acl = &s->acls[ACL_KIND_ACCESS];
	uint32_t mode;

	if (s->kind != ACL_KIND_ACCESS || acl->count != POSIX_ACL_MODE_ENTRIES || !S_ISREG(s->r.inode->type) ||
		!granted_file_has_no_acl(s->r.fs, s->r.inode, &mode) || (mode & (S_ISUID | S_ISGID)) != 0)
		return false;
	*ret_mode = (mode & S_ISVTX) | posix_acl_mode(acl);
	return true;
}

static void send_mode(struct set_request *s, uint32_t mode)
{
	s->r.call.args.sattr = (struct nfs_sattr){.set_mode = true, .mode = mode};
	request_send(&s->r, NFS_SETATTR, set_done);
}

/*
 * Asks for the present ACLs and attributes. SETACL sets both ACLs of a directory, so it needs the other one; and the
 * removal of an access ACL needs the mode.
 */
static void set_settled(struct behind_wait *w, int error)
{
	struct set_request *s = CONTAINER_OF(w, struct set_request, wait);
	uint32_t mode;

	if (error < 0)
		request_end_error(&s->r, error);
	else if (is_chmod(s, &mode))
		send_mode(s, mode);
	else
		ask(&s->r, true, S_ISDIR(s->r.inode->type), set_others_known);
}

static void set(fuse_req_t req, fuse_ino_t ino, const char *name, const void *value, size_t size)
{
	struct set_request *s;
	int error;

	if (kind_of(name) == ACL_KIND_NONE) {
		operation_refuse(req, EOPNOTSUPP);
		return;
	}
	s = calloc(1, sizeof(*s));
	if (!s) {
		operation_refuse(req, ENOMEM);
		return;
	}
	if (request_init(&s->r, req, ino, NULL, NULL) < 0)
		return;
	s->kind = kind_of(name);
	error = posix_acl_from_xattr(value, size, &s->acls[s->kind]);
	if (error == 0 && S_ISLNK(s->r.inode->type))
		error = -EOPNOTSUPP;
	/* fs/posix_acl.c set_posix_acl: only directories have a default ACL; the removal from a file succeeds. */
	else if (error == 0 && s->kind == ACL_KIND_DEFAULT && !S_ISDIR(s->r.inode->type))
		error = s->acls[s->kind].count > 0 ? -EACCES : 1;
	if (error != 0) {
		request_end_error(&s->r, MIN(error, 0));
		return;
	}
	/* The new ACL must not forbid a write that the caller sent before. */
	s->wait.done = set_settled;
	s->wait.patience = request_patience(&s->r);
	write_behind_settle(&s->r.inode->behind, &s->wait);
}

/* XATTR_CREATE and XATTR_REPLACE mean nothing for ACLs (fs/xattr.c do_setxattr). */
static void op_setxattr(fuse_req_t req, fuse_ino_t ino, const char *name, const char *value, size_t size, int flags)
{
	if (!answered_enosys(req))
		set(req, ino, name, value, size);
}

static void op_removexattr(fuse_req_t req, fuse_ino_t ino, const char *name)
{
	if (!answered_enosys(req))
		set(req, ino, name, NULL, 0);
}

void acl_set_operations(struct fuse_lowlevel_ops *ops)
{
	ops->getxattr = op_getxattr;
	ops->listxattr = op_listxattr;
	ops->setxattr = op_setxattr;
	ops->removexattr = op_removexattr;
}
