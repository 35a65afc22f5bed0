/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "io/libnfs/nfs3_codec.h"

#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <nfsc/libnfs.h>
#include <nfsc/libnfs-raw.h>
#include <nfsc/libnfs-raw-nfs.h>

#define NFS_TARGET_MAX 3500 /* bytes of a symlink's target that fit into libnfs's buffer */

#ifdef LIBNFS_TASKS
#define SEND(proc, ...) (rpc_nfs3_##proc##_task(__VA_ARGS__) ? 0 : -ENOMEM)
#else
#define SEND(proc, ...) (rpc_nfs3_##proc##_async(__VA_ARGS__) == 0 ? 0 : -ENOMEM)
#endif
#ifdef LIBNFS_ACL3_TASKS
#define SEND_ACL(proc, ...) (rpc_nfsacl3_##proc##_task(__VA_ARGS__) ? 0 : -ENOMEM)
#elif defined LIBNFS_ACL_TASKS
#define SEND_ACL(proc, ...) (rpc_nfsacl_##proc##_task(__VA_ARGS__) ? 0 : -ENOMEM)
#else
#define SEND_ACL(proc, ...) (rpc_nfsacl_##proc##_async(__VA_ARGS__) == 0 ? 0 : -ENOMEM)
#endif

static nfs_fh3 to_fh(struct nfs_fh *fh)
{
	nfs_fh3 r = {.data = {.data_len = fh->len, .data_val = (char *)fh->data}};

	return r;
}

static diropargs3 to_dirop(struct nfs_fh *dir, const char *name)
{
	diropargs3 r = {.dir = to_fh(dir), .name = (char *)name};

	return r;
}

static nfstime3 to_time(struct timespec ts)
{
	nfstime3 r = {.seconds = (uint32_t)ts.tv_sec, .nseconds = (uint32_t)ts.tv_nsec};

	return r;
}

static sattr3 to_sattr(const struct nfs_sattr *s)
{
	sattr3 r;

	memset(&r, 0, sizeof(r));
	if (s->set_mode) {
		r.mode.set_it = 1;
		r.mode.set_mode3_u.mode = s->mode & 07777;
	}
	if (s->set_uid) {
		r.uid.set_it = 1;
		r.uid.set_uid3_u.uid = s->uid;
	}
	if (s->set_gid) {
		r.gid.set_it = 1;
		r.gid.set_gid3_u.gid = s->gid;
	}
	if (s->set_size) {
		r.size.set_it = 1;
		r.size.set_size3_u.size = s->size;
	}
	if (s->set_atime) {
		r.atime.set_it = s->atime_now ? SET_TO_SERVER_TIME : SET_TO_CLIENT_TIME;
		r.atime.set_atime_u.atime = to_time(s->atime);
	}
	if (s->set_mtime) {
		r.mtime.set_it = s->mtime_now ? SET_TO_SERVER_TIME : SET_TO_CLIENT_TIME;
		r.mtime.set_mtime_u.mtime = to_time(s->mtime);
	}
	return r;
}

static int encode_create(struct rpc_context *rpc, struct nfs3_ticket *ticket, rpc_cb cb)
{
	struct nfs_call *call = ticket->call;
	CREATE3args args;

	memset(&args, 0, sizeof(args));
	args.where = to_dirop(&call->fh, call->name);
	if (call->exclusive) {
		args.how.mode = EXCLUSIVE;
		memcpy(args.how.createhow3_u.verf, call->create_verf.data, 8);
	} else {
		args.how.mode = GUARDED;
		args.how.createhow3_u.g_obj_attributes = to_sattr(&call->args.sattr);
	}
	return SEND(create, rpc, cb, &args, ticket);
}

static int encode_mknod(struct rpc_context *rpc, struct nfs3_ticket *ticket, rpc_cb cb)
{
	struct nfs_call *call = ticket->call;
	MKNOD3args args;
	sattr3 sattr = to_sattr(&call->args.sattr);
	devicedata3 device = {.dev_attributes = sattr,
		.spec = {.specdata1 = call->rdev_major, .specdata2 = call->rdev_minor}};

	memset(&args, 0, sizeof(args));
	args.where = to_dirop(&call->fh, call->name);
	switch (call->args.sattr.mode & S_IFMT) {
	case S_IFCHR:
		args.what.type = NF3CHR;
		args.what.mknoddata3_u.chr_device = device;
		break;
	case S_IFBLK:
		args.what.type = NF3BLK;
		args.what.mknoddata3_u.blk_device = device;
		break;
	case S_IFSOCK:
		args.what.type = NF3SOCK;
		args.what.mknoddata3_u.sock_attributes = sattr;
		break;
	default:
		args.what.type = NF3FIFO;
		args.what.mknoddata3_u.pipe_attributes = sattr;
		break;
	}
	return SEND(mknod, rpc, cb, &args, ticket);
}

static int encode_read(struct rpc_context *rpc, struct nfs3_ticket *ticket, rpc_cb cb)
{
	struct nfs_call *call = ticket->call;
	READ3args args = {.file = to_fh(&call->fh), .offset = call->args.io.offset, .count = call->args.io.count};

#ifdef LIBNFS_TASKS
	/* libnfs reads the data from the socket into this buffer. */
	ticket->buffer = malloc(args.count ? args.count : 1);
	if (!ticket->buffer)
		return -ENOMEM;
	return rpc_nfs3_read_task(rpc, cb, ticket->buffer, args.count, &args, ticket) ? 0 : -ENOMEM;
#else
	return SEND(read, rpc, cb, &args, ticket);
#endif
}

static int encode_write(struct rpc_context *rpc, struct nfs3_ticket *ticket, rpc_cb cb)
{
	struct nfs_call *call = ticket->call;
	WRITE3args args = {.file = to_fh(&call->fh),
		.offset = call->args.io.offset,
		.count = call->args.io.count,
		.stable = (stable_how)call->args.io.stable,
		.data = {.data_len = call->args.io.count, .data_val = (char *)call->args.io.data}};

#ifdef LIBNFS_TASKS
	/* libnfs sends from this buffer later. The call's own data may be gone by then. */
	ticket->buffer = malloc(args.count ? args.count : 1);
	if (!ticket->buffer)
		return -ENOMEM;
	memcpy(ticket->buffer, call->args.io.data, args.count);
	args.data.data_val = ticket->buffer;
#endif
	return SEND(write, rpc, cb, &args, ticket);
}

/* Encodes a procedure that has only a file handle as its argument, or none. */
static int encode_plain(struct rpc_context *rpc, struct nfs3_ticket *ticket, rpc_cb cb)
{
	struct nfs_call *call = ticket->call;
	nfs_fh3 fh = to_fh(&call->fh);

	switch (call->proc) {
	case NFS_NULL:
		return SEND(null, rpc, cb, ticket);
	case NFS_GETATTR: {
		GETATTR3args args = {.object = fh};
		return SEND(getattr, rpc, cb, &args, ticket);
	}
	case NFS_READLINK: {
		READLINK3args args = {.symlink = fh};
		return SEND(readlink, rpc, cb, &args, ticket);
	}
	case NFS_FSSTAT: {
		FSSTAT3args args = {.fsroot = fh};
		return SEND(fsstat, rpc, cb, &args, ticket);
	}
	case NFS_FSINFO: {
		FSINFO3args args = {.fsroot = fh};
		return SEND(fsinfo, rpc, cb, &args, ticket);
	}
	default: {
		PATHCONF3args args = {.object = fh};
		return SEND(pathconf, rpc, cb, &args, ticket);
	}
	}
}

static int encode_name(struct rpc_context *rpc, struct nfs3_ticket *ticket, rpc_cb cb)
{
	struct nfs_call *call = ticket->call;
	diropargs3 where = to_dirop(&call->fh, call->name);

	switch (call->proc) {
	case NFS_LOOKUP: {
		LOOKUP3args args = {.what = where};
		return SEND(lookup, rpc, cb, &args, ticket);
	}
	case NFS_MKDIR: {
		MKDIR3args args = {.where = where, .attributes = to_sattr(&call->args.sattr)};
		return SEND(mkdir, rpc, cb, &args, ticket);
	}
	case NFS_SYMLINK: {
		SYMLINK3args args = {.where = where,
			.symlink = {.symlink_attributes = to_sattr(&call->args.sattr),
				.symlink_data = (char *)call->name2}};
		return SEND(symlink, rpc, cb, &args, ticket);
	}
	case NFS_REMOVE: {
		REMOVE3args args = {.object = where};
		return SEND(remove, rpc, cb, &args, ticket);
	}
	case NFS_RMDIR: {
		RMDIR3args args = {.object = where};
		return SEND(rmdir, rpc, cb, &args, ticket);
	}
	case NFS_RENAME: {
		RENAME3args args = {.from = where, .to = to_dirop(&call->fh2, call->name2)};
		return SEND(rename, rpc, cb, &args, ticket);
	}
	default: {
		LINK3args args = {.file = where.dir, .link = to_dirop(&call->fh2, call->name)};
		return SEND(link, rpc, cb, &args, ticket);
	}
	}
}

static int encode_dir(struct rpc_context *rpc, struct nfs3_ticket *ticket, rpc_cb cb)
{
	struct nfs_call *call = ticket->call;
	if (call->proc == NFS_READDIR) {
		READDIR3args args = {.dir = to_fh(&call->fh),
			.cookie = call->args.dir.cookie,
			.count = call->args.dir.count};

		memcpy(args.cookieverf, call->args.dir.verf.data, 8);
		return SEND(readdir, rpc, cb, &args, ticket);
	}
	READDIRPLUS3args args = {.dir = to_fh(&call->fh),
		.cookie = call->args.dir.cookie,
		.dircount = call->args.dir.count,
		.maxcount = call->args.dir.count};

	memcpy(args.cookieverf, call->args.dir.verf.data, 8);
	return SEND(readdirplus, rpc, cb, &args, ticket);
}

static_assert(sizeof(struct nfs_ace) == sizeof(nfsacl_ace) &&
		      offsetof(struct nfs_ace, perm) == offsetof(nfsacl_ace, perm),
	"entries are handed to libnfs as they are");

static int encode_setacl(struct rpc_context *rpc, struct nfs3_ticket *ticket, rpc_cb cb)
{
	struct nfs_call *call = ticket->call;
	const struct nfs_acls *acl = &call->args.acl;
	SETACL3args args = {.dir = to_fh(&call->fh),
		.mask = acl->mask,
		.ace_count = acl->access_count,
		.ace = {.ace_len = acl->access_count, .ace_val = (nfsacl_ace *)acl->access},
		.default_ace_count = acl->default_count,
		.default_ace = {.default_ace_len = acl->default_count, .default_ace_val = (nfsacl_ace *)acl->dflt}};

	/* The kernel's client has the same errno, fs/nfs/nfs3acl.c __nfs3_proc_setacls. */
	if (acl->access_count + (uint64_t)acl->default_count > NFS_ACL_SETTABLE)
		return -ENOSPC;
	return SEND_ACL(setacl, rpc, cb, &args, ticket);
}

/* True if no server would accept one of the names. libnfs's buffer has room for about 4000 bytes. */
static bool name_too_long(const struct nfs_call *call)
{
	size_t max2 = call->proc == NFS_SYMLINK ? NFS_TARGET_MAX : NFS_NAME_MAX;

	return (call->name && strlen(call->name) > NFS_NAME_MAX) || (call->name2 && strlen(call->name2) > max2);
}

/* Sets the credential of the next call that is queued. */
static int set_credential(struct rpc_context *rpc, struct nfs_cred *cred)
{
	struct AUTH *auth = libnfs_authunix_create("localiofs", cred->uid, cred->gid, cred->ngroups, cred->groups);

	if (!auth)
		return -ENOMEM;
	/* libnfs's stamp is the time: without this line the second copy of a call would have other bytes. */
	memset(auth->ah_cred.oa_base, 0, sizeof(uint32_t));
	rpc_set_auth(rpc, auth); /* frees the previous credential */
	return 0;
}

static int encode_any(struct rpc_context *rpc, struct nfs3_ticket *ticket, rpc_cb cb)
{
	struct nfs_call *call = ticket->call;

	switch (call->proc) {
	case NFS_SETATTR: {
		SETATTR3args args = {.object = to_fh(&call->fh), .new_attributes = to_sattr(&call->args.sattr)};
		return SEND(setattr, rpc, cb, &args, ticket);
	}
	case NFS_ACCESS: {
		ACCESS3args args = {.object = to_fh(&call->fh), .access = call->args.access.bits};
		return SEND(access, rpc, cb, &args, ticket);
	}
	case NFS_READ:
		return encode_read(rpc, ticket, cb);
	case NFS_WRITE:
		return encode_write(rpc, ticket, cb);
	case NFS_COMMIT: {
		COMMIT3args args = {.file = to_fh(&call->fh),
			.offset = call->args.io.offset,
			.count = call->args.io.count};
		return SEND(commit, rpc, cb, &args, ticket);
	}
	case NFS_CREATE:
		return encode_create(rpc, ticket, cb);
	case NFS_MKNOD:
		return encode_mknod(rpc, ticket, cb);
	case NFS_READDIR:
	case NFS_READDIRPLUS:
		return encode_dir(rpc, ticket, cb);
	case NFS_GETACL: {
		GETACL3args args = {.dir = to_fh(&call->fh), .mask = call->args.acl.mask};
		return SEND_ACL(getacl, rpc, cb, &args, ticket);
	}
	case NFS_SETACL:
		return encode_setacl(rpc, ticket, cb);
	case NFS_COMPOUND:
		return nfs4_encode_looks(rpc, ticket, cb);
	case NFS_NULL:
	case NFS_GETATTR:
	case NFS_READLINK:
	case NFS_FSSTAT:
	case NFS_FSINFO:
	case NFS_PATHCONF:
		return encode_plain(rpc, ticket, cb);
	default:
		return encode_name(rpc, ticket, cb);
	}
}

int nfs3_encode(struct rpc_context *rpc, struct nfs3_ticket *ticket, rpc_cb cb)
{
	int r;

	if (name_too_long(ticket->call))
		return -ENAMETOOLONG;
	r = set_credential(rpc, &ticket->call->cred);
	if (r < 0)
		return r;
	rpc_set_next_xid(rpc, ticket->call->wire.xid);
	return encode_any(rpc, ticket, cb);
}
