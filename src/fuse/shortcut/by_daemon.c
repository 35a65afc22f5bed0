/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "fuse/shortcut/change.h"

#include <sys/stat.h>

#include "base/clock.h"
#include "fuse/fs/convert.h"
#include "fuse/known/known.h"
#include "fuse/local/granted_file.h"
#include "fuse/local/idle_ids.h"
#include "fuse/shortcut/shortcut.h"
#include "handle/nfs_handle.h"
#include "setattr/setattr.h"

#define NO_ASKING_MS 1000 /* after a directory of which no descriptor has come, as of any on such a filesystem */

/* ---- the change ---- */

/* While the setter has the job, nobody gives the call up: the setter's thread may end the change meanwhile. */
static void set_by_setter(struct change *c, bool by_setter)
{
	LOCKED(&c->changes->lock);
	c->by_setter = by_setter;
}

/* The sidecar must make the change, since it knows the server's answer. */
static void leave_to_sidecar(struct change *c)
{
	struct broker_lookup child = {0};
	struct change_message m;

	/* Both have been made of this call before. */
	(void)change_message(c->changes->fs, c->call, &m);
	if (c->job.naming)
		(void)broker_lookup_of_nfs(c->call, &child);
	set_by_setter(c, false);
	change_begin(c, &m, &child);
}

/* The directory around the change of its names. */
static struct nfs_wcc wcc_of(const struct setter_job *job, const struct nfs_attr *after)
{
	struct nfs_wcc wcc = {.has_before = true,
		.size_before = (uint64_t)job->before.st_size,
		.mtime_before = job->before.st_mtim,
		.ctime_before = job->before.st_ctim,
		.has_after = after != NULL,
		.no_acl = job->no_acl};

	if (after)
		wcc.after = *after;
	return wcc;
}

/* The server does not know of the change. */
static void tell_memory(const struct change *c, const struct nfs_attr *after)
{
	struct memory_directory seen = {.taker = c->job.naming && c->proc != NFS_MKDIR ? &c->cred : NULL};
	struct memory *memory = c->changes->memory;

	if (after) {
		seen.mtime = after->mtime;
		seen.ctime = after->ctime;
	}
	memory_directory_changed(memory, &c->fh, &seen);
	if (c->proc == NFS_RENAME && c->doubt.child.len > 0)
		memory_changed(memory, &c->doubt.child);
}

static void take_made(const struct change *c, struct nfs_call *call)
{
	const struct setter_made *made = &c->job.made;

	call->new_fh = made->fh;
	call->has_attr = made->fh.len > 0;
	if (!call->has_attr)
		return;
	call->attr = made->attr;
	call->no_acl = made->no_acl;
	call->empty = true;
	call->born = c->born;
}

static void take_result(const struct change *c, const struct nfs_attr *after, struct nfs_call *call)
{
	call->error = 0;
	call->by_sidecar = call->by_setter = true;
	call->has_attr = after && !c->job.naming;
	if (call->has_attr)
		call->attr = *after;
	call->dir = c->job.naming ? wcc_of(&c->job, after) : (struct nfs_wcc){0};
	if (c->proc == NFS_RENAME)
		call->dir2 = call->dir;
	if (c->proc == NFS_MKDIR)
		take_made(c, call);
}

/* The setter's thread has done the job, or has changed nothing. */
static void on_job_done(struct setter_job *job, int error, const struct nfs_attr *after)
{
	struct change *c = CONTAINER_OF(job, struct change, job);
	struct nfs_call *call;

	if (error < 0) {
		leave_to_sidecar(c);
		return;
	}
	call = change_take_call(c);
	tell_memory(c, after);
	take_result(c, after, call);
	call->done(call);
	free(c);
}

/* ---- which changes ---- */

/* True for a change of names that the daemon could make. */
static bool is_naming(const struct change *c)
{
	if (c->proc == NFS_REMOVE)
		return !fs_server_remembers(c->changes->fs);
	return c->proc == NFS_MKDIR || c->proc == NFS_RMDIR || (c->proc == NFS_RENAME && nfs_fh_equal(&c->fh, &c->fh2));
}

/*
 * True for a RENAME that the daemon must leave to the sidecar: a server that remembers may have the file open whose
 * name is taken, and must look at what was renamed.
 */
static bool is_for_sidecar(const struct change *c)
{
	struct fs *fs = c->changes->fs;
	struct inode *replaced;
	bool replaces;

	if (c->proc != NFS_RENAME || !fs_server_remembers(fs))
		return false;
	replaced = change_known_inode(fs, &c->fh2, c->call->name2);
	replaces = replaced != NULL;
	(void)inode_unref(fs->inodes, replaced);
	return replaces || c->doubt.child.len == 0;
}

/* What the daemon must be allowed to do to the file, as enum broker_set; 0: the sidecar makes the change. */
static uint32_t kinds_of(const struct change *c, const struct change_message *m)
{
	if (c->proc == NFS_SETATTR)
		return setattr_is_whole(&m->body.setattr) ? m->body.setattr.set : 0;
	if (!is_naming(c) || is_for_sidecar(c))
		return 0;
	if (c->proc != NFS_MKDIR)
		return BROKER_SET_NAMES;
	/* The servers have rules of their own for set-id bits and the sticky bit. */
	return (m->body.make.mode & ~(uint32_t)(S_IFMT | 0777)) == 0 ? BROKER_SET_NAMES | BROKER_SET_MKDIR : 0;
}

/* A looker by which the setter may make the change; NULL if there is none. */
static struct granted_file *file_to_change(const struct change *c, uint32_t kinds)
{
	struct fs *fs = c->changes->fs;
	struct inode *i = inode_table_find(fs->inodes, &c->fh);
	struct granted_file *g = NULL;

	if (i && ((kinds & BROKER_SET_NAMES) == 0 || known_has_notices(fs, i)))
		g = granted_file_to_set(fs, i, kinds, c->cred.uid, c->cred.gid);
	if (g && (kinds & BROKER_SET_NAMES) != 0)
		idle_ids_looked(i);
	(void)inode_unref(fs->inodes, i);
	return g;
}

bool change_by_daemon(struct change *c, const struct change_message *m)
{
	struct fs *fs = c->changes->fs;
	uint32_t kinds = fs->setter && change_is_lazy(fs) ? kinds_of(c, m) : 0;
	struct granted_file *g;

	c->born = fs->born; /* before the look whether the directory is watched */
	g = kinds != 0 ? file_to_change(c, kinds) : NULL;
	if (!g)
		return false;
	c->job = (struct setter_job){.file = g, .replaces = !fs_server_remembers(fs), .done = on_job_done};
	if ((kinds & BROKER_SET_NAMES) != 0)
		c->job.naming = c->call;
	else
		c->job.body = m->body.setattr;
	set_by_setter(c, true);
	if (setter_take(fs->setter, &c->job))
		return true;
	set_by_setter(c, false);
	(void)granted_file_unref(g);
	return false;
}

/* ---- the directory's descriptor ---- */

/* The question for a directory. */
struct wish {
	struct broker_call broker;
	struct changes *changes;
	struct nfs_fh dir;
	uint64_t generation;
	uint32_t uid, gid;
};

/* Also one by which the daemon may change nothing: so the sidecar is not asked again. */
static void take_looker(const struct wish *w, const struct broker_open_reply *reply, int *fd)
{
	const struct broker_fh fh = request_broker_fh(&w->dir);
	/* For a new directory the setter tells the handle that the server would. */
	const uint32_t unable = nfs_handle_is_of(&fh, *fd) ? 0 : BROKER_SET_MKDIR;
	const struct setting setting = {.kinds = reply->may_set & ~unable,
		.asked = true,
		.uid = w->uid,
		.gid = w->gid,
		.as_uid = reply->set_uid,
		.as_gid = reply->set_gid};
	struct fs *fs = w->changes->fs;
	struct inode *dir = inode_table_find(fs->inodes, &w->dir);

	if (dir)
		idle_ids_take_looker(fs, dir, w->generation, &setting, fd);
	(void)inode_unref(fs->inodes, dir);
}

static void on_directory(struct broker_call *call, int error, const void *body)
{
	struct wish *w = CONTAINER_OF(call, struct wish, broker);
	const struct broker_open_reply *reply = body;

	if (error == 0 && reply->error == 0 && *call->fd >= 0)
		take_looker(w, reply, call->fd);
	else
		w->changes->no_asking_ms = work_ms() + NO_ASKING_MS;
	free(w);
}

/* True if the daemon might make the next change of this kind in the directory. */
static bool is_worth_asking(const struct change *c)
{
	const struct fs *fs = c->changes->fs;

	return is_naming(c) && fs->setter && change_is_lazy(fs) && granted_file_may_look(fs) &&
	       probe_sees_same_mounts(fs->probe) && work_ms() >= c->changes->no_asking_ms;
}

/* True if the directory has notices, and it is not known whether the daemon may change its names for this caller. */
static bool is_untold(const struct change *c)
{
	struct fs *fs = c->changes->fs;
	struct inode *dir = inode_table_find(fs->inodes, &c->fh);
	bool untold = dir && known_has_notices(fs, dir) && !granted_file_tells_names(fs, dir, c->cred.uid, c->cred.gid);

	(void)inode_unref(fs->inodes, dir);
	return untold;
}

/* True for the second change in a row in this directory, and the fourth... */
static bool is_second(struct changes *cs, const struct nfs_fh *dir)
{
	bool second = nfs_fh_equal(&cs->last, dir);

	cs->last = *dir;
	if (second)
		cs->last.len = 0;
	return second;
}

void change_ask_directory(const struct change *c, const struct nfs_call *call)
{
	struct changes *cs = c->changes;
	struct broker_open body = {.fh = request_broker_fh(&c->fh),
		.cred = broker_cred_of_nfs(call),
		.flags = BROKER_OPEN_WANT_LOOK | BROKER_OPEN_WANT_SET};
	bool asks = is_worth_asking(c) && is_second(cs, &c->fh) && is_untold(c);
	struct wish *w = asks ? calloc(1, sizeof(*w)) : NULL;

	if (!w)
		return;
	w->broker.done = on_directory;
	w->changes = cs;
	w->dir = c->fh;
	w->generation = c->generation;
	w->uid = c->cred.uid;
	w->gid = c->cred.gid;
	shortcut_look(cs->fs->shortcut, &w->broker, &body);
}
