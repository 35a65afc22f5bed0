/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "fuse/writes/write_behind.h"

#include <string.h>

#include "fuse/local/granted_file.h"
#include "base/log.h"

#define MAX_FLYING 16    /* requests of one file on their way */
#define LITTLE     65536 /* bytes that are written locally, and a pause follows */

/* One gathered request; its data_write is the write log's from the answer on. */
struct gathered {
	struct list node;    /* in full or sent */
	struct list to_send; /* on the stack of who submits it */
	struct fs *fs;
	struct inode *inode; /* a reference */
	struct data_write *write;
	struct stable_wait stable; /* the process keeps too much: a commit before the next */
	uint64_t session;          /* as a struct behind_writer's */
	bool root, written_here;
	struct uring_io here;
	struct granted_file *granted; /* with a reference while here is under way */
	uint64_t number;
	uint64_t offset;
	size_t length, room;
	size_t done;   /* bytes that earlier, short answers took in */
	bool unstable; /* some of it was answered so */
	bool mixed;    /* with different verifiers */
};

/* What to do once the lock is given back. */
struct actions {
	struct list to_send, waits, writers;
	int error; /* for the latter two */
};

static struct gathered *gathered_of(struct list *pos)
{
	return CONTAINER_OF(pos, struct gathered, node);
}

static uint64_t end_of(const struct gathered *g)
{
	return g->offset + g->length;
}

void write_behind_init(struct write_behind *b)
{
	memset(b, 0, sizeof(*b));
	list_init(&b->full);
	list_init(&b->sent);
	list_init(&b->writers);
	list_init(&b->waits);
}

bool write_behind_outdates(const struct write_behind *b, uint64_t asked)
{
	return b->gathering || !list_empty(&b->full) || b->flying > 0 || b->answered > asked;
}

static bool overlaps(const struct list *list, uint64_t offset, uint64_t end)
{
	LIST_FOREACH (pos, list) {
		if (gathered_of(pos)->offset < end && offset < end_of(gathered_of(pos)))
			return true;
	}
	return false;
}

static bool same_cred(const struct nfs_cred *a, const struct nfs_cred *b)
{
	return a->uid == b->uid && a->gid == b->gid && a->ngroups == b->ngroups &&
	       memcmp(a->groups, b->groups, a->ngroups * sizeof(a->groups[0])) == 0;
}

static void gathered_answered(struct nfs_call *call);
static bool gathered_given_up(struct nfs_call *call);

static void gathered_done(struct gathered *g, enum write_result result);
static void submit(struct gathered *g);

static void gathered_here(struct uring_io *io, ssize_t result)
{
	struct gathered *g = CONTAINER_OF(io, struct gathered, here);
	struct granted_file *granted = g->granted;

	g->session = 0;
	if (io->have > 0)
		granted_file_changed(g->inode);
	if (io->have < g->length) {
		log_debug("a gathered write here: %s", strerror(result < 0 ? (int)-result : EIO));
		submit(g);
	} else {
		g->write->call.args.io.data = g->write->data;
		g->written_here = true;
		gathered_done(g, WRITE_STABLE); /* or what FLUSH and FSYNC make stable here */
	}
	(void)granted_file_unref(granted);
}

/* To the backing file; false when it cannot be. */
static bool submit_here(struct gathered *g)
{
	g->granted = g->session != 0 ? granted_file_to_write(g->fs, g->inode, g->session) : NULL;
	if (!g->granted)
		return false;
	g->here = (struct uring_io){.file = &g->granted->file,
		.buf = (uint8_t *)g->write->data,
		.size = g->length,
		.offset = g->offset,
		.as_root = g->root,
		.done = gathered_here};
	uring_write(g->fs->uring, &g->here);
	return true;
}

static void submit(struct gathered *g)
{
	struct nfs_call *call = &g->write->call;

	if (submit_here(g))
		return;
	call->args.io.offset = g->offset + g->done;
	call->args.io.count = (uint32_t)MIN(g->length - g->done, g->fs->wsize);
	call->args.io.data = g->write->data + g->done;
	call->proc = NFS_WRITE;
	call->done = gathered_answered;
	call->given_up = gathered_given_up;
	write_log_send(&g->inode->writes, g->fs->transport, g->write);
}

static void actions_init(struct actions *a)
{
	a->error = 0;
	list_init(&a->to_send);
	list_init(&a->waits);
	list_init(&a->writers);
}

/* With the lock: what may go now. all: also what could still grow. */
static void pick(struct inode *i, bool all, struct actions *a)
{
	struct write_behind *b = &i->behind;

	if (b->gathering && (all || (b->flying == 0 && !b->pausing) || b->gathering->length == b->gathering->room)) {
		list_append(&b->full, &b->gathering->node);
		b->gathering = NULL;
	}
	while (!list_empty(&b->full) && b->flying < MAX_FLYING) {
		struct gathered *g = gathered_of(b->full.next);

		list_remove(&g->node);
		list_append(&b->sent, &g->node);
		b->flying++;
		list_append(&a->to_send, &g->to_send);
	}
	if (list_empty(&b->full))
		list_splice(&a->writers, &b->writers);
}

/* It grows no more, and is kept until COMMIT: without the room that it did not need. */
static void give_back_room(struct gathered *g)
{
	struct data_write *w = g->session == 0 && g->length < g->room / 2 ? data_write_new(g->length) : NULL;

	if (!w)
		return;
	w->owner = g;
	w->call.fh = g->write->call.fh;
	w->call.cred = g->write->call.cred;
	w->call.args.io.stable = g->write->call.args.io.stable;
	memcpy(w->data, g->write->data, g->length);
	data_write_free(g->write);
	g->write = w;
	g->room = g->length;
}

static void act(struct actions *a)
{
	LIST_FOREACH (pos, &a->to_send) {
		struct gathered *g = CONTAINER_OF(pos, struct gathered, to_send);

		list_remove(pos);
		give_back_room(g);
		submit(g);
	}
	LIST_FOREACH (pos, &a->writers) {
		list_remove(pos);
		CONTAINER_OF(pos, struct behind_writer, node)
			->done(CONTAINER_OF(pos, struct behind_writer, node), a->error);
	}
	LIST_FOREACH (pos, &a->waits) {
		list_remove(pos);
		CONTAINER_OF(pos, struct behind_wait, node)
			->done(CONTAINER_OF(pos, struct behind_wait, node), a->error);
	}
}

/* Those who wait may go; the WRITE may not, since the server could do it after something newer. */
static bool gathered_given_up(struct nfs_call *call)
{
	const struct data_write *w = CONTAINER_OF(call, struct data_write, call);
	struct inode *i = ((const struct gathered *)w->owner)->inode;
	struct actions a;

	actions_init(&a);
	a.error = -EINTR;
	{
		LOCKED(&i->lock);
		LIST_FOREACH (wait, &i->behind.waits) {
			if (!patience_ended(&CONTAINER_OF(wait, struct behind_wait, node)->patience))
				continue;
			list_remove(wait);
			list_append(&a.waits, wait);
		}
		LIST_FOREACH (writer, &i->behind.writers) {
			if (!patience_ended(&CONTAINER_OF(writer, struct behind_writer, node)->patience))
				continue;
			list_remove(writer);
			list_append(&a.writers, writer);
		}
	}
	act(&a);
	return false;
}

struct pause {
	struct uring_io io;
	struct fs *fs;
	struct inode *inode; /* a reference */
};

static void pause_over(struct uring_io *io, ssize_t result)
{
	struct pause *p = CONTAINER_OF(io, struct pause, io);
	struct inode *i = p->inode;
	struct actions a;

	(void)result;
	actions_init(&a);
	{
		LOCKED(&i->lock);
		i->behind.pausing = false;
		pick(i, false, &a);
	}
	act(&a);
	(void)inode_unref(p->fs->inodes, i);
	free(p);
}

static void gathered_end(struct gathered *g)
{
	struct pause *pause = g->written_here && g->length < LITTLE ? calloc(1, sizeof(*pause)) : NULL;
	struct inode *i = g->inode;
	struct write_behind *b = &i->behind;
	struct fs *fs = g->fs;
	struct actions a;

	actions_init(&a);
	{
		LOCKED(&i->lock);
		list_remove(&g->node);
		b->flying--;
		b->answered = attr_clock_tick();
		LIST_FOREACH (pos, &b->waits) {
			struct behind_wait *w = CONTAINER_OF(pos, struct behind_wait, node);

			if (g->number <= w->last && --w->left == 0) {
				list_remove(pos);
				list_append(&a.waits, pos);
			}
		}
		if (pause && !b->pausing) {
			*pause = (struct pause){.fs = fs, .inode = inode_ref(i), .io.done = pause_over};
			b->pausing = true;
		}
		pick(i, !list_empty(&b->waits), &a);
	}
	free(g);
	act(&a);
	if (pause && pause->inode)
		uring_pause(fs->uring, &pause->io);
	else
		free(pause);
	(void)inode_unref(fs->inodes, i);
}

static void log_is_stable(struct stable_wait *w, int error)
{
	(void)error; /* the log tells it to every open file */
	gathered_end(CONTAINER_OF(w, struct gathered, stable));
}

static void log_committed(struct commit_wait *w, int error)
{
	struct stable_wait *stable = CONTAINER_OF(w, struct stable_wait, commit);

	stable->done(stable, error);
}

static void commit_log(struct stable_wait *w)
{
	w->commit.done = log_committed;
	w->commit.patience = w->patience;
	write_log_commit(&w->inode->writes, w->fs->transport, &w->inode->fh, &w->cred, &w->commit);
}

/* All of it is written. */
static void gathered_done(struct gathered *g, enum write_result result)
{
	struct nfs_call *call = &g->write->call;

	g->fs->counters.bytes_written += g->length;
	call->args.io.offset = g->offset;
	call->args.io.count = (uint32_t)g->length;
	g->stable = (struct stable_wait){.fs = g->fs, .inode = g->inode, .cred = call->cred, .done = log_is_stable};
	if (write_log_answered(&g->inode->writes, g->write, result))
		commit_log(&g->stable);
	else
		gathered_end(g);
}

static void gathered_answered(struct nfs_call *call)
{
	struct data_write *w = CONTAINER_OF(call, struct data_write, call);
	struct gathered *g = w->owner;
	struct write_log *log = &g->inode->writes;
	int error = call->error;

	if (error == 0 && call->res.io.count == 0)
		error = -EIO;
	if (error < 0) {
		write_log_fail(log, error);
		(void)write_log_answered(log, w, WRITE_FAILED);
		gathered_end(g);
		return;
	}
	if (call->res.io.committed == NFS_UNSTABLE) {
		g->mixed |= g->unstable && memcmp(w->verf.data, call->res.io.verf.data, sizeof(w->verf.data)) != 0;
		g->unstable = true;
		w->verf = call->res.io.verf;
	} else if (!g->unstable) {
		w->verf = call->res.io.verf;
	}
	g->done += call->res.io.count;
	if (g->done < g->length) {
		submit(g);
		return;
	}
	/* A verifier that no commit will answer with: all of it is sent again. */
	if (g->mixed)
		memset(w->verf.data, 0xff, sizeof(w->verf.data));
	gathered_done(g, g->unstable ? WRITE_UNSTABLE : WRITE_STABLE);
}

static struct gathered *gathered_new(struct fs *fs, struct inode *i, const struct nfs_cred *cred, uint64_t offset,
	size_t size, uint64_t session, bool root)
{
	struct gathered *g = calloc(1, sizeof(*g));

	if (!g)
		return NULL;
	g->room = MAX(size, fs->wsize); /* memory that is not touched costs nothing */
	g->write = data_write_new(g->room);
	if (!g->write) {
		free(g);
		return NULL;
	}
	g->fs = fs;
	g->inode = inode_ref(i);
	g->offset = offset;
	g->number = ++i->behind.last;
	list_init(&g->node);
	list_init(&g->to_send);
	g->write->owner = g;
	g->write->call.fh = i->fh;
	g->write->call.cred = *cred;
	g->session = session;
	g->root = root;
	/* Beside local writes nothing may be kept for resending. */
	g->write->call.args.io.stable = session != 0 ? NFS_FILE_SYNC : NFS_UNSTABLE;
	write_log_started(&i->writes);
	return g;
}

/* With the lock: the gathered request that has room for these bytes at this place, or NULL. */
static struct gathered *room_for(const struct write_behind *b, const struct nfs_cred *cred, uint64_t offset,
	size_t size, uint64_t session, bool root)
{
	struct gathered *g = b->gathering;

	return g && offset >= g->offset && offset <= end_of(g) && offset + size <= g->offset + g->room &&
			       same_cred(&g->write->call.cred, cred) && g->session == session && g->root == root
		       ? g
		       : NULL;
}

int write_behind_add(struct fs *fs, struct inode *i, const struct nfs_cred *cred, uint64_t offset, const void *data,
	size_t size, struct behind_writer *w)
{
	uint64_t generation = fs_generation(fs), session = 0;
	struct write_behind *b = &i->behind;
	struct gathered *g;
	struct actions a;
	int r = 0;

	actions_init(&a);
	{
		LOCKED(&i->lock);
		if (w->session == generation && granted_file_writes(i->granted, generation))
			session = generation;
		/* One step, as finish_open() looks at both: a WRITE is known or knows of local opens. */
		if (open_mode_seen_locally(&i->mode) || (session == 0 && granted_file_writes(i->granted, generation)) ||
			overlaps(&b->sent, offset, offset + size) || overlaps(&b->full, offset, offset + size))
			return -EBUSY;
		g = room_for(b, cred, offset, size, session, w->root);
		if (!g) {
			if (b->gathering && b->gathering->offset < offset + size && offset < end_of(b->gathering))
				return -EBUSY;
			g = gathered_new(fs, i, cred, offset, size, session, w->root);
			if (!g)
				return -ENOMEM;
			if (b->gathering)
				list_append(&b->full, &b->gathering->node);
			b->gathering = g;
		}
		memcpy(g->write->data + (offset - g->offset), data, size);
		g->length = MAX(g->length, (size_t)(offset - g->offset) + size);
		pick(i, false, &a);
		if (!list_empty(&b->full)) {
			list_append(&b->writers, &w->node);
			r = 1;
		}
	}
	act(&a);
	return r;
}

void write_behind_settle(struct inode *i, struct behind_wait *w)
{
	struct write_behind *b = &i->behind;
	struct actions a;

	actions_init(&a);
	{
		LOCKED(&i->lock);
		w->last = b->last;
		w->left = b->flying + (b->gathering != NULL);
		LIST_FOREACH (pos, &b->full)
			w->left++;
		pick(i, true, &a);
		list_append(w->left > 0 ? &b->waits : &a.waits, &w->node);
	}
	act(&a);
}

static void settled(struct behind_wait *behind, int error)
{
	struct stable_wait *w = CONTAINER_OF(behind, struct stable_wait, behind);

	if (error < 0)
		w->done(w, error);
	else
		commit_log(w);
}

void write_behind_commit(struct fs *fs, struct inode *i, const struct nfs_cred *cred, struct stable_wait *w)
{
	w->fs = fs;
	w->inode = i;
	w->cred = *cred;
	w->behind.done = settled;
	w->behind.patience = w->patience;
	write_behind_settle(i, &w->behind);
}
