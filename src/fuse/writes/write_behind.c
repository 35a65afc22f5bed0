/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "fuse/writes/write_behind.h"

#include <string.h>

#include "base/log.h"
#include "fuse/writes/attr_clock.h"
#include "io/uring.h"

#define MAX_FLYING 16    /* requests of one file on their way */
#define LITTLE     65536 /* bytes: a pause follows a shorter local write */

/* One gathered request. From the answer on its data_write belongs to the write log. */
struct gathered {
	struct list node;        /* in full or sent */
	struct list to_send;     /* in struct actions */
	struct behind_file file; /* a reference */
	struct data_write *write;
	struct stable_wait stable; /* the process keeps too much data: a commit comes before the next request */
	uint64_t session;          /* as in struct behind_writer */
	bool as_root, written_locally;
	struct uring_io local;
	uint64_t number;
	uint64_t offset;
	size_t length, room;
	size_t done;   /* bytes that earlier, short answers took in */
	bool unstable; /* some of the data was answered UNSTABLE */
	bool mixed;    /* with different verifiers */
};

/* What remains to be done without the lock. */
struct actions {
	struct list to_send, waits, writers;
	int error; /* of the waits and writers */
};

static struct gathered *gathered_of(struct list *pos)
{
	return CONTAINER_OF(pos, struct gathered, node);
}

static uint64_t end_of(const struct gathered *g)
{
	return g->offset + g->length;
}

void write_behind_init(struct write_behind *b, pthread_mutex_t *lock)
{
	memset(b, 0, sizeof(*b));
	b->lock = lock;
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

static void on_answer(struct nfs_call *call);
static bool gathered_given_up(struct nfs_call *call);

static void gathered_done(struct gathered *g, enum write_result result);
static void submit(struct gathered *g);

static void on_local_write(struct uring_io *io, ssize_t result)
{
	struct gathered *g = CONTAINER_OF(io, struct gathered, local);

	g->session = 0;
	g->file.ops->end_local_write(&g->file, io);
	if (io->have < g->length) {
		log_debug("a gathered local write: %s", strerror(result < 0 ? (int)-result : EIO));
		submit(g);
	} else {
		g->write->call.args.io.data = g->write->data;
		g->written_locally = true;
		gathered_done(g, WRITE_STABLE); /* FLUSH and FSYNC make local data stable */
	}
}

/* To the backing file; false when only the server can write the data. */
static bool submit_locally(struct gathered *g)
{
	if (g->session == 0)
		return false;
	g->local = (struct uring_io){.buf = (uint8_t *)g->write->data,
		.size = g->length,
		.offset = g->offset,
		.as_root = g->as_root,
		.done = on_local_write};
	return g->file.ops->begin_local_write(&g->file, g->session, &g->local);
}

static void submit(struct gathered *g)
{
	struct nfs_call *call = &g->write->call;

	if (submit_locally(g))
		return;
	call->args.io.offset = g->offset + g->done;
	call->args.io.count = (uint32_t)MIN(g->length - g->done, g->file.wsize);
	call->args.io.data = g->write->data + g->done;
	call->proc = NFS_WRITE;
	call->done = on_answer;
	call->given_up = gathered_given_up;
	write_log_send(g->file.log, g->file.server, g->write);
}

static void actions_init(struct actions *a)
{
	a->error = 0;
	list_init(&a->to_send);
	list_init(&a->waits);
	list_init(&a->writers);
}

/* Picks the requests that may be sent now. all: also the request that could still grow. The caller holds the lock. */
static void pick(struct write_behind *b, bool all, struct actions *a)
{
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

/* The request grows no more, and is kept until COMMIT: without the room that it did not need. */
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

/* Callers that wait may go. The WRITE may not: the server could do it after a newer WRITE. */
static bool gathered_given_up(struct nfs_call *call)
{
	const struct data_write *w = CONTAINER_OF(call, struct data_write, call);
	struct write_behind *b = ((const struct gathered *)w->owner)->file.behind;
	struct actions a;

	actions_init(&a);
	a.error = -EINTR;
	{
		LOCKED(b->lock);
		LIST_FOREACH (wait, &b->waits) {
			if (!patience_ended(&CONTAINER_OF(wait, struct behind_wait, node)->patience))
				continue;
			list_remove(wait);
			list_append(&a.waits, wait);
		}
		LIST_FOREACH (writer, &b->writers) {
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
	struct behind_file file; /* a reference */
};

static void on_pause_end(struct uring_io *io, ssize_t result)
{
	struct pause *p = CONTAINER_OF(io, struct pause, io);
	struct write_behind *b = p->file.behind;
	struct actions a;

	(void)result;
	actions_init(&a);
	{
		LOCKED(b->lock);
		b->pausing = false;
		pick(b, false, &a);
	}
	act(&a);
	p->file.ops->unref(&p->file);
	free(p);
}

/* Takes the waits that waited for this request last. The caller holds the lock. */
static void take_settled(struct write_behind *b, const struct gathered *g, struct actions *a)
{
	LIST_FOREACH (pos, &b->waits) {
		struct behind_wait *w = CONTAINER_OF(pos, struct behind_wait, node);

		if (g->number <= w->last && --w->left == 0) {
			list_remove(pos);
			list_append(&a->waits, pos);
		}
	}
}

static void gathered_end(struct gathered *g)
{
	struct pause *pause = g->written_locally && g->length < LITTLE ? calloc(1, sizeof(*pause)) : NULL;
	struct behind_file file = g->file;
	struct write_behind *b = file.behind;
	struct actions a;

	actions_init(&a);
	{
		LOCKED(b->lock);
		list_remove(&g->node);
		b->flying--;
		b->answered = attr_clock_tick();
		take_settled(b, g, &a);
		if (pause && !b->pausing) {
			*pause = (struct pause){.file = file, .io.done = on_pause_end};
			file.ops->ref(&file);
			b->pausing = true;
		}
		pick(b, !list_empty(&b->waits), &a);
	}
	free(g);
	act(&a);
	if (pause && pause->io.done)
		file.ops->pause(&file, &pause->io);
	else
		free(pause);
	file.ops->unref(&file);
}

static void on_stable(struct stable_wait *w, int error)
{
	(void)error; /* the log tells every open file of it */
	gathered_end(CONTAINER_OF(w, struct gathered, stable));
}

static void on_commit(struct commit_wait *w, int error)
{
	struct stable_wait *stable = CONTAINER_OF(w, struct stable_wait, commit);

	stable->done(stable, error);
}

static void commit_log(struct stable_wait *w)
{
	w->commit.done = on_commit;
	w->commit.patience = w->patience;
	write_log_commit(w->file.log, w->file.server, w->file.fh, &w->cred, &w->commit);
}

/* All bytes of the request are written. */
static void gathered_done(struct gathered *g, enum write_result result)
{
	struct nfs_call *call = &g->write->call;

	g->file.ops->on_written(&g->file, g->length);
	call->args.io.offset = g->offset;
	call->args.io.count = (uint32_t)g->length;
	g->stable = (struct stable_wait){.file = g->file, .cred = call->cred, .done = on_stable};
	if (write_log_answered(g->file.log, g->write, result))
		commit_log(&g->stable);
	else
		gathered_end(g);
}

static void on_answer(struct nfs_call *call)
{
	struct data_write *w = CONTAINER_OF(call, struct data_write, call);
	struct gathered *g = w->owner;
	struct write_log *log = g->file.log;
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
	/* No commit answers with this verifier: all data of the request is sent again. */
	if (g->mixed)
		memset(w->verf.data, 0xff, sizeof(w->verf.data));
	gathered_done(g, g->unstable ? WRITE_UNSTABLE : WRITE_STABLE);
}

/* The caller holds the lock. */
static struct gathered *gathered_new(const struct behind_file *f, const struct nfs_cred *cred, uint64_t offset,
	size_t size, uint64_t session, bool as_root)
{
	struct gathered *g = calloc(1, sizeof(*g));

	if (!g)
		return NULL;
	g->room = MAX(size, f->wsize); /* memory that is not touched costs nothing */
	g->write = data_write_new(g->room);
	if (!g->write) {
		free(g);
		return NULL;
	}
	g->file = *f;
	f->ops->ref(f);
	g->offset = offset;
	g->number = ++f->behind->last;
	list_init(&g->node);
	list_init(&g->to_send);
	g->write->owner = g;
	g->write->call.fh = *f->fh;
	g->write->call.cred = *cred;
	g->session = session;
	g->as_root = as_root;
	/* Beside local writes nothing may be kept for resending. */
	g->write->call.args.io.stable = session != 0 ? NFS_FILE_SYNC : NFS_UNSTABLE;
	write_log_started(f->log);
	return g;
}

/* The gathered request that has room for these bytes at this place, or NULL. The caller holds the lock. */
static struct gathered *room_for(const struct write_behind *b, const struct nfs_cred *cred, uint64_t offset,
	size_t size, uint64_t session, bool as_root)
{
	struct gathered *g = b->gathering;

	return g && offset >= g->offset && offset <= end_of(g) && offset + size <= g->offset + g->room &&
			       nfs_cred_equal(&g->write->call.cred, cred) && g->session == session &&
			       g->as_root == as_root
		       ? g
		       : NULL;
}

/* Adds the data to the gathered request, or to a new one; 0, -EBUSY or -ENOMEM. The caller holds the lock. */
static int gather(const struct behind_file *f, const struct nfs_cred *cred, uint64_t offset, const void *data,
	size_t size, const struct behind_writer *w)
{
	struct write_behind *b = f->behind;
	uint64_t session, end = offset + size;
	struct gathered *g;
	int r = f->ops->choose(f, w->session, &session);

	if (r < 0)
		return r;
	if (overlaps(&b->sent, offset, end) || overlaps(&b->full, offset, end))
		return -EBUSY;
	g = room_for(b, cred, offset, size, session, w->as_root);
	if (!g) {
		if (b->gathering && b->gathering->offset < end && offset < end_of(b->gathering))
			return -EBUSY;
		g = gathered_new(f, cred, offset, size, session, w->as_root);
		if (!g)
			return -ENOMEM;
		if (b->gathering)
			list_append(&b->full, &b->gathering->node);
		b->gathering = g;
	}
	memcpy(g->write->data + (offset - g->offset), data, size);
	g->length = MAX(g->length, (size_t)(offset - g->offset) + size);
	return 0;
}

int write_behind_add(const struct behind_file *f, const struct nfs_cred *cred, uint64_t offset, const void *data,
	size_t size, struct behind_writer *w)
{
	struct write_behind *b = f->behind;
	struct actions a;
	int r;

	actions_init(&a);
	{
		LOCKED(b->lock);
		r = gather(f, cred, offset, data, size, w);
		if (r < 0)
			return r;
		pick(b, false, &a);
		if (!list_empty(&b->full)) {
			list_append(&b->writers, &w->node);
			r = 1;
		}
	}
	act(&a);
	return r;
}

void write_behind_settle(struct write_behind *b, struct behind_wait *w)
{
	struct actions a;

	actions_init(&a);
	{
		LOCKED(b->lock);
		w->last = b->last;
		w->left = b->flying + (b->gathering != NULL);
		LIST_FOREACH (pos, &b->full)
			w->left++;
		pick(b, true, &a);
		list_append(w->left > 0 ? &b->waits : &a.waits, &w->node);
	}
	act(&a);
}

static void on_settled(struct behind_wait *behind, int error)
{
	struct stable_wait *w = CONTAINER_OF(behind, struct stable_wait, behind);

	if (error < 0)
		w->done(w, error);
	else
		commit_log(w);
}

void write_behind_commit(const struct behind_file *f, const struct nfs_cred *cred, struct stable_wait *w)
{
	w->file = *f;
	w->cred = *cred;
	w->behind.done = on_settled;
	w->behind.patience = w->patience;
	write_behind_settle(f->behind, &w->behind);
}
