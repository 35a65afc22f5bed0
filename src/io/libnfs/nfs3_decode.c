/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "io/libnfs/nfs3_codec.h"

#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <nfsc/libnfs.h>
#include <nfsc/libnfs-raw.h>
#include <nfsc/libnfs-raw-nfs.h>

int nfs3_denial(const char *text)
{
	/* The texts of libnfs's lib/pdu.c rpc_process_reply, which gives no numbers. */
	static const struct {
		const char *text;
		int error;
	} known[] = {{"Server responded: Program not available", -EPFNOSUPPORT},
		{"Server responded: Program version mismatch", -EPROTONOSUPPORT},
		{"Server responded: Procedure not available", -EOPNOTSUPP},
		{"Server responded: Garbage arguments", -EIO}, {"Server responded: System Error", -EIO},
		{"Unknown rpc response from server", -EIO}, {"Message rejected by server", -EIO}, /* GARBAGE_ARGS */
		{"RPC Packet not accepted by the server", -EACCES}}; /* MSG_DENIED: the credential */

	for (size_t n = 0; n < ARRAY_SIZE(known); n++)
		if (strcmp(text, known[n].text) == 0)
			return known[n].error;
	return 0;
}

/* Translates nfsstat3 into errno (fs/nfs_common/common.c nfs_stat_to_errno). */
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

/* True if the kernel accepts the attributes; with others it would declare the inode bad for ever. */
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

/* Sets ret->len to 0 if the handle is invalid. */
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

/* libnfs makes a linked list of entries. They may be misaligned in its memory, so each entry is copied. */
#define FOREACH_ENTRY(type, e, first) for (type e = {.nextentry = (first)}; next_entry(&e, e.nextentry, sizeof(e));)

static bool next_entry(void *to, const void *from, size_t size)
{
	if (from)
		memcpy(to, from, size);
	return from != NULL;
}

/* True if the kernel accepts the name; it would refuse a whole listing because of one invalid name. */
static bool good_name(const char *name)
{
	size_t length = name ? strlen(name) : 0;

	return length > 0 && length <= NFS_NAME_MAX && !strchr(name, '/');
}

/* Makes the array for n entries, and sets the other results. The names stay in libnfs's memory. */
static struct nfs_entry *new_entries(struct nfs_call *call, size_t n, bool eof, const char verf[NFS3_COOKIEVERFSIZE])
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
	/* A valid reply has no more data than the call asked for. */
	if (res->count > call->args.io.count) {
		call->error = -EIO;
		return;
	}
	call->res.io.data = buffer;
#ifndef LIBNFS_TASKS
	/* Nor less: a length that libnfs took for negative would be larger than the data. */
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

/* True if the reply about one ACL is possible: no length is too large, and a requested ACL has all its entries. */
static bool good_acl(uint32_t count, uint32_t length, bool asked)
{
	return count <= NFS_ACL_MAX && length <= NFS_ACL_MAX && (!asked || length == count);
}

/* Copies the ACLs, which may be misaligned in libnfs's memory. The caller frees the array of entries. */
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

/* The two arms of a result's union. */
#define OK(type)   (&((type *)data)->type##_u.resok)
#define FAIL(type) (&((type *)data)->type##_u.resfail)

/* The attributes of the directory, which the server sends with success and with an error. */
#define TAKE_WCC(type) take_wcc(&call->dir, call->error == 0 ? &OK(type)->dir_wcc : &FAIL(type)->dir_wcc)
#define TAKE_DIR(type) \
	take_dir_attr(&call->dir, call->error == 0 ? &OK(type)->dir_attributes : &FAIL(type)->dir_attributes)

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

/* The result of a procedure that finds or makes an object by its name. */
static void take_named(struct nfs_call *call, void *data)
{
	switch (call->proc) {
	case NFS_LOOKUP:
		take_fh(&call->new_fh, &OK(LOOKUP3res)->object);
		take_attr(call, &OK(LOOKUP3res)->obj_attributes);
		if (call->new_fh.len == 0)
			call->error = -EIO;
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
	default:
		take_attr(call, &OK(LINK3res)->file_attributes);
		break;
	}
}

/* The result of a procedure that describes a filesystem. */
static void take_limits(struct nfs_call *call, void *data)
{
	switch (call->proc) {
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
	default:
		call->res.pathconf.linkmax = OK(PATHCONF3res)->linkmax;
		call->res.pathconf.name_max = OK(PATHCONF3res)->name_max;
		break;
	}
}

/* The result of a procedure on one object, except READ and WRITE. */
static void take_attributes(struct nfs_call *call, void *data)
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

static void take_results(struct nfs_call *call, void *data, void *buffer)
{
	switch (call->proc) {
	case NFS_LOOKUP:
	case NFS_CREATE:
	case NFS_MKDIR:
	case NFS_SYMLINK:
	case NFS_MKNOD:
	case NFS_LINK:
		take_named(call, data);
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
	case NFS_READDIR:
		take_readdir(call, OK(READDIR3res));
		break;
	case NFS_READDIRPLUS:
		take_readdirplus(call, OK(READDIRPLUS3res));
		break;
	case NFS_FSSTAT:
	case NFS_FSINFO:
	case NFS_PATHCONF:
		take_limits(call, data);
		break;
	default:
		take_attributes(call, data);
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
	if (call->proc == NFS_COMPOUND) {
		nfs4_decode_looks(call, data);
		return false;
	}
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
