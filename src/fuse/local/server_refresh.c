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

bool server_refresh_needed(const struct fs *fs, struct inode *i)
{
	if (!fs_server_remembers(fs))
		return false;
	LOCKED(&i->lock);
	return i->changed_past != i->looked_past || (open_mode_registered(&i->mode) > 0 && i->known.writers > 0);
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

static void on_answer(struct nfs_call *call)
{
	struct server_refresh *r = CONTAINER_OF(call, struct server_refresh, call);
	struct inode *i = r->inode;
	int error = server_looked(r->fs, call);

	if (error == -EAGAIN) {
		server_submit(r->fs->server, call);
		return;
	}
	r->fs->counters.refreshes++;
	if (error < 0) {
		r->fs->counters.refreshes_failed++;
		/* COMMIT is fsync, too: the server tells once of data that it could not write. */
		if (call->proc == NFS_COMMIT && (error == -EIO || error == -ENOSPC || error == -EDQUOT))
			write_log_fail(&i->writes, error);
		log_debug("the server did not look at a file again: %s", strerror(-error));
	} else {
		LOCKED(&i->lock);
		if ((int32_t)(r->changed_past - i->looked_past) > 0)
			i->looked_past = r->changed_past;
	}
	/* Attributes that were asked for before are from the server's memory. */
	known_doubt(i);
	(void)inode_unref(r->fs->inodes, i);
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
	r->inode = inode_ref(i);
	r->call = (struct nfs_call){.fh = i->fh,
		.cred = *cred,
		.patience_ms = REFRESH_PATIENCE_MS,
		.given_up = given_up,
		.done = on_answer};
	server_look(fs, &r->call);
	{
		LOCKED(&i->lock);
		r->changed_past = i->asked_past = i->changed_past;
	}
	server_submit(fs->server, &r->call);
}

void server_refresh_start(struct server_refresh *r, struct fs *fs, struct inode *i, const struct nfs_cred *cred)
{
	if (!is_connected(fs)) {
		(void)server_refresh_unwaited(fs, i, cred);
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

static void unwaited_done(struct server_refresh *r)
{
	r->fs->refreshes_unwaited--;
	free(r);
}

bool server_refresh_unwaited(struct fs *fs, struct inode *i, const struct nfs_cred *cred)
{
	struct server_refresh *r;

	if (atomic_fetch_add(&fs->refreshes_unwaited, 1) >= UNWAITED_MAX) {
		fs->refreshes_unwaited--;
		return false;
	}
	r = calloc(1, sizeof(*r));
	if (!r) {
		fs->refreshes_unwaited--;
		return false;
	}
	r->done = unwaited_done;
	submit(r, fs, i, cred);
	return true;
}
