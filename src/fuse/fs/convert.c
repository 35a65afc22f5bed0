/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "fuse/fs/convert.h"

#include <string.h>
#include <sys/sysmacros.h>

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

bool nfs_fh_of_broker(const struct broker_fh *fh, struct nfs_fh *ret)
{
	if (fh->length == 0 || fh->length > sizeof(ret->data))
		return false;
	ret->len = fh->length;
	memcpy(ret->data, fh->data, fh->length);
	return true;
}

struct broker_cred broker_cred_of_nfs(const struct nfs_call *call)
{
	struct broker_cred b = request_broker_cred(&call->cred);

	if (call->groups_untold)
		b.ngroups = BROKER_GROUPS_UNTOLD;
	return b;
}

bool broker_lookup_of_nfs(const struct nfs_call *call, struct broker_lookup *ret)
{
	size_t length = strlen(call->name);

	if (length > BROKER_MAX_NAME)
		return false;
	*ret = (struct broker_lookup){.dir = request_broker_fh(&call->fh), .cred = broker_cred_of_nfs(call)};
	memcpy(ret->name, call->name, length);
	ret->asks_acl = call->asks_acl;
	return true;
}

void attr_of_broker(const struct fs *fs, const struct broker_attr *attr, struct nfs_attr *ret)
{
	*ret = (struct nfs_attr){.mode = attr->mode,
		.nlink = attr->nlink,
		.uid = attr->uid,
		.gid = attr->gid,
		.size = attr->size,
		.used = attr->used,
		.fsid = fs->fsid,
		.fileid = attr->fileid,
		.rdev_major = attr->rdev_major,
		.rdev_minor = attr->rdev_minor,
		.atime = {attr->atime_sec, attr->atime_nsec},
		.mtime = {attr->mtime_sec, attr->mtime_nsec},
		.ctime = {attr->ctime_sec, attr->ctime_nsec}};
}

void attr_to_stat(const struct namespaces *n, const struct nfs_attr *attr, struct stat *ret)
{
	memset(ret, 0, sizeof(*ret));
	ret->st_ino = attr->fileid;
	ret->st_mode = attr->mode;
	ret->st_nlink = attr->nlink;
	ret->st_uid = namespaces_uid_from_server(n, attr->uid);
	ret->st_gid = namespaces_gid_from_server(n, attr->gid);
	ret->st_size = (off_t)attr->size;
	ret->st_blocks = (blkcnt_t)((attr->used + 511) / 512);
	ret->st_blksize = 4096;
	ret->st_rdev = makedev(attr->rdev_major, attr->rdev_minor);
	ret->st_atim = attr->atime;
	ret->st_mtim = attr->mtime;
	ret->st_ctim = attr->ctime;
}
