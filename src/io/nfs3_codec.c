/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "io/nfs3_codec.h"

#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <nfsc/libnfs.h>
#include <nfsc/libnfs-raw.h>
#include <nfsc/libnfs-raw-nfs.h>

#define NFS_TARGET_MAX 3500 /* bytes of a symlink's target */

#ifdef LIBNFS_TASKS
#define SEND(proc, ...) (rpc_nfs3_##proc##_task(__VA_ARGS__) ? 0 : -ENOMEM)
#else
#define SEND(proc, ...) (rpc_nfs3_##proc##_async(__VA_ARGS__) == 0 ? 0 : -ENOMEM)
#endif
#ifdef LIBNFS_ACL_TASKS
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
	switch (call->how) {
	case NFS_UNCHECKED:
		args.how.mode = UNCHECKED;
		args.how.createhow3_u.obj_attributes = to_sattr(&call->args.sattr);
		break;
	case NFS_GUARDED:
		args.how.mode = GUARDED;
		args.how.createhow3_u.g_obj_attributes = to_sattr(&call->args.sattr);
		break;
	case NFS_EXCLUSIVE:
		args.how.mode = EXCLUSIVE;
		memcpy(args.how.createhow3_u.verf, call->create_verf.data, 8);
		break;
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
	READ3args args = {.file = to_fh(&call->fh),
		.offset = call->args.io.offset,
		.count = call->args.io.count};

#ifdef LIBNFS_TASKS
	/* The data goes straight into this buffer. */
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
	/* It is sent from where it lies, and the call may end before that. */
	ticket->buffer = malloc(args.count ? args.count : 1);
	if (!ticket->buffer)
		return -ENOMEM;
	memcpy(ticket->buffer, call->args.io.data, args.count);
	args.data.data_val = ticket->buffer;
#endif
	return SEND(write, rpc, cb, &args, ticket);
}

/* Which procedures' arguments are a handle and nothing else. */
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
		.default_ace = {.default_ace_len = acl->default_count,
			.default_ace_val = (nfsacl_ace *)acl->dflt}};

	/* As the kernel's client says of what does not fit, fs/nfs/nfs3acl.c __nfs3_proc_setacls. */
	if (acl->access_count + (uint64_t)acl->default_count > NFS_ACL_SETTABLE)
		return -ENOSPC;
	return SEND_ACL(setacl, rpc, cb, &args, ticket);
}

/* What no server takes; libnfs has room for some 4000 bytes. */
static bool name_too_long(const struct nfs_call *call)
{
	size_t max2 = call->proc == NFS_SYMLINK ? NFS_TARGET_MAX : NFS_NAME_MAX;

	return (call->name && strlen(call->name) > NFS_NAME_MAX) ||
	       (call->name2 && strlen(call->name2) > max2);
}

/* Its credential, for the next call that is queued. */
static int set_credential(struct rpc_context *rpc, struct nfs_cred *cred)
{
	struct AUTH *auth =
		libnfs_authunix_create("localiofs", cred->uid, cred->gid, cred->ngroups, cred->groups);

	if (!auth)
		return -ENOMEM;
	/* The stamp is the time: a call that is sent again would look like another one. */
	memset(auth->ah_cred.oa_base, 0, sizeof(uint32_t));
	rpc_set_auth(rpc, auth); /* frees the previous one */
	return 0;
}

static int encode_any(struct rpc_context *rpc, struct nfs3_ticket *ticket, rpc_cb cb)
{
	struct nfs_call *call = ticket->call;

	switch (call->proc) {
	case NFS_SETATTR: {
		SETATTR3args args = {.object = to_fh(&call->fh),
			.new_attributes = to_sattr(&call->args.sattr)};
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

int nfs3_denial(const char *text)
{
	/* libnfs, lib/pdu.c rpc_process_reply: it has no numbers for these. */
	static const struct {
		const char *text;
		int error;
	} known[] = {{"Server responded: Program not available", -EPFNOSUPPORT},
		{"Server responded: Program version mismatch", -EPROTONOSUPPORT},
		{"Server responded: Procedure not available", -EOPNOTSUPP},
		{"Server responded: Garbage arguments", -EIO},
		{"Server responded: System Error", -EIO},
		{"Unknown rpc response from server", -EIO},
		{"Message rejected by server", -EIO}, /* it could not be decoded */
		{"RPC Packet not accepted by the server", -EACCES}}; /* MSG_DENIED: the credential */

	for (size_t n = 0; n < ARRAY_SIZE(known); n++)
		if (strcmp(text, known[n].text) == 0)
			return known[n].error;
	return 0;
}

/* nfsstat3 to errno: the numbers are BSD's where they are not NFS's own. fs/nfs/nfs_common.c. */
static int to_errno(nfsstat3 status)
{
	switch ((int)status) {
	case NFS3_OK:
		return 0;
	case NFS3ERR_NAMETOOLONG:
		return -ENAMETOOLONG;
	case NFS3ERR_NOTEMPTY:
		return -ENOTEMPTY;
	case NFS3ERR_DQUOT:
		return -EDQUOT;
	case NFS3ERR_STALE:
	case NFS3ERR_BADHANDLE:
		return -ESTALE;
	case NFS3ERR_REMOTE:
		return -EREMOTE;
	case NFS3ERR_NOT_SYNC:
	case NFS3ERR_BAD_COOKIE:
	case NFS3ERR_TOOSMALL:
	case NFS3ERR_BADTYPE:
		return -EINVAL;
	case NFS3ERR_NOTSUPP:
		return -EOPNOTSUPP;
	case NFS3ERR_PERM:
	case NFS3ERR_NOENT:
	case NFS3ERR_IO:
	case NFS3ERR_NXIO:
	case NFS3ERR_ACCES:
	case NFS3ERR_EXIST:
	case NFS3ERR_XDEV:
	case NFS3ERR_NODEV:
	case NFS3ERR_NOTDIR:
	case NFS3ERR_ISDIR:
	case NFS3ERR_INVAL:
	case NFS3ERR_FBIG:
	case NFS3ERR_NOSPC:
	case NFS3ERR_ROFS:
	case NFS3ERR_MLINK:
		return -(int)status;
	default:
		return -EIO;
	}
}

static mode_t type_bits(ftype3 type)
{
	switch (type) {
	case NF3REG:
		return S_IFREG;
	case NF3DIR:
		return S_IFDIR;
	case NF3BLK:
		return S_IFBLK;
	case NF3CHR:
		return S_IFCHR;
	case NF3LNK:
		return S_IFLNK;
	case NF3SOCK:
		return S_IFSOCK;
	case NF3FIFO:
		return S_IFIFO;
	default:
		return 0;
	}
}

static struct timespec from_time(nfstime3 t)
{
	struct timespec r = {.tv_sec = t.seconds, .tv_nsec = (long)(t.nseconds % 1000000000U)};

	return r;
}

static void from_fattr(const fattr3 *a, struct nfs_attr *ret)
{
	ret->mode = type_bits(a->type) | (a->mode & 07777);
	ret->nlink = a->nlink;
	ret->uid = a->uid;
	ret->gid = a->gid;
	ret->size = a->size;
	ret->used = a->used;
	ret->fsid = a->fsid;
	ret->fileid = a->fileid;
	ret->rdev_major = a->rdev.specdata1;
	ret->rdev_minor = a->rdev.specdata2;
	ret->atime = from_time(a->atime);
	ret->mtime = from_time(a->mtime);
	ret->ctime = from_time(a->ctime);
}

/* The kernel gives an inode up for ever that has others than these. */
static bool good_attr(const fattr3 *a)
{
	return type_bits(a->type) != 0 && a->size <= INT64_MAX;
}

static void take_attr(struct nfs_call *call, const post_op_attr *a)
{
	if (!a->attributes_follow || !good_attr(&a->post_op_attr_u.attributes))
		return;
	call->has_attr = true;
	from_fattr(&a->post_op_attr_u.attributes, &call->attr);
}

static void take_dir_attr(struct nfs_wcc *ret, const post_op_attr *a)
{
	ret->has_after = a->attributes_follow && good_attr(&a->post_op_attr_u.attributes);
	if (ret->has_after)
		from_fattr(&a->post_op_attr_u.attributes, &ret->after);
}

static void take_wcc(struct nfs_wcc *ret, const wcc_data *wcc)
{
	const wcc_attr *before = &wcc->before.pre_op_attr_u.attributes;

	take_dir_attr(ret, &wcc->after);
	ret->has_before = wcc->before.attributes_follow;
	if (!ret->has_before)
		return;
	ret->size_before = before->size;
	ret->mtime_before = from_time(before->mtime);
	ret->ctime_before = from_time(before->ctime);
}

static bool good_handle(const nfs_fh3 *fh)
{
	return fh->data.data_len > 0 && fh->data.data_len <= NFS_FH_MAX;
}

/* len 0 when it is none. */
static void take_fh(struct nfs_fh *ret, const nfs_fh3 *fh)
{
	ret->len = 0;
	if (!good_handle(fh))
		return;
	ret->len = fh->data.data_len;
	memcpy(ret->data, fh->data.data_val, ret->len);
}

static void take_new(struct nfs_call *call, const post_op_fh3 *fh, const post_op_attr *attr)
{
	if (fh->handle_follows) {
		take_fh(&call->new_fh, &fh->post_op_fh3_u.handle);
		if (call->new_fh.len == 0)
			call->error = -EIO;
	}
	take_attr(call, attr);
}

/* libnfs chains the entries; they may lie misaligned in its memory, so each is copied out. */
#define FOREACH_ENTRY(type, e, first)                                                              \
	for (type e = {.nextentry = (first)}; next_entry(&e, e.nextentry, sizeof(e));)

static bool next_entry(void *to, const void *from, size_t size)
{
	if (from)
		memcpy(to, from, size);
	return from != NULL;
}

/* A name as an entry may have it; the kernel would refuse the whole listing for another. */
static bool good_name(const char *name)
{
	size_t length = name ? strlen(name) : 0;

	return length > 0 && length <= NFS_NAME_MAX && !strchr(name, '/');
}

/* The array for n entries, whose names stay in libnfs's memory. */
static struct nfs_entry *new_entries(
	struct nfs_call *call, size_t n, bool eof, const char verf[NFS3_COOKIEVERFSIZE])
{
	struct nfs_entry *entries = calloc(n + 1, sizeof(*entries));

	if (!entries)
		call->error = -ENOMEM;
	call->res.dir.entries = entries;
	call->res.dir.count = n;
	call->res.dir.eof = eof;
	memcpy(call->res.dir.verf.data, verf, sizeof(call->res.dir.verf.data));
	return entries;
}

static void take_readdir(struct nfs_call *call, const READDIR3resok *res)
{
	struct nfs_entry *to;
	size_t n = 0;

	FOREACH_ENTRY(entry3, e, res->reply.entries)
	{
		if (!good_name(e.name)) {
			call->error = -EIO;
			return;
		}
		n++;
	}
	to = new_entries(call, n, res->reply.eof, res->cookieverf);
	if (!to)
		return;
	FOREACH_ENTRY(entry3, e, res->reply.entries)
	{
		*to++ = (struct nfs_entry){.name = e.name, .fileid = e.fileid, .cookie = e.cookie};
	}
}

static void take_readdirplus(struct nfs_call *call, const READDIRPLUS3resok *res)
{
	struct nfs_entry *to;
	size_t n = 0;

	FOREACH_ENTRY(entryplus3, e, res->reply.entries)
	{
		if (!good_name(e.name) ||
			(e.name_handle.handle_follows && !good_handle(&e.name_handle.post_op_fh3_u.handle))) {
			call->error = -EIO;
			return;
		}
		n++;
	}
	to = new_entries(call, n, res->reply.eof, res->cookieverf);
	if (!to)
		return;
	FOREACH_ENTRY(entryplus3, e, res->reply.entries)
	{
		const fattr3 *a = &e.name_attributes.post_op_attr_u.attributes;

		*to = (struct nfs_entry){.name = e.name, .fileid = e.fileid, .cookie = e.cookie};
		if (e.name_attributes.attributes_follow && good_attr(a)) {
			to->has_attr = true;
			from_fattr(a, &to->attr);
		}
		if (e.name_handle.handle_follows)
			take_fh(&to->fh, &e.name_handle.post_op_fh3_u.handle);
		to++;
	}
}

static void take_read(struct nfs_call *call, const READ3resok *res, void *buffer)
{
	/* A reply that claims more than was asked for, or than is there, is none. */
	if (res->count > call->args.io.count) {
		call->error = -EIO;
		return;
	}
	call->res.io.data = buffer;
#ifndef LIBNFS_TASKS
	/* Not less than either: a length that libnfs took for negative is more than there is. */
	if (res->data.data_len != res->count) {
		call->error = -EIO;
		return;
	}
	call->res.io.data = res->data.data_val;
#endif
	call->res.io.count = res->count;
	call->res.io.eof = res->eof;
	take_attr(call, &res->file_attributes);
}

static void take_write(struct nfs_call *call, const WRITE3resok *res)
{
	if (res->count > call->args.io.count || (unsigned)res->committed > NFS_FILE_SYNC) {
		call->error = -EIO;
		return;
	}
	call->res.io.count = res->count;
	call->res.io.committed = (enum nfs_stable)res->committed;
	memcpy(call->res.io.verf.data, res->verf, 8);
	take_attr(call, &res->file_wcc.after);
}

/* Whether what was answered of one of the ACLs can be: counted right, and there when it was asked for. */
static bool good_acl(uint32_t count, uint32_t length, bool asked)
{
	return count <= NFS_ACL_MAX && length <= NFS_ACL_MAX && (!asked || length == count);
}

/* Copied out of libnfs's memory, where they may lie misaligned; the array is the caller's to free. */
static void take_acl(struct nfs_call *call, const GETACL3resok *res)
{
	uint32_t mask = call->args.acl.mask;
	size_t naccess = mask & NFS_ACL_ACCESS ? res->ace.ace_len : 0;
	size_t ndefault = mask & NFS_ACL_DEFAULT ? res->default_ace.default_ace_len : 0;
	struct nfs_ace *entries;

	if ((res->mask & mask) != mask || !good_acl(res->ace_count, res->ace.ace_len, mask & NFS_ACL_ACCESS) ||
		!good_acl(res->default_ace_count, res->default_ace.default_ace_len, mask & NFS_ACL_DEFAULT)) {
		call->error = -EIO;
		return;
	}
	entries = calloc(naccess + ndefault + 1, sizeof(*entries));
	if (!entries) {
		call->error = -ENOMEM;
		return;
	}
	if (naccess > 0)
		memcpy(entries, res->ace.ace_val, naccess * sizeof(*entries));
	if (ndefault > 0)
		memcpy(entries + naccess, res->default_ace.default_ace_val, ndefault * sizeof(*entries));
	call->res.acl = (struct nfs_acls){.mask = res->mask,
		.access_count = res->ace_count,
		.default_count = res->default_ace_count,
		.access = entries,
		.dflt = entries + naccess};
	take_attr(call, &res->attr);
}

/* The arms of a result. */
#define OK(type)   (&((type *)data)->type##_u.resok)
#define FAIL(type) (&((type *)data)->type##_u.resfail)

/* What the server says of the directories, whether or not it did what it was asked for. */
#define TAKE_WCC(type) take_wcc(&call->dir, call->error == 0 ? &OK(type)->dir_wcc : &FAIL(type)->dir_wcc)
#define TAKE_DIR(type)                                                                             \
	take_dir_attr(&call->dir,                                                                  \
		call->error == 0 ? &OK(type)->dir_attributes : &FAIL(type)->dir_attributes)

static void take_directories(struct nfs_call *call, void *data)
{
	bool ok = call->error == 0;

	switch (call->proc) {
	case NFS_LOOKUP:
		TAKE_DIR(LOOKUP3res);
		break;
	case NFS_READDIR:
		TAKE_DIR(READDIR3res);
		break;
	case NFS_READDIRPLUS:
		TAKE_DIR(READDIRPLUS3res);
		break;
	case NFS_CREATE:
		TAKE_WCC(CREATE3res);
		break;
	case NFS_MKDIR:
		TAKE_WCC(MKDIR3res);
		break;
	case NFS_SYMLINK:
		TAKE_WCC(SYMLINK3res);
		break;
	case NFS_MKNOD:
		TAKE_WCC(MKNOD3res);
		break;
	case NFS_REMOVE:
		TAKE_WCC(REMOVE3res);
		break;
	case NFS_RMDIR:
		TAKE_WCC(RMDIR3res);
		break;
	case NFS_RENAME:
		take_wcc(&call->dir, ok ? &OK(RENAME3res)->fromdir_wcc : &FAIL(RENAME3res)->fromdir_wcc);
		take_wcc(&call->dir2, ok ? &OK(RENAME3res)->todir_wcc : &FAIL(RENAME3res)->todir_wcc);
		break;
	case NFS_LINK:
		take_wcc(&call->dir2, ok ? &OK(LINK3res)->linkdir_wcc : &FAIL(LINK3res)->linkdir_wcc);
		break;
	default:
		break;
	}
}

static void take_results(struct nfs_call *call, void *data, void *buffer)
{
	switch (call->proc) {
	case NFS_GETATTR:
		from_fattr(&OK(GETATTR3res)->obj_attributes, &call->attr);
		call->has_attr = good_attr(&OK(GETATTR3res)->obj_attributes);
		if (!call->has_attr)
			call->error = -EIO;
		break;
	case NFS_SETATTR:
		take_attr(call, &OK(SETATTR3res)->obj_wcc.after);
		break;
	case NFS_LOOKUP:
		take_fh(&call->new_fh, &OK(LOOKUP3res)->object);
		take_attr(call, &OK(LOOKUP3res)->obj_attributes);
		if (call->new_fh.len == 0)
			call->error = -EIO;
		break;
	case NFS_ACCESS:
		call->res.access = OK(ACCESS3res)->access;
		take_attr(call, &OK(ACCESS3res)->obj_attributes);
		break;
	case NFS_READLINK:
		call->res.target = OK(READLINK3res)->data;
		if (!call->res.target || call->res.target[0] == '\0')
			call->error = -EIO;
		take_attr(call, &OK(READLINK3res)->symlink_attributes);
		break;
	case NFS_READ:
		take_read(call, OK(READ3res), buffer);
		break;
	case NFS_WRITE:
		take_write(call, OK(WRITE3res));
		break;
	case NFS_COMMIT:
		memcpy(call->res.io.verf.data, OK(COMMIT3res)->verf, 8);
		take_attr(call, &OK(COMMIT3res)->file_wcc.after);
		break;
	case NFS_CREATE:
		take_new(call, &OK(CREATE3res)->obj, &OK(CREATE3res)->obj_attributes);
		break;
	case NFS_MKDIR:
		take_new(call, &OK(MKDIR3res)->obj, &OK(MKDIR3res)->obj_attributes);
		break;
	case NFS_SYMLINK:
		take_new(call, &OK(SYMLINK3res)->obj, &OK(SYMLINK3res)->obj_attributes);
		break;
	case NFS_MKNOD:
		take_new(call, &OK(MKNOD3res)->obj, &OK(MKNOD3res)->obj_attributes);
		break;
	case NFS_LINK:
		take_attr(call, &OK(LINK3res)->file_attributes);
		break;
	case NFS_READDIR:
		take_readdir(call, OK(READDIR3res));
		break;
	case NFS_READDIRPLUS:
		take_readdirplus(call, OK(READDIRPLUS3res));
		break;
	case NFS_FSSTAT:
		call->res.fsstat.tbytes = OK(FSSTAT3res)->tbytes;
		call->res.fsstat.fbytes = OK(FSSTAT3res)->fbytes;
		call->res.fsstat.abytes = OK(FSSTAT3res)->abytes;
		call->res.fsstat.tfiles = OK(FSSTAT3res)->tfiles;
		call->res.fsstat.ffiles = OK(FSSTAT3res)->ffiles;
		call->res.fsstat.afiles = OK(FSSTAT3res)->afiles;
		break;
	case NFS_FSINFO:
		call->res.fsinfo.rtmax = OK(FSINFO3res)->rtmax;
		call->res.fsinfo.rtpref = OK(FSINFO3res)->rtpref;
		call->res.fsinfo.wtmax = OK(FSINFO3res)->wtmax;
		call->res.fsinfo.wtpref = OK(FSINFO3res)->wtpref;
		call->res.fsinfo.dtpref = OK(FSINFO3res)->dtpref;
		call->res.fsinfo.maxfilesize = OK(FSINFO3res)->maxfilesize;
		break;
	case NFS_PATHCONF:
		call->res.pathconf.linkmax = OK(PATHCONF3res)->linkmax;
		call->res.pathconf.name_max = OK(PATHCONF3res)->name_max;
		break;
	case NFS_GETACL:
		take_acl(call, OK(GETACL3res));
		break;
	case NFS_SETACL:
		take_attr(call, &OK(SETACL3res)->attr);
		break;
	default:
		break;
	}
}

bool nfs3_decode(struct nfs_call *call, void *data, void *buffer, void **ret_allocation)
{
	*ret_allocation = NULL;
	call->has_attr = false;
	call->new_fh.len = 0;
	call->dir.has_before = call->dir.has_after = false;
	call->dir2.has_before = call->dir2.has_after = false;
	call->error = 0;
	if (call->proc == NFS_NULL)
		return false;
	if (*(nfsstat3 *)data == NFS3ERR_JUKEBOX)
		return true;
	call->error = to_errno(*(nfsstat3 *)data);
	take_directories(call, data);
	if (call->error < 0)
		return false;
	memset(&call->res, 0, sizeof(call->res));
	take_results(call, data, buffer);
	if (call->proc == NFS_READDIR || call->proc == NFS_READDIRPLUS)
		*ret_allocation = (void *)call->res.dir.entries;
	else if (call->proc == NFS_GETACL)
		*ret_allocation = (void *)call->res.acl.access;
	return false;
}
