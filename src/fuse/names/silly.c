/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "fuse/names/silly.h"

#include <inttypes.h>
#include <semaphore.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/*
 * The rename that comes before a removal. It has a call of its own, so that the request's is
 * untouched when the request goes on.
 */
struct silly {
	struct nfs_call call;
	struct request *r;
	void (*go_on)(struct request *r);
	struct inode *victim;
	struct inode *directory; /* of both its names; the request's */
	bool taking;             /* counted in the victim */
	bool ends_request;       /* the rename does the removal's work */
	bool linked;             /* the victim got a second name, its first is still there */
	uint32_t owner;          /* the victim's */
	char name[sizeof(((struct silly_place *)NULL)->name)];
	struct nfs_fh dir;
	const char *victim_name;   /* the request's */
	struct silly_place *place; /* made beforehand, for the victim */
};

static atomic_uint silly_count;
static atomic_uint silly_open; /* files that are open under such a name */

/* A file has one name more or less, or another one, and the kernel knows nothing of it. */
static void names_changed(struct fs *fs, struct inode *file)
{
	known_links_changed(fs);
	known_doubt(file);
	fs_invalidate_attributes(fs, file);
}

static void silly_end(struct silly *s, int error)
{
	struct request *r = s->r;
	void (*go_on)(struct request * r) = s->go_on;
	bool ends = s->ends_request;

	if (s->taking) {
		LOCKED(&s->victim->lock);
		s->victim->taking--;
	}
	if (error == 0 && s->linked)
		r->replaced = STEAL_PTR(s->victim);
	(void)inode_unref(r->fs->inodes, s->victim);
	free(s->place);
	free(s);
	if (error < 0 || ends)
		request_end_error(r, error);
	else
		go_on(r);
}

static void rename_victim(struct silly *s);

static bool silly_given_up(struct nfs_call *call)
{
	return request_given_up(CONTAINER_OF(call, struct silly, call)->r);
}

static void silly_renamed(struct nfs_call *call)
{
	struct silly *s = CONTAINER_OF(call, struct silly, call);
	struct fs *fs = s->r->fs;
	bool last_closed;
	uint64_t asked;

	(void)known_change_end(fs, s->directory, NULL, 0, &asked);
	names_changed(fs, s->victim);

	/* The server has no hard links, or no more for this file; or the LINK was sent twice. */
	if (s->linked && (call->error == -EOPNOTSUPP || call->error == -EMLINK || call->error == -EPERM ||
				 call->error == -EEXIST)) {
		rename_victim(s);
		return;
	}
	/* Nobody waits for the answer, and it may have been done: the last close tries to clean up. */
	if (call->error < 0 && call->error != -EINTR) {
		silly_end(s, call->error);
		return;
	}
	{
		LOCKED(&s->victim->lock);
		s->place->dir = s->dir;
		s->place->cred = call->cred;
		memcpy(s->place->name, s->name, sizeof(s->name));
		if (!s->victim->silly)
			silly_open++;
		free(s->victim->silly);
		s->victim->silly = STEAL_PTR(s->place);
		last_closed = !silly_is_open(s->victim);
	}
	if (last_closed)
		silly_last_close(fs, s->victim);
	silly_end(s, call->error == -EINTR ? -EINTR : 0);
}

static void rename_victim(struct silly *s)
{
	s->linked = false;
	s->call.fh = s->dir;
	s->call.fh2 = s->dir;
	s->call.name = s->victim_name;
	s->call.name2 = s->name;
	s->call.proc = NFS_RENAME;
	s->call.done = silly_renamed;
	s->call.given_up = silly_given_up;
	known_change_begin(s->directory);
	transport_submit(s->r->fs->transport, &s->call);
}

/* Before a rename over it: should that fail, the victim still has its name. */
static void link_victim(struct silly *s)
{
	s->linked = true;
	s->call.fh = s->victim->fh;
	s->call.fh2 = s->dir;
	s->call.name = s->name;
	s->call.proc = NFS_LINK;
	s->call.done = silly_renamed;
	s->call.given_up = silly_given_up;
	known_change_begin(s->directory);
	transport_submit(s->r->fs->transport, &s->call);
}

/*
 * In a sticky directory whoever owns neither that nor the file may link it and not remove the link:
 * the server refuses the rename, too, and no .nfs name may be left of it.
 */
static void directory_known(struct nfs_call *call)
{
	struct silly *s = CONTAINER_OF(call, struct silly, call);
	uint32_t uid = call->cred.uid;

	if (call->error < 0)
		silly_end(s, call->error);
	else if (call->attr.mode & S_ISVTX && uid != 0 && uid != s->owner && uid != call->attr.uid)
		silly_end(s, 0);
	else
		link_victim(s);
}

/*
 * With its lock: the request takes a name from the file. Also from one that is open, which may be closed before the
 * request is answered, and lose its .nfs name.
 */
static void hold_opens(struct request *r, struct inode *victim)
{
	if (r->removing)
		return;
	victim->removing++;
	r->removing = inode_ref(victim);
}

/* OPENs that waited for a removal go on, when it was the last of that file. */
static void let_opens_go(struct inode *i)
{
	struct list ready;

	list_init(&ready);
	{
		LOCKED(&i->lock);
		i->removing--;
		LIST_FOREACH (pos, &i->held) {
			if (i->removing > 0)
				break;
			list_remove(pos);
			list_append(&ready, pos);
		}
	}
	LIST_FOREACH (pos, &ready) {
		struct silly_hold *h = CONTAINER_OF(pos, struct silly_hold, node);

		list_remove(pos);
		h->go_on(h, 0);
	}
}

void silly_removal_ended(struct request *r)
{
	if (!r->removing)
		return;
	let_opens_go(r->removing);
	r->removing = inode_unref(r->fs->inodes, r->removing);
}

void silly_opens_given_up(struct inode *i)
{
	struct list killed;

	list_init(&killed);
	{
		LOCKED(&i->lock);
		LIST_FOREACH (pos, &i->held) {
			struct silly_hold *h = CONTAINER_OF(pos, struct silly_hold, node);

			if (!h->given_up(h))
				continue;
			list_remove(pos);
			list_append(&killed, pos);
		}
	}
	LIST_FOREACH (pos, &killed) {
		struct silly_hold *h = CONTAINER_OF(pos, struct silly_hold, node);

		list_remove(pos);
		h->go_on(h, -EINTR);
	}
}

bool silly_open_begins(struct fs *fs, struct inode *i, struct silly_hold *h)
{
	fs->opening++;
	LOCKED(&i->lock);
	i->opening++;
	if (i->removing == 0)
		return true;
	list_append(&i->held, &h->node);
	return false;
}

bool silly_has_name(struct inode *i)
{
	LOCKED(&i->lock);
	return i->silly || i->taking > 0;
}

void silly_open_ends(struct fs *fs, struct inode *i)
{
	bool last;

	{
		LOCKED(&i->lock);
		i->opening--;
		last = i->silly && !silly_is_open(i);
	}
	fs->opening--;
	if (last)
		silly_last_close(fs, i);
}

/* True if nobody has anything open, and it is known whose name it is: no question need be asked of the server. */
static bool hold_known(struct request *r, struct inode *directory, const char *name)
{
	struct fs *fs = r->fs;
	struct inode *victim;
	bool open = false;

	if (fs->open_files + fs->opening > 0 || !known_owner(fs, directory, name, &victim))
		return false;
	if (victim) {
		LOCKED(&victim->lock);
		open = silly_is_open(victim);
		if (!open)
			hold_opens(r, victim);
	}
	(void)inode_unref(fs->inodes, victim);
	return !open;
}

static void silly_looked_up(struct nfs_call *call)
{
	struct silly *s = CONTAINER_OF(call, struct silly, call);
	struct request *r = s->r;
	bool open = false, is_silly = false;

	/* Not knowing whether the file is open, nothing may happen to its name. */
	if (call->error < 0 && call->error != -ENOENT) {
		silly_end(s, call->error);
		return;
	}
	if (call->error == 0)
		s->victim = inode_table_find(r->fs->inodes, &call->new_fh);
	if (s->victim) {
		LOCKED(&s->victim->lock);
		open = silly_is_open(s->victim) && !s->victim->silly;
		hold_opens(r, s->victim);
		is_silly = s->victim->silly && nfs_fh_equal(&s->victim->silly->dir, &s->dir) &&
			   strcmp(s->victim->silly->name, s->victim_name) == 0;
	}
	/* The file that lies under it is open; fs/nfs/dir.c nfs_unlink says so too. */
	if (is_silly) {
		silly_end(s, -EBUSY);
		return;
	}
	/* The file has another name and stays without this one. */
	if (open && call->has_attr && call->attr.nlink > 1)
		open = false;
	/* A rename onto another name of the same file does nothing: let the server say so. */
	if (open && r->call.proc == NFS_RENAME && nfs_fh_equal(&s->victim->fh, &r->entry_fh))
		open = false;
	if (!open) {
		s->ends_request = false;
		silly_end(s, 0);
		return;
	}
	{
		LOCKED(&s->victim->lock);
		s->victim->taking++;
		s->taking = true;
	}
	(void)snprintf(s->name, sizeof(s->name), ".nfs%016" PRIx64 "%08x", s->victim->fileid,
		atomic_fetch_add(&silly_count, 1));
	if (s->ends_request) {
		rename_victim(s);
		return;
	}
	s->owner = call->has_attr ? call->attr.uid : call->cred.uid;
	s->call.fh = s->dir;
	s->call.proc = NFS_GETATTR;
	s->call.done = directory_known;
	transport_submit(r->fs->transport, &s->call);
}

static void look_up_victim(struct request *r, void (*go_on)(struct request *r), struct inode *directory,
	const char *name, bool ends_request)
{
	struct silly *s;

	if (hold_known(r, directory, name)) {
		go_on(r);
		return;
	}
	s = calloc(1, sizeof(*s));
	if (s)
		s->place = calloc(1, sizeof(*s->place));
	if (!s || !s->place) {
		free(s);
		request_end_error(r, -ENOMEM);
		return;
	}
	s->r = r;
	s->go_on = go_on;
	s->ends_request = ends_request;
	s->directory = directory;
	s->dir = directory->fh;
	s->victim_name = name;
	s->call.cred = r->call.cred;
	s->call.fh = directory->fh;
	s->call.name = name;
	s->call.proc = NFS_LOOKUP;
	s->call.done = silly_looked_up;
	s->call.given_up = silly_given_up;
	transport_submit(r->fs->transport, &s->call);
}

void silly_remove_name(struct request *r, void (*go_on)(struct request *r))
{
	look_up_victim(r, go_on, r->inode, r->name, true);
}

/* The source's handle is needed to tell whether both names are one file. */
static void source_looked_up(struct nfs_call *call)
{
	struct request *r = CONTAINER_OF(call, struct request, call);

	if (call->error < 0) {
		request_end_error(r, call->error);
		return;
	}
	r->entry_fh = call->new_fh;
	call->proc = NFS_RENAME;
	look_up_victim(r, r->then, r->inode2, r->name2, false);
}

void silly_replace_name(struct request *r, void (*go_on)(struct request *r))
{
	if (hold_known(r, r->inode2, r->name2)) {
		go_on(r);
		return;
	}
	r->then = go_on;
	request_send(r, NFS_LOOKUP, source_looked_up);
}

/* What it waits for may be in other directories, or stay open: 11 tries in a quarter of a second. */
#define RMDIR_TRIES         11
#define RMDIR_TRIES_AT_ONCE 3

/* A RMDIR, which may have to wait for removals. */
struct rmdir_request {
	struct request r;
	struct list node;
	unsigned tries; /* how often it was sent */
	uint64_t ended; /* removals.ended before it was sent */
	uint64_t last;  /* number of the newest removal that it waits for */
	unsigned left;  /* how many those are */
};

/* Removals are under way without anybody who waits; but for who removes their directory. */
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
	bool last;               /* the file has no other name, and OPENs wait */
	int error;               /* its answer */
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
 * The server may do RMDIR before a REMOVE that was sent earlier, and the kernel tells of the last close
 * after close(2), perhaps only now: the directory may be empty soon. fs/nfs/dir.c nfs_rmdir waits likewise.
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
		(void)fuse_reply_err(req, ENOMEM);
	else if (request_init(&q->r, req, parent, name, NULL) == 0)
		send_rmdir(q);
}

/* It goes on, without those who were killed while they waited for it. */
static bool removal_given_up(struct nfs_call *call)
{
	struct removal *m = CONTAINER_OF(call, struct removal, call);
	struct list killed;

	if (m->last)
		silly_opens_given_up(m->file);
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
	transport_submit(m->fs->transport, &m->call);
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
		let_opens_go(m->file);
	(void)inode_unref(m->fs->inodes, m->file);
	(void)inode_unref(m->fs->inodes, m->dir);
	free(m);
}

/* What is known of the file and its directory is not, any more. */
static void doubt_both(struct removal *m)
{
	uint64_t asked;

	names_changed(m->fs, m->file);
	if (!m->dir)
		return;
	(void)known_change_end(m->fs, m->dir, NULL, 0, &asked);
	fs_invalidate_attributes(m->fs, m->dir);
}

static void removal_done(struct nfs_call *call)
{
	struct removal *m = CONTAINER_OF(call, struct removal, call);

	doubt_both(m);
	if (m->done)
		(void)sem_post(m->done);
	end_removal(m);
}

/*
 * Takes the silly name from the inode, for a removal that begins with this; NULL when it has none. last: it is its only
 * name, and stays while somebody has the file open, or is about to.
 */
static struct removal *take_removal(struct fs *fs, struct inode *i, bool last)
{
	struct removal *m = calloc(1, sizeof(*m));

	if (!m)
		return NULL;
	LOCKED(&i->lock);
	if (!i->silly || (last && silly_is_open(i))) {
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
	m->call.done = removal_done;
	free(STEAL_PTR(i->silly));
	{
		LOCKED(&removals.lock);
		m->number = ++removals.begun;
		silly_open--; /* never missing from both counts */
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
 * Root, which the server may have squashed, could make the name in a sticky directory and cannot remove
 * it: then the file's owner does.
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

static void taken_back(struct nfs_call *call)
{
	struct removal *m = CONTAINER_OF(call, struct removal, call);

	if (is_for_owner(m)) {
		transport_submit(m->fs->transport, call);
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
	m->call.done = taken_back;
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
	static sem_t done; /* those that are not answered in time post it when the transport stops */
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
