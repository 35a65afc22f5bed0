/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "fuse/request.h"

#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

void request_cred(struct fs *fs, fuse_req_t req, struct nfs_cred *ret)
{
	const struct fuse_ctx *ctx = fuse_req_ctx(req);
	gid_t groups[64];
	int n;

	memset(ret, 0, sizeof(*ret));
	ret->uid = ctx->uid;
	ret->gid = ctx->gid;
	if (ctx->pid == 0) {
		fs->counters.groups_unknown++;
		return;
	}
	n = fuse_req_getgroups(req, (int)ARRAY_SIZE(groups), groups);
	if (n < 0) {
		fs->counters.groups_unknown++;
		return;
	}
	for (int i = 0; i < MIN(n, (int)ARRAY_SIZE(groups)) && ret->ngroups < NFS_GROUPS_MAX; i++)
		ret->groups[ret->ngroups++] = groups[i];
}

static void set_inode(struct request *r, fuse_req_t req, fuse_ino_t ino)
{
	r->fs = fuse_req_userdata(req);
	r->req = req;
	r->inode = inode_ref(fs_inode(r->fs, ino));
	r->call.fh = r->inode->fh;
}

void request_init_open(
	struct request *r, fuse_req_t req, fuse_ino_t ino, const struct nfs_cred *cred)
{
	set_inode(r, req, ino);
	r->call.cred = *cred;
}

int request_init(struct request *r, fuse_req_t req, fuse_ino_t ino, const char *name, const char *name2)
{
	set_inode(r, req, ino);
	r->name = name ? strdup(name) : NULL;
	r->name2 = name2 ? strdup(name2) : NULL;
	if ((name && !r->name) || (name2 && !r->name2)) {
		request_end_error(r, -ENOMEM);
		return -ENOMEM;
	}
	r->call.name = r->name;
	r->call.name2 = r->name2;
	request_cred(r->fs, req, &r->call.cred);
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

void request_send(struct request *r, enum nfs_proc proc, void (*done)(struct nfs_call *call))
{
	r->call.proc = proc;
	r->call.done = done;
	transport_submit(r->fs->transport, &r->call);
}

void request_end(struct request *r)
{
	(void)inode_unref(r->fs->inodes, r->inode);
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
	r->then(r);
}

void request_find_entry(struct request *r, void (*then)(struct request *r))
{
	r->then = then;
	entry_step(r);
}

void attr_to_stat(const struct nfs_attr *attr, struct stat *ret)
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

double attr_timeout(const struct fs *fs, uint32_t type)
{
	return type == S_IFDIR ? fs->options->acdirmin : fs->options->acregmin;
}

int request_make_entry(struct request *r, struct fuse_entry_param *ret, struct inode **ret_inode)
{
	struct inode *i;
	int error = inode_table_get(r->fs->inodes, &r->entry_fh, &r->entry_attr, &i);

	if (error < 0)
		return error;
	memset(ret, 0, sizeof(*ret));
	/*
	 * No entry timeout: the kernel would walk a cached name without asking, and only the server
	 * knows (ACLs, squash) who may. Every step is a LOOKUP with its caller's credential.
	 */
	ret->ino = i == r->fs->root ? FUSE_ROOT_ID : (fuse_ino_t)(uintptr_t)i;
	ret->generation = i->generation;
	ret->attr_timeout = attr_timeout(r->fs, i->type);
	attr_to_stat(&r->entry_attr, &ret->attr);
	inode_table_looked_up(r->fs->inodes, i);
	*ret_inode = i;
	return 0;
}

void request_reply_entry(struct request *r)
{
	struct fuse_entry_param entry;
	struct inode *i;
	int error = request_make_entry(r, &entry, &i);

	if (error < 0) {
		request_end_error(r, error);
		return;
	}
	if (fuse_reply_entry(r->req, &entry) < 0)
		inode_table_forget(r->fs->inodes, i, 1);
	(void)inode_unref(r->fs->inodes, i);
	request_end(r);
}
