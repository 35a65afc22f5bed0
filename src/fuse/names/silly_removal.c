/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "fuse/names/silly_removal.h"

#include <semaphore.h>
#include <string.h>

#include "fuse/fs/open_hold.h"

static atomic_uint silly_open; /* the number of files with a .nfs name */

void silly_name_given(void)
{
	silly_open++;
}

void silly_names_changed(struct fs *fs, struct inode *file)
{
	known_links_changed(fs);
	known_doubt(file);
	fs_invalidate_attributes(fs, file);
}

/*
 * RMDIR is sent up to 11 times within a quarter of a second. No more, because the removals that it waits for may be in
 * other directories, or the files may stay open.
 */
#define RMDIR_TRIES         11
#define RMDIR_TRIES_AT_ONCE 3

/* An RMDIR, which may wait for removals. */
struct rmdir_request {
	struct request r;
	struct list node;
	unsigned tries; /* how often RMDIR was sent */
	uint64_t ended; /* removals.ended before RMDIR was sent */
	uint64_t last;  /* the number of the newest removal for which RMDIR waits */
	unsigned left;  /* the number of removals for which RMDIR still waits */
};

/* The removals under way, and the RMDIRs that wait for them. No other caller waits for a removal. */
static struct {
	pthread_mutex_t lock;
	struct list waiting; /* struct rmdir_request.node */
	uint64_t begun, ended;
} removals = {PTHREAD_MUTEX_INITIALIZER, {&removals.waiting, &removals.waiting}, 0, 0};

struct removal {
	struct nfs_call call;
	uint64_t number;
	char name[sizeof(((struct silly_place *)NULL)->name)];
	struct list node;
	struct fs *fs;
	struct inode *file; /* a reference */
	struct inode *dir;  /* a reference; NULL when the kernel does not know it */
	sem_t *done;
	struct request *request; /* silly_rename_failed() */
	bool last;               /* the .nfs name is the file's only name, and OPENs wait */
	int error;               /* the answer to that request */
};

static void rmdir_done(struct nfs_call *call);

static void send_rmdir(struct rmdir_request *q)
{
	{
		LOCKED(&removals.lock);
		q->ended = removals.ended;
	}
	q->tries++;
	q->r.call.delay_ms = q->tries > RMDIR_TRIES_AT_ONCE ? 1U << (q->tries - RMDIR_TRIES_AT_ONCE - 1) : 0;
	request_send(&q->r, NFS_RMDIR, rmdir_done);
}

static void end_rmdirs(struct list *from, bool killed)
{
	LIST_FOREACH (pos, from) {
		struct rmdir_request *q = CONTAINER_OF(pos, struct rmdir_request, node);

		list_remove(pos);
		if (killed)
			request_end_error(&q->r, -EINTR);
		else
			send_rmdir(q);
	}
}

/*
 * On ENOTEMPTY the directory may be empty soon: the server may do RMDIR before a REMOVE that was sent earlier, and the
 * kernel sends RELEASE some time after close(2). fs/nfs/dir.c nfs_rmdir waits, too.
 */
static void rmdir_done(struct nfs_call *call)
{
	struct rmdir_request *q = CONTAINER_OF(call, struct rmdir_request, r.call);
	bool retry = false;

	if (call->error == -ENOTEMPTY && q->tries < RMDIR_TRIES) {
		LOCKED(&removals.lock);
		q->left = (unsigned)(removals.begun - removals.ended);
		q->last = removals.begun;
		if (q->left > 0) {
			list_append(&removals.waiting, &q->node);
			return;
		}
		retry = q->ended != removals.ended || silly_open > 0;
	}
	if (retry)
		send_rmdir(q);
	else
		request_end_error(&q->r, call->error);
}

void silly_remove_directory(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	struct rmdir_request *q = calloc(1, sizeof(*q));

	if (!q)
		operation_refuse(req, ENOMEM);
	else if (request_init_change(&q->r, req, parent, name, NULL) == 0)
		send_rmdir(q);
}

/* The removal itself is never given up. Ends the waiting OPENs and RMDIRs whose callers were killed. */
static bool removal_given_up(struct nfs_call *call)
{
	struct removal *m = CONTAINER_OF(call, struct removal, call);
	struct list killed;

	if (m->last)
		held_opens_given_up(m->file);
	list_init(&killed);
	{
		LOCKED(&removals.lock);
		LIST_FOREACH (pos, &removals.waiting) {
			if (!request_given_up(&CONTAINER_OF(pos, struct rmdir_request, node)->r))
				continue;
			list_remove(pos);
			list_append(&killed, pos);
		}
	}
	end_rmdirs(&killed, true);
	return false;
}

static void send_removal(struct removal *m)
{
	m->call.given_up = removal_given_up;
	if (m->dir)
		known_change_begin(m->dir);
	server_submit(m->fs->server, &m->call);
}

static void end_removal(struct removal *m)
{
	struct list ready;

	list_init(&ready);
	{
		LOCKED(&removals.lock);
		removals.ended++;
		LIST_FOREACH (pos, &removals.waiting) {
			struct rmdir_request *q = CONTAINER_OF(pos, struct rmdir_request, node);

			if (m->number > q->last || --q->left > 0)
				continue;
			list_remove(pos);
			list_append(&ready, pos);
		}
	}
	end_rmdirs(&ready, false);
	if (m->last)
		removal_lets_opens_go(m->file);
	(void)inode_unref(m->fs->inodes, m->file);
	(void)inode_unref(m->fs->inodes, m->dir);
	free(m);
}

/*
 * Puts all knowledge of the file and its directory in doubt, after the answer to the removal. The kernel does not know
 * of the removal, and may have the name from a listing: each use of the file behind it is answered ESTALE, after which
 * the kernel asks for the name, and it asks before it makes a name anew.
 */
static void doubt_both(struct removal *m)
{
	uint64_t asked;

	silly_names_changed(m->fs, m->file);
	if (!m->dir)
		return;
	(void)known_change_end(m->fs, m->dir, NULL, 0, &asked);
	fs_invalidate_attributes(m->fs, m->dir);
}

static void on_removed(struct nfs_call *call)
{
	struct removal *m = CONTAINER_OF(call, struct removal, call);

	doubt_both(m);
	if (m->done)
		(void)sem_post(m->done);
	end_removal(m);
}

/*
 * Takes the .nfs name from the inode, and makes its removal; NULL if the inode has no .nfs name. last: the .nfs name is
 * the file's only name, so NULL also if the file is open or an OPEN is on its way.
 */
static struct removal *take_removal(struct fs *fs, struct inode *i, bool last)
{
	struct removal *m = calloc(1, sizeof(*m));

	if (!m)
		return NULL;
	LOCKED(&i->lock);
	if (!i->silly || (last && inode_is_open(i))) {
		free(m);
		return NULL;
	}
	m->last = last;
	i->removing += last;
	memcpy(m->name, i->silly->name, sizeof(m->name));
	m->fs = fs;
	m->file = inode_ref(i);
	m->call.fh = i->silly->dir;
	m->call.cred = i->silly->cred;
	m->call.name = m->name;
	m->call.proc = NFS_REMOVE;
	m->call.done = on_removed;
	free(STEAL_PTR(i->silly));
	{
		LOCKED(&removals.lock);
		m->number = ++removals.begun;
		silly_open--; /* after begun is increased: RMDIR sees the name in one of the two counts */
	}
	return m;
}

void silly_last_close(struct fs *fs, struct inode *i)
{
	struct removal *m = take_removal(fs, i, true);

	if (!m)
		return;
	m->dir = inode_table_find(fs->inodes, &m->call.fh);
	send_removal(m);
}

/*
 * True if the removal must be sent again with the credential of the file's owner. A root that the server squashes could
 * make the .nfs name in a sticky directory, but cannot remove it.
 */
static bool is_for_owner(struct removal *m)
{
	struct inode *i = m->request->replaced;

	if (m->call.cred.uid != 0 || (m->call.error != -EACCES && m->call.error != -EPERM))
		return false;
	LOCKED(&i->lock);
	m->call.cred = (struct nfs_cred){.uid = i->attrs.attr.uid, .gid = i->attrs.attr.gid};
	return m->call.cred.uid != 0;
}

static void on_link_removed(struct nfs_call *call)
{
	struct removal *m = CONTAINER_OF(call, struct removal, call);

	if (is_for_owner(m)) {
		server_submit(m->fs->server, call);
		return;
	}
	doubt_both(m);
	request_end_error(m->request, m->error);
	end_removal(m);
}

void silly_rename_failed(struct request *r, int error)
{
	struct removal *m = r->replaced ? take_removal(r->fs, r->replaced, false) : NULL;

	if (!m) {
		request_end_error(r, error);
		return;
	}
	m->request = r;
	m->error = error;
	m->dir = inode_table_find(r->fs->inodes, &m->call.fh);
	m->call.done = on_link_removed;
	send_removal(m);
}

struct collection {
	struct fs *fs;
	struct list removals;
};

static void collect(void *arg, struct inode *i)
{
	struct collection *c = arg;
	struct removal *m = take_removal(c->fs, i, false);

	if (m)
		list_append(&c->removals, &m->node);
}

void silly_remove_all(struct fs *fs, unsigned timeout_ms)
{
	struct collection c = {.fs = fs};
	static sem_t done; /* static: removals without an answer in time post it later, when struct server stops */
	struct timespec until;
	size_t n = 0;

	list_init(&c.removals);
	inode_table_foreach(fs->inodes, collect, &c);
	(void)sem_init(&done, 0, 0);
	LIST_FOREACH (pos, &c.removals) {
		struct removal *m = CONTAINER_OF(pos, struct removal, node);

		list_remove(pos);
		m->done = &done;
		n++;
		send_removal(m);
	}
	(void)clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += timeout_ms / 1000;
	while (n > 0) {
		if (sem_timedwait(&done, &until) == 0)
			n--;
		else if (errno != EINTR)
			break;
	}
}
