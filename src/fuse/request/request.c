/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "fuse/request/request.h"
#include "fuse/shortcut/shortcut.h"

#include <string.h>

#include "base/clock.h"
#include "fuse/fs/open_hold.h"
#include "fuse/kernel/caller.h"
#include "fuse/fs/file.h"
#include "fuse/known/search_acl.h"
#include "fuse/request/learn.h"

#define UNKNOWN_PATIENCE_MS 2000 /* a caller with a signal waits so long if /proc does not show which signal */

static void set_inode(struct request *r, fuse_req_t req, fuse_ino_t ino)
{
	r->fs = fuse_req_userdata(req);
	r->req = req;
	operation_take(&r->operation);
	r->asked = attr_clock();
	r->inode = inode_ref(fs_inode(r->fs, ino));
	r->call.fh = r->inode->fh;
}

void request_init_open(struct request *r, fuse_req_t req, fuse_ino_t ino, const struct opened_as *as)
{
	set_inode(r, req, ino);
	r->call.cred = as->cred;
	r->has_groups = as->has_groups;
	r->opener = as->opener;
}

struct opened_as request_opened_as(const struct request *r)
{
	const struct fuse_ctx *ctx = fuse_req_ctx(r->req);

	return (struct opened_as){.cred = r->call.cred,
		.has_groups = r->has_groups,
		.opener = {fs_caller_pid(r->fs, r->req), ctx->uid, ctx->gid}};
}

void request_init_ids(struct request *r, fuse_req_t req, fuse_ino_t ino)
{
	const struct fuse_ctx *ctx = fuse_req_ctx(req);

	const struct namespaces *n = &((struct fs *)fuse_req_userdata(req))->namespaces;

	set_inode(r, req, ino);
	r->call.cred.uid = namespaces_uid_to_server(n, ctx->uid);
	r->call.cred.gid = namespaces_gid_to_server(n, ctx->gid);
}

static int read_groups(const struct request *r, gid_t *ret)
{
	pid_t pid = fs_caller_pid(r->fs, r->req);
	const struct caller *o = &r->opener;
	int n = o->pid == pid ? -ESRCH : caller_groups_if(o->pid, o->uid, o->gid, ret, NFS_GROUPS_MAX);

	return n < 0 ? caller_groups(pid, ret, NFS_GROUPS_MAX) : n;
}

void request_groups(struct request *r)
{
	struct nfs_cred *cred = &r->call.cred;
	int n;

	r->groups_later = r->call.groups_untold = false;
	if (r->has_groups)
		return;
	r->has_groups = true;
	n = read_groups(r, cred->groups);
	if (n < 0)
		r->fs->counters.groups_unknown++;
	else
		cred->ngroups = (uint32_t)namespaces_groups_to_server(&r->fs->namespaces, cred->groups, n);
}

void request_groups_if_needed(struct request *r)
{
	r->groups_later = !r->has_groups;
}

/* As far as the mount knows. */
static bool is_owner(struct inode *i, const struct nfs_cred *cred)
{
	LOCKED(&i->lock);
	return i->attrs.attr.uid == cred->uid;
}

static void tell_groups(struct nfs_call *call)
{
	request_groups(CONTAINER_OF(call, struct request, call));
}

void request_groups_for_sidecar(struct request *r)
{
	uint64_t session = fs_generation(r->fs);
	bool decide = r->call.cred.uid == 0 ? r->fs->groups_asked == session : !is_owner(r->inode, &r->call.cred);

	r->call.groups_untold = !r->has_groups && !decide && session != 0;
	r->call.tell_groups = tell_groups;
	if (!r->call.groups_untold)
		request_groups(r);
}

static int init_names(struct request *r, fuse_req_t req, fuse_ino_t ino, const char *name, const char *name2)
{
	request_init_ids(r, req, ino);
	r->name = name ? strdup(name) : NULL;
	r->name2 = name2 ? strdup(name2) : NULL;
	if ((name && !r->name) || (name2 && !r->name2)) {
		request_end_error(r, -ENOMEM);
		return -ENOMEM;
	}
	r->call.name = r->name;
	r->call.name2 = r->name2;
	return 0;
}

int request_init(struct request *r, fuse_req_t req, fuse_ino_t ino, const char *name, const char *name2)
{
	if (init_names(r, req, ino, name, name2) < 0)
		return -ENOMEM;
	request_groups(r);
	return 0;
}

int request_init_change(struct request *r, fuse_req_t req, fuse_ino_t ino, const char *name, const char *name2)
{
	if (init_names(r, req, ino, name, name2) < 0)
		return -ENOMEM;
	request_groups_for_sidecar(r);
	return 0;
}

static struct request *new_with(fuse_req_t req, fuse_ino_t ino, const char *name, const char *name2)
{
	struct request *r = calloc(1, sizeof(*r));

	if (!r) {
		operation_refuse(req, ENOMEM);
		return NULL;
	}
	return init_names(r, req, ino, name, name2) < 0 ? NULL : r;
}

struct request *request_new(fuse_req_t req, fuse_ino_t ino, const char *name, const char *name2)
{
	struct request *r = new_with(req, ino, name, name2);

	if (r)
		request_groups(r);
	return r;
}

struct request *request_new_change(fuse_req_t req, fuse_ino_t ino, const char *name, const char *name2)
{
	struct request *r = new_with(req, ino, name, name2);

	if (r)
		request_groups_for_sidecar(r);
	return r;
}

struct request *request_new_ids(fuse_req_t req, fuse_ino_t ino, const char *name)
{
	return new_with(req, ino, name, NULL);
}

bool request_given_up(struct request *r)
{
	enum caller_state state;

	/*
	 * Looks for FUSE_INTERRUPT first, and reads /proc only for callers with a signal, or where no FUSE_INTERRUPT
	 * would come. Over io_uring the kernel does not report a signal that came before the request
	 * (fs/fuse/dev_uring.c fuse_uring_prepare_send).
	 */
	if (!r->req || (!r->unannounced && !fuse_req_is_uring(r->req) && !fuse_req_interrupted(r->req)))
		return false;
	state = caller_state(fs_caller_pid(r->fs, r->req));
	if (state == CALLER_UNKNOWN && fuse_req_interrupted(r->req)) {
		if (r->unknown_since == 0)
			r->unknown_since = now_ms();
		return time_since(r->unknown_since, now_ms()) >= UNKNOWN_PATIENCE_MS;
	}
	return state == CALLER_KILLED || (state == CALLER_EXITING && r->unannounced);
}

static bool patience_given_up(void *arg)
{
	return request_given_up(arg);
}

struct patience request_patience(struct request *r)
{
	return (struct patience){.given_up = patience_given_up, .arg = r};
}

static bool call_given_up(struct nfs_call *call)
{
	struct request *r = CONTAINER_OF(call, struct request, call);

	if (r->removing)
		held_opens_given_up(r->removing);
	return request_given_up(r);
}

void request_set_directory2(struct request *r, fuse_ino_t dir)
{
	r->inode2 = inode_ref(fs_inode(r->fs, dir));
	r->call.fh2 = r->inode2->fh;
}

static void on_call_made(struct nfs_call *call)
{
	learn_from_making(CONTAINER_OF(call, struct request, call));
}

/* True if the answer to a call without groups may be another one than with them. */
static bool groups_are_needed(struct request *r)
{
	const struct nfs_call *call = &r->call;

	if (call->error == -EACCES || call->error == -EPERM || call->error == -ESTALE)
		return true;
	if (call->proc != NFS_LOOKUP || (call->error < 0 && call->error != -ENOENT))
		return false;
	return !call->dir.has_after || known_groups_matter(r->fs, r->inode, &call->dir.after, &call->cred, S_IXOTH);
}

static void on_call_answered(struct nfs_call *call)
{
	struct request *r = CONTAINER_OF(call, struct request, call);

	if (call->by_sidecar)
		r->operation.path = call->by_setter ? OPERATION_BY_DAEMON : OPERATION_BY_SIDECAR;
	learn_from_answer(r);
	if (r->fs->shortcut)
		shortcut_learn(r->fs->shortcut, call);
	search_acl_ask(r->fs, r->inode, &call->cred);
	if (r->groups_later && groups_are_needed(r)) {
		request_groups(r);
		request_send(r, call->proc, r->answered);
		return;
	}
	r->answered(call);
}

void request_send(struct request *r, enum nfs_proc proc, void (*done)(struct nfs_call *call))
{
	r->call.proc = proc;
	r->call.made = on_call_made;
	r->call.done = on_call_answered;
	r->call.given_up = call_given_up;
	r->call.dir.has_after = r->call.dir2.has_after = false;
	r->answered = done;
	r->operation.path = OPERATION_BY_SERVER;
	learn_from_question(r);
	if (proc == NFS_CREATE)
		server_create(r->fs->server, &r->call);
	else
		server_submit(r->fs->server, &r->call);
}

void request_count(struct request *r)
{
	operation_end(r->fs->operations, &r->operation);
}

void request_end(struct request *r)
{
	request_count(r);
	removal_ended(r->fs, &r->removing);
	if (r->call.opening)
		opening_drop(r->fs, r->call.opening);
	(void)inode_unref(r->fs->inodes, r->inode);
	(void)inode_unref(r->fs->inodes, r->inode2);
	(void)inode_unref(r->fs->inodes, r->replaced);
	free(r->name);
	free(r->name2);
	free(r);
}

void request_end_error(struct request *r, int error)
{
	if (r->req) {
		r->operation.error = (int16_t)-error;
		request_count(r);
		(void)fuse_reply_err(r->req, -error);
	}
	request_end(r);
}
