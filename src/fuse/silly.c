/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "fuse/silly.h"

#include <inttypes.h>
#include <semaphore.h>
#include <stdio.h>
#include <string.h>

/*
 * The rename that comes before a removal. It has a call of its own, so that the request's is
 * untouched when the request goes on.
 */
struct silly {
	struct nfs_call call;
	struct request *r;
	void (*go_on)(struct request *r);
	struct inode *victim;
	bool ends_request; /* the rename does the removal's work */
	bool linked;       /* the victim got a second name, its first is still there */
	char name[sizeof(((struct inode *)NULL)->silly_name)];
	struct nfs_fh dir;
	const char *victim_name; /* the request's */
};

static atomic_uint silly_count;

static void silly_end(struct silly *s, int error)
{
	struct request *r = s->r;
	void (*go_on)(struct request *r) = s->go_on;
	bool ends = s->ends_request;

	(void)inode_unref(r->fs->inodes, s->victim);
	free(s);
	if (error < 0 || ends)
		request_end_error(r, error);
	else
		go_on(r);
}

static void rename_victim(struct silly *s);

static void silly_renamed(struct nfs_call *call)
{
	struct silly *s = CONTAINER_OF(call, struct silly, call);
	struct fs *fs = s->r->fs;
	bool last_closed;

	/* The server has no hard links, or no more for this file; or the LINK was sent twice. */
	if (s->linked && (call->error == -EOPNOTSUPP || call->error == -EMLINK ||
				 call->error == -EPERM || call->error == -EEXIST)) {
		rename_victim(s);
		return;
	}
	if (call->error < 0) {
		silly_end(s, call->error);
		return;
	}
	{
		LOCKED(&s->victim->lock);
		s->victim->silly_dir = s->dir;
		s->victim->silly_cred = call->cred;
		memcpy(s->victim->silly_name, s->name, sizeof(s->name));
		last_closed = open_mode_total(&s->victim->mode) == 0;
	}
	if (last_closed)
		silly_last_close(fs, s->victim);
	silly_end(s, 0);
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
	transport_submit(s->r->fs->transport, &s->call);
}

static void silly_looked_up(struct nfs_call *call)
{
	struct silly *s = CONTAINER_OF(call, struct silly, call);
	struct request *r = s->r;
	bool open = false, is_silly = false;

	if (call->error == 0)
		s->victim = inode_table_find(r->fs->inodes, &call->new_fh);
	if (s->victim) {
		LOCKED(&s->victim->lock);
		open = open_mode_total(&s->victim->mode) > 0 && s->victim->silly_dir.len == 0;
		is_silly = nfs_fh_equal(&s->victim->silly_dir, &s->dir) &&
			   strcmp(s->victim->silly_name, s->victim_name) == 0;
	}
	/* The file that lies under it is open; fs/nfs/dir.c nfs_unlink says so too. */
	if (is_silly) {
		silly_end(s, -EBUSY);
		return;
	}
	/* A rename onto another name of the same file does nothing: let the server say so. */
	if (open && r->call.proc == NFS_RENAME && nfs_fh_equal(&s->victim->fh, &r->entry_fh))
		open = false;
	if (!open) {
		s->ends_request = false;
		silly_end(s, 0);
		return;
	}
	(void)snprintf(s->name, sizeof(s->name), ".nfs%016" PRIx64 "%08x", s->victim->fileid,
		atomic_fetch_add(&silly_count, 1));
	if (s->ends_request)
		rename_victim(s);
	else
		link_victim(s);
}

static void look_up_victim(struct request *r, void (*go_on)(struct request *r),
	const struct nfs_fh *dir, const char *name, bool ends_request)
{
	struct silly *s;

	if (r->fs->open_files == 0) {
		go_on(r);
		return;
	}
	s = calloc(1, sizeof(*s));
	if (!s) {
		request_end_error(r, -ENOMEM);
		return;
	}
	s->r = r;
	s->go_on = go_on;
	s->ends_request = ends_request;
	s->dir = *dir;
	s->victim_name = name;
	s->call.cred = r->call.cred;
	s->call.fh = *dir;
	s->call.name = name;
	s->call.proc = NFS_LOOKUP;
	s->call.done = silly_looked_up;
	transport_submit(r->fs->transport, &s->call);
}

void silly_remove_name(struct request *r, void (*go_on)(struct request *r))
{
	look_up_victim(r, go_on, &r->call.fh, r->name, true);
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
	look_up_victim(r, r->then, &call->fh2, r->name2, false);
}

void silly_replace_name(struct request *r, void (*go_on)(struct request *r))
{
	if (r->fs->open_files == 0) {
		go_on(r);
		return;
	}
	r->then = go_on;
	request_send(r, NFS_LOOKUP, source_looked_up);
}

struct removal {
	struct nfs_call call;
	char name[sizeof(((struct inode *)NULL)->silly_name)];
	struct list node;
	sem_t *done;
};

static void removal_done(struct nfs_call *call)
{
	struct removal *m = CONTAINER_OF(call, struct removal, call);

	if (m->done)
		(void)sem_post(m->done);
	free(m);
}

/* Takes the silly name from the inode; NULL when it has none. */
static struct removal *take_removal(struct inode *i)
{
	struct removal *m = calloc(1, sizeof(*m));

	if (!m)
		return NULL;
	LOCKED(&i->lock);
	if (i->silly_dir.len == 0) {
		free(m);
		return NULL;
	}
	memcpy(m->name, i->silly_name, sizeof(m->name));
	m->call.fh = i->silly_dir;
	m->call.cred = i->silly_cred;
	m->call.name = m->name;
	m->call.proc = NFS_REMOVE;
	m->call.done = removal_done;
	i->silly_dir.len = 0;
	return m;
}

void silly_last_close(struct fs *fs, struct inode *i)
{
	struct removal *m = take_removal(i);

	if (m)
		transport_submit(fs->transport, &m->call);
}

static void collect(void *arg, struct inode *i)
{
	struct removal *m = take_removal(i);

	if (m)
		list_append(arg, &m->node);
}

void silly_remove_all(struct fs *fs, unsigned timeout_ms)
{
	struct list removals;
	static sem_t done; /* those that are not answered in time post it when the transport stops */
	struct timespec until;
	size_t n = 0;

	list_init(&removals);
	inode_table_foreach(fs->inodes, collect, &removals);
	(void)sem_init(&done, 0, 0);
	LIST_FOREACH(pos, &removals)
	{
		struct removal *m = CONTAINER_OF(pos, struct removal, node);

		list_remove(pos);
		m->done = &done;
		n++;
		transport_submit(fs->transport, &m->call);
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
