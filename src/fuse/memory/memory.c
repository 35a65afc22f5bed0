/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "fuse/memory/memory.h"

#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "fuse/known/known.h"
#include "fuse/local/server_refresh.h"
#include "fuse/memory/behind.h"

#define LOOK_PATIENCE_MS  5000
#define BACKOFF_SHIFT_MAX 6 /* the longest time between two looks that fail, 6.4 s, in powers of two */

/* A request for which the server looks. The entry stays until the answer. */
struct look {
	struct look_request request;
	struct memory *memory;
	struct behind *behind;
	struct server_view view;
	uint32_t covers; /* behind.changes at the beginning */
	uint64_t since;  /* now_ms() */
	unsigned rounds; /* of questions to the callers that wait */
	bool taken;      /* behind.taken at the beginning of this look */
	bool shared;     /* names were taken, and others were noticed to change the directory */
	bool touch;      /* after the look, by the taker */
	struct nfs_cred taker;
};

/* A call that waits for a look. */
struct waiter {
	struct list node;
	struct nfs_call *call;
	memory_submit_fn submit;
	bool second;    /* for the look at call->fh2 */
	uint32_t needs; /* behind.changes at the beginning */
	uint64_t since; /* now_ms() */
	unsigned asked; /* look.rounds at the last question whether the caller waits */
};

static struct look *look_of(struct nfs_call *call)
{
	return CONTAINER_OF(call, struct look, request.call);
}

static void on_looks(struct looks *looks, struct list *calls);

void memory_init(struct memory *m, struct fs *fs, struct server *nfs)
{
	*m = (struct memory){.fs = fs, .nfs = nfs, .sender = {.fs = fs, .nfs = nfs, .answered = on_looks}};
	(void)pthread_mutex_init(&m->lock, NULL);
	(void)pthread_cond_init(&m->emptied, NULL);
	hash_table_init(&m->behind);
	list_init(&m->idle);
	list_init(&m->recent);
}

void memory_done(struct memory *m)
{
	behind_free_all(m);
	hash_table_done(&m->behind);
	(void)pthread_cond_destroy(&m->emptied);
	(void)pthread_mutex_destroy(&m->lock);
}

/* The state of a directory after a change. Answers of changes at the same time cross. The caller holds the lock. */
static void note_directory(struct behind *b, const struct memory_directory *d)
{
	if (timespec_is_earlier(&b->ctime, &d->ctime)) {
		b->mtime = d->mtime;
		b->ctime = d->ctime;
	}
	if (!d->taker)
		return;
	b->taken = true;
	b->taker = *d->taker;
}

/* d: NULL for a file, and for a directory whose new state is not known. */
static void note_change(struct memory *m, const struct nfs_fh *fh, const struct memory_directory *d, unsigned within_ms)
{
	bool known, first = false;
	struct behind *b;

	if (!fs_server_remembers(m->fs))
		return;
	{
		LOCKED(&m->lock);
		b = behind_find_any(m, fh);
		known = b && !b->recent;
		if (!b)
			b = behind_add(m, fh);
		if (b && !known)
			first = behind_begin(m, b, within_ms);
		if (b)
			b->changes++;
		if (b && d)
			note_directory(b, d);
	}
	if (!b)
		log_error_limited("%s: no memory to make the NFS server look at a change", m->fs->spec);
	else if (first)
		probe_wake(m->fs->probe);
}

void memory_changed(struct memory *m, const struct nfs_fh *fh)
{
	note_change(m, fh, NULL, MEMORY_TICK_MS);
}

void memory_directory_changed(struct memory *m, const struct nfs_fh *fh, const struct memory_directory *d)
{
	note_change(m, fh, d, MEMORY_TICK_MS);
}

void memory_written(struct memory *m, const struct nfs_fh *fh)
{
	note_change(m, fh, NULL, MEMORY_CLOSED_MS);
}

void memory_gone(struct memory *m, const struct nfs_fh *fh)
{
	struct behind *b;

	if (m->count == 0)
		return;
	LOCKED(&m->lock);
	b = behind_find(m, fh);
	/* A call may wait for the look that is under way. */
	if (b && !b->look)
		behind_forget(m, b);
}

enum reason memory_reason(struct memory *m)
{
	if (m->count == 0 && m->failures == 0)
		return REASON_NONE;
	return m->failures >= MEMORY_FAILURES || m->count >= MEMORY_BEHIND_MAX ? REASON_SERVER_REMEMBERS : REASON_NONE;
}

bool memory_is_behind(struct memory *m, const struct nfs_fh *fh, uint64_t asked)
{
	const struct behind *b;

	if (!fs_server_remembers(m->fs))
		return false;
	LOCKED(&m->lock);
	b = behind_find_any(m, fh);
	return (b && (!b->recent || b->looked > asked)) || m->horizon > asked;
}

bool memory_has_seen(struct memory *m, const struct nfs_fh *fh, const struct timespec *mtime)
{
	const struct behind *b;
	LOCKED(&m->lock);

	b = behind_find_any(m, fh);
	return b && mtime->tv_sec != 0 && timespec_is_same(&b->seen, mtime);
}

/* ---- looks ---- */

/* The next waiter of the entry whose caller is to be asked. Only the server's thread takes waiters, so it stays. */
static struct waiter *next_to_ask(struct memory *m, struct behind *b, unsigned round)
{
	LOCKED(&m->lock);
	LIST_FOREACH (pos, &b->waiters) {
		struct waiter *w = CONTAINER_OF(pos, struct waiter, node);

		if (w->asked == round)
			continue;
		w->asked = round;
		return w;
	}
	return NULL;
}

static int why_unwanted(const struct waiter *w, uint64_t now)
{
	if (w->call->given_up && w->call->given_up(w->call))
		return -EINTR;
	return w->call->patience_ms > 0 && time_since(w->since, now) >= w->call->patience_ms ? -ETIMEDOUT : 0;
}

static void end_unwanted(struct look *l, uint64_t now)
{
	struct memory *m = l->memory;
	struct waiter *w;

	l->rounds++;
	while ((w = next_to_ask(m, l->behind, l->rounds)) != NULL) {
		struct nfs_call *call = w->call;
		int error = why_unwanted(w, now);

		if (error == 0)
			continue;
		{
			LOCKED(&m->lock);
			list_remove(&w->node);
		}
		free(w);
		call->error = error;
		call->done(call);
	}
}

static bool is_connected(const struct memory *m)
{
	struct server_stats stats;

	server_stats(m->nfs, &stats);
	return stats.connected;
}

static bool look_given_up(struct nfs_call *call)
{
	struct look *l = look_of(call);
	uint64_t now = now_ms();

	end_unwanted(l, now);
	return time_since(l->since, now) >= LOOK_PATIENCE_MS || !is_connected(l->memory);
}

/* Takes those waiters of an entry that need no more changes seen. The caller holds the lock. */
static void take_waiters(struct behind *b, uint32_t seen, struct list *ret)
{
	LIST_FOREACH (pos, &b->waiters) {
		struct waiter *w = CONTAINER_OF(pos, struct waiter, node);

		if ((int32_t)(w->needs - seen) > 0)
			continue;
		list_remove(pos);
		list_append(ret, pos);
	}
}

/* Begins a look at an entry that has none. False without memory. The caller holds the lock and submits the look. */
static bool begin_look(struct memory *m, struct behind *b, struct list *ret_looks)
{
	struct look *l = calloc(1, sizeof(*l));

	if (!l)
		return false;
	l->memory = m;
	l->behind = b;
	l->covers = b->changes;
	l->taken = b->taken;
	l->since = work_ms();
	l->request.call = (struct nfs_call){.fh = b->fh,
		.cred = namespaces_own_cred(&m->fs->namespaces),
		.patience_ms = LOOK_PATIENCE_MS,
		.may_be_gone = true,
		.given_up = look_given_up};
	looks_prepare(&m->sender, &l->request);
	b->look = l;
	list_remove(&b->order);
	m->looks++;
	list_append(ret_looks, &l->request.call.node);
	return true;
}

/*
 * Begins looks at the entries that are due, if it can begin some together; and with them at those that would be due
 * soon: one sending for all. The caller holds the lock.
 */
static void begin_due_looks(struct memory *m, struct list *ret_looks)
{
	uint64_t now = work_ms(), until = now;

	if (m->looks > MEMORY_LOOKS_LOW)
		return;
	while (!list_empty(&m->idle) && m->looks < MEMORY_LOOKS_MAX) {
		struct behind *b = CONTAINER_OF(m->idle.next, struct behind, order);

		if (b->due > until || !begin_look(m, b, ret_looks))
			return;
		until = now + MEMORY_CLOSED_MS;
	}
}

/* A look has failed. The caller holds the lock. */
static bool put_off(struct memory *m, struct behind *b, int error)
{
	b->failures++;
	if (error != -EINTR && ++m->failures == MEMORY_FAILURES)
		log_warning("%s: the NFS server does not look at files again that the sidecar has changed: %s",
			m->fs->spec, strerror(-error));
	return behind_wait(m, b, now_ms() + ((uint64_t)MEMORY_TICK_MS << MIN(b->failures, BACKOFF_SHIFT_MAX)));
}

/*
 * The server has looked after all changes of the entry. l->touch: names were taken from the directory, and the server
 * may have changed it at the same time. The look after the touch is judged, too: the server may have taken the touch's
 * mtime over like that of the change. The caller holds the lock.
 */
static void judge_look(struct behind *b, struct look *l)
{
	b->seen = l->request.call.has_attr ? l->request.call.attr.mtime : (struct timespec){0};
	l->touch = b->taken && b->touches < MEMORY_TOUCHES &&
		   (timespec_is_earlier(&b->mtime, &b->seen) || (l->shared && b->touches == 0));
	l->taker = b->taker;
	b->taken = l->touch;
	b->touches = l->touch ? b->touches + 1 : 0;
}

/*
 * True if a server answered a COMPOUND from its memory: it tells an mtime from before the directory's last change. Such
 * looks are not sent to that server again. The caller holds the lock.
 */
static bool is_from_memory(struct memory *m, const struct behind *b, const struct look *l)
{
	const struct look_request *r = &l->request;

	if (!r->together || b->changes != l->covers || !r->call.has_attr ||
		!timespec_is_earlier(&r->call.attr.mtime, &b->mtime))
		return false;
	looks_distrust(&m->sender);
	return true;
}

/*
 * What follows a look: the calls that need not wait any more, and the next looks. True if the probe's thread must learn
 * of a new first entry. The caller holds the lock.
 */
static bool end_look(struct memory *m, struct look *l, int error, struct list *ret_waiters, struct list *ret_looks)
{
	struct behind *b = l->behind;
	bool failed = error < 0 && error != -ESTALE, again = error == 0 && is_from_memory(m, b, l), first = false;

	b->look = NULL;
	m->looks--;
	if (!again)
		take_waiters(b, error < 0 ? b->changes : l->covers, ret_waiters);
	if (!failed)
		m->failures = b->failures = 0;
	if (error == -ESTALE || error == -ENOTCONN) {
		behind_forget(m, b);
	} else if (failed) {
		first = put_off(m, b, error);
	} else if (b->changes == l->covers && !again) {
		judge_look(b, l);
		behind_caught_up(m, b);
	} else if (list_empty(&b->waiters) || !begin_look(m, b, ret_looks)) {
		first = behind_wait(m, b, now_ms() + MEMORY_TICK_MS);
	}
	begin_due_looks(m, ret_looks);
	return first;
}

static void submit_looks(struct memory *m, struct list *looks)
{
	if (list_empty(looks))
		return;
	LIST_FOREACH (pos, looks) {
		struct look *l = look_of(CONTAINER_OF(pos, struct nfs_call, node));

		server_view_begin(m->fs, &l->request.call.fh, &l->view);
	}
	looks_send(&m->sender, looks);
}

/* No touch was sent, so the next look judges as if there had been none. */
static void not_touched(struct memory *m, const struct nfs_fh *fh)
{
	struct behind *b;
	LOCKED(&m->lock);

	b = behind_find_any(m, fh);
	if (b)
		b->touches = 0;
}

static void go_on(struct memory *m, struct waiter *w);

/* Takes the answer to one look over, and frees the look. True if the probe's thread must learn of a new first entry. */
static bool take_look(struct look *l, struct list *ret_waiters, struct list *ret_looks)
{
	struct nfs_call *call = &l->request.call;
	struct memory *m = l->memory;
	int error = call->error;
	bool first;

	m->fs->counters.refreshes++;
	if (error < 0 && error != -ESTALE)
		m->fs->counters.refreshes_failed++;
	server_view_end(m->fs, &l->view, call->proc, error);
	l->shared = l->taken && known_company(m->fs, &call->fh) == COMPANY_SOME;
	{
		LOCKED(&m->lock);
		first = end_look(m, l, error, ret_waiters, ret_looks);
	}
	if (l->touch && !m->touch(m->toucher, &call->fh, &l->taker))
		not_touched(m, &call->fh);
	free(l);
	return first;
}

static void on_looks(struct looks *looks, struct list *calls)
{
	struct memory *m = CONTAINER_OF(looks, struct memory, sender);
	struct list waiters, next;
	bool first = false;

	list_init(&waiters);
	list_init(&next);
	LIST_FOREACH (pos, calls)
		first |= take_look(look_of(CONTAINER_OF(pos, struct nfs_call, node)), &waiters, &next);
	submit_looks(m, &next);
	LIST_FOREACH (pos, &waiters)
		go_on(m, CONTAINER_OF(pos, struct waiter, node));
	if (first)
		probe_wake(m->fs->probe);
}

/* ---- calls of this mount ---- */

/* True if the answer depends on the state of files, and the request itself does not make the server look. */
static bool needs_looks(const struct memory *m, const struct nfs_call *call)
{
	switch (call->proc) {
	case NFS_NULL:
	case NFS_FSSTAT:
	case NFS_FSINFO:
	case NFS_PATHCONF:
	case NFS_COMMIT:
		return false;
	case NFS_GETACL:
		return m->fs->has_acls || m->fs->looks_by_commit;
	default:
		return true;
	}
}

/* Makes a call wait for the first look that it needs and has not waited for. False if it needs none. */
static bool wait_for_look(struct memory *m, struct nfs_call *call, memory_submit_fn submit, bool second,
	struct list *ret_looks)
{
	bool two = call->proc == NFS_RENAME || call->proc == NFS_LINK;
	struct behind *b;
	struct waiter *w;
	LOCKED(&m->lock);

	b = second ? NULL : behind_find(m, &call->fh);
	if (!b && two) {
		b = behind_find(m, &call->fh2);
		second = true;
	}
	if (!b || (!b->look && !begin_look(m, b, ret_looks)))
		return false;
	w = calloc(1, sizeof(*w));
	if (!w)
		return false;
	*w = (struct waiter){.call = call, .submit = submit, .second = second, .needs = b->changes, .since = work_ms()};
	list_append(&b->waiters, &w->node);
	return true;
}

static void submit_after_look(struct memory *m, struct nfs_call *call, memory_submit_fn submit, bool second)
{
	struct list looks;
	bool waits;

	list_init(&looks);
	waits = wait_for_look(m, call, submit, second, &looks);
	submit_looks(m, &looks);
	if (!waits)
		submit(m->nfs, call);
}

/* The look for which a call waited has ended. Frees the waiter. */
static void go_on(struct memory *m, struct waiter *w)
{
	struct nfs_call *call = w->call;
	memory_submit_fn submit = w->submit;
	bool second = w->second;

	free(w);
	if (second)
		submit(m->nfs, call);
	else
		submit_after_look(m, call, submit, true);
}

void memory_submit(struct memory *m, struct nfs_call *call, memory_submit_fn submit)
{
	if (m->count == 0 || !needs_looks(m, call) || !is_connected(m))
		submit(m->nfs, call);
	else
		submit_after_look(m, call, submit, false);
}

/* ---- looks by themselves ---- */

int memory_housekeep(struct memory *m)
{
	uint64_t now = work_ms(), due = 0;
	struct list looks;

	if (m->count == 0)
		return -1;
	list_init(&looks);
	{
		LOCKED(&m->lock);
		begin_due_looks(m, &looks);
		/* Above that number the answers begin the next looks. */
		if (!list_empty(&m->idle))
			due = MAX(CONTAINER_OF(m->idle.next, struct behind, order)->due,
				now + (m->looks <= MEMORY_LOOKS_LOW ? 1 : MEMORY_TICK_MS));
	}
	submit_looks(m, &looks);
	return due > 0 ? (int)(due - now) : -1;
}

void memory_hurry(struct memory *m)
{
	struct list looks;

	list_init(&looks);
	{
		LOCKED(&m->lock);
		LIST_FOREACH (pos, &m->idle)
			CONTAINER_OF(pos, struct behind, order)->due = 0;
		begin_due_looks(m, &looks);
	}
	submit_looks(m, &looks);
}

void memory_flush(struct memory *m)
{
	struct timespec until;
	int r = 0;

	if (m->count == 0 || !is_connected(m))
		return;
	memory_hurry(m);
	(void)clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += MEMORY_FLUSH_MS / 1000;
	LOCKED(&m->lock);
	while (m->count > 0 && r == 0)
		r = pthread_cond_clockwait(&m->emptied, &m->lock, CLOCK_MONOTONIC, &until);
}
