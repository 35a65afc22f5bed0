/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "fuse/local/server_refresh.h"

#include <string.h>

#include "fuse/fs/fs.h"
#include "fuse/known/known.h"
#include "base/log.h"

#define REFRESH_PATIENCE_MS 5000
#define UNWAITED_MAX        16 /* of one mount: each may be an fsync for the server */

void server_look(const struct fs *fs, struct nfs_call *call)
{
	memset(&call->args, 0, sizeof(call->args));
	if (fs->has_acls || fs->looks_by_commit) {
		call->proc = NFS_COMMIT;
		return;
	}
	call->proc = NFS_GETACL;
	call->args.acl.mask = NFS_ACL_ACCESS;
}

int server_looked(struct fs *fs, struct nfs_call *call)
{
	if (call->proc == NFS_COMMIT)
		return call->error == -EISDIR ? 0 : call->error;
	if (call->error < 0 && call->error != -EOPNOTSUPP)
		return call->error;
	if (call->error == 0 && call->res.acl.access_count == 0)
		return 0;
	fs->looks_by_commit = true;
	server_look(fs, call);
	return -EAGAIN;
}

void server_refresh_changed(struct inode *i)
{
	LOCKED(&i->lock);
	i->changed_past++;
}

/* True if the kernel may write to the backing file now. The caller holds the inode's lock. */
static bool is_being_written(const struct inode *i)
{
	return open_mode_registered(&i->mode) > 0 && i->known.writers > 0;
}

bool server_refresh_needed(const struct fs *fs, struct inode *i)
{
	if (!fs_server_remembers(fs))
		return false;
	LOCKED(&i->lock);
	return i->changed_past != i->looked_past || is_being_written(i);
}

bool server_refresh_owed(const struct fs *fs, struct inode *i)
{
	if (!fs_server_remembers(fs))
		return false;
	LOCKED(&i->lock);
	return i->changed_past != i->asked_past;
}

static bool given_up(struct nfs_call *call)
{
	return patience_ended(&CONTAINER_OF(call, struct server_refresh, call)->patience);
}

static void begin_view(struct inode *i, struct server_view *ret)
{
	LOCKED(&i->lock);
	ret->inode = i;
	ret->changed_past = i->asked_past = i->changed_past;
}

void server_view_begin(struct fs *fs, const struct nfs_fh *fh, struct server_view *ret)
{
	struct inode *i = inode_table_find(fs->inodes, fh);

	*ret = (struct server_view){0};
	if (i)
		begin_view(i, ret);
}

void server_view_end(struct fs *fs, struct server_view *v, enum nfs_proc proc, int error)
{
	struct inode *i = STEAL_PTR(v->inode);
	bool news, doubt;

	if (!i)
		return;
	/* COMMIT is fsync, too: the server tells once of data that it could not write. */
	if (proc == NFS_COMMIT && (error == -EIO || error == -ENOSPC || error == -EDQUOT))
		write_log_fail(&i->writes, error);
	{
		LOCKED(&i->lock);
		news = (int32_t)(v->changed_past - i->looked_past) > 0;
		doubt = news || is_being_written(i);
		if (news && error == 0)
			i->looked_past = v->changed_past;
	}
	if (doubt)
		known_doubt(i);
	(void)inode_unref(fs->inodes, i);
}

static void on_answer(struct nfs_call *call)
{
	struct server_refresh *r = CONTAINER_OF(call, struct server_refresh, call);
	int error = server_looked(r->fs, call);

	if (error == -EAGAIN) {
		server_submit(r->fs->server, call);
		return;
	}
	r->fs->counters.refreshes++;
	if (error < 0) {
		r->fs->counters.refreshes_failed++;
		log_debug("the server did not look at a file again: %s", strerror(-error));
	}
	server_view_end(r->fs, &r->view, call->proc, error);
	r->done(r);
}

static bool is_connected(const struct fs *fs)
{
	struct server_stats stats;

	server_stats(fs->server, &stats);
	return stats.connected;
}

static void submit(struct server_refresh *r, struct fs *fs, struct inode *i, const struct nfs_cred *cred)
{
	r->fs = fs;
	r->call = (struct nfs_call){.fh = i->fh,
		.cred = *cred,
		.patience_ms = REFRESH_PATIENCE_MS,
		.given_up = given_up,
		.done = on_answer};
	server_look(fs, &r->call);
	begin_view(inode_ref(i), &r->view);
	server_submit(fs->server, &r->call);
}

static void unwaited_done(struct server_refresh *r)
{
	r->fs->refreshes_unwaited--;
	free(r);
}

/* Sends a refresh that no caller waits for, unless too many are on their way: RELEASE tells of the others. */
static void refresh_unwaited(struct fs *fs, struct inode *i, const struct nfs_cred *cred)
{
	struct server_refresh *r;

	if (atomic_fetch_add(&fs->refreshes_unwaited, 1) >= UNWAITED_MAX) {
		fs->refreshes_unwaited--;
		return;
	}
	r = calloc(1, sizeof(*r));
	if (!r) {
		fs->refreshes_unwaited--;
		return;
	}
	r->done = unwaited_done;
	submit(r, fs, i, cred);
}

void server_refresh_start(struct server_refresh *r, struct fs *fs, struct inode *i, const struct nfs_cred *cred)
{
	if (!is_connected(fs)) {
		refresh_unwaited(fs, i, cred);
		r->done(r);
		return;
	}
	submit(r, fs, i, cred);
}

/* An action that waits until the server has looked. */
struct follower {
	struct server_refresh refresh;
	void (*then)(void *arg);
	void *arg;
};

static void on_look(struct server_refresh *r)
{
	struct follower *f = CONTAINER_OF(r, struct follower, refresh);
	void (*then)(void *arg) = f->then;
	void *arg = f->arg;

	free(f);
	then(arg);
}

void server_refresh_then(struct fs *fs, struct inode *i, const struct nfs_cred *cred, struct patience patience,
	void (*then)(void *arg), void *arg)
{
	struct follower *f = server_refresh_needed(fs, i) ? calloc(1, sizeof(*f)) : NULL;

	if (!f) {
		then(arg);
		return;
	}
	f->then = then;
	f->arg = arg;
	f->refresh.patience = patience;
	f->refresh.done = on_look;
	server_refresh_start(&f->refresh, fs, i, cred);
}
