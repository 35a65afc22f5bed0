/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "fuse/known/search_acl.h"

#include <sys/stat.h>

#include "fuse/kernel/posix_acl.h"
#include "fuse/known/known.h"

struct question {
	struct nfs_call call;
	struct fs *fs;
	struct inode *dir; /* with a reference */
	uint64_t epoch, asked;
};

static void answered(struct nfs_call *call)
{
	struct question *q = CONTAINER_OF(call, struct question, call);
	struct posix_acl acl;

	if (call->error == 0 && posix_acl_from_nfs(call->res.acl.access, call->res.acl.access_count, &acl) == 0)
		known_acl(q->fs, q->dir, acl.count > POSIX_ACL_MODE_ENTRIES, q->epoch, q->asked);
	(void)inode_unref(q->fs->inodes, q->dir);
	free(q);
}

static bool nobody_waits(struct nfs_call *call)
{
	return true;
}

void search_acl_ask(struct fs *fs, struct inode *dir, const struct nfs_cred *cred)
{
	struct question *q;
	uint64_t epoch;

	if (dir->type != S_IFDIR || !known_asks_acl(fs, dir, &epoch))
		return;
	q = calloc(1, sizeof(*q));
	if (!q)
		return;
	q->fs = fs;
	q->dir = inode_ref(dir);
	q->epoch = epoch;
	q->asked = attr_clock();
	q->call.cred = *cred;
	q->call.fh = dir->fh;
	q->call.args.acl.mask = NFS_ACL_ACCESS;
	q->call.proc = NFS_GETACL;
	q->call.done = answered;
	q->call.given_up = nobody_waits;
	server_submit(fs->server, &q->call);
}
