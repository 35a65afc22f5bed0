/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "fuse/acl/default_acl.h"

#include "base/clock.h"
#include "fuse/kernel/posix_acl.h"

/* GETACL of the directory, for which a request waits: the request sends proc afterwards. */
struct question {
	struct nfs_call call;
	struct request *r;
	enum nfs_proc proc;
	void (*done)(struct nfs_call *call);
	uint32_t version;
};

static void send_limited(struct request *r, enum nfs_proc proc, void (*done)(struct nfs_call *call),
	const struct default_acl *acl)
{
	uint32_t allowed = acl->there ? acl->mode : ~(uint32_t)fuse_req_ctx(r->req)->umask;

	r->call.args.sattr.mode &= allowed | ~0777U;
	request_send(r, proc, done);
}

static void on_default_acl(struct nfs_call *call)
{
	struct question *q = CONTAINER_OF(call, struct question, call);
	struct request *r = q->r;
	unsigned valid_s = r->fs->options->noac ? 0 : r->fs->options->acdirmin;
	struct default_acl known = {.until = work_ms() + valid_s * 1000ULL};
	struct posix_acl acl = {.count = 0};
	int error = call->error;

	if (error == 0)
		error = posix_acl_from_nfs(call->res.acl.dflt, call->res.acl.default_count, &acl);
	/* Another server than at the mount, without ACLs. */
	else if (error == -EOPNOTSUPP)
		error = 0;
	if (error < 0) {
		request_end_error(r, error);
		free(q);
		return;
	}
	known.there = acl.count > 0;
	known.mode = (uint16_t)posix_acl_mode(&acl);
	{
		LOCKED(&r->inode->lock);
		known.version = r->inode->default_acl.version;
		/* If default_acl_forget() was called meanwhile, the answer may be older than the present ACL. */
		if (known.version == q->version)
			r->inode->default_acl = known;
	}
	send_limited(r, q->proc, q->done, &known);
	free(q);
}

static bool question_given_up(struct nfs_call *call)
{
	return request_given_up(CONTAINER_OF(call, struct question, call)->r);
}

void default_acl_send(struct request *r, enum nfs_proc proc, void (*done)(struct nfs_call *call))
{
	struct default_acl known;
	struct question *q;

	if (!r->fs->has_acls || proc == NFS_SYMLINK) {
		request_send(r, proc, done);
		return;
	}
	{
		LOCKED(&r->inode->lock);
		known = r->inode->default_acl;
	}
	if (work_ms() < known.until) {
		send_limited(r, proc, done, &known);
		return;
	}
	q = calloc(1, sizeof(*q));
	if (!q) {
		request_end_error(r, -ENOMEM);
		return;
	}
	request_groups(r);
	q->call = (struct nfs_call){.proc = NFS_GETACL,
		.cred = r->call.cred,
		.fh = r->call.fh,
		.args.acl.mask = NFS_ACL_DEFAULT | NFS_ACL_DEFAULT_COUNT,
		.given_up = question_given_up,
		.done = on_default_acl};
	q->r = r;
	q->proc = proc;
	q->done = done;
	q->version = known.version;
	server_submit(r->fs->server, &q->call);
}

void default_acl_forget(struct inode *i)
{
	LOCKED(&i->lock);
	i->default_acl.until = 0;
	i->default_acl.version++;
}
