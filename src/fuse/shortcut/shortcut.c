/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "fuse/shortcut/shortcut.h"

#include <string.h>

#include "base/clock.h"
#include "fuse/fs/convert.h"
#include "fuse/local/backing_ids.h"
#include "fuse/shortcut/change.h"
#include "fuse/shortcut/proof.h"
#include "wire/broker_messages.h"

#define TICK_MS 1000 /* between two looks at the waiting questions */

/* A question to the sidecar. Freed by its answer. */
struct question {
	struct broker_call broker;
	struct list node; /* of shortcut.questions */
	struct shortcut *shortcut;
	struct nfs_call *call;   /* of a call; NULL: the NFS server has it */
	struct broker_call *own; /* a handler's, which is no call; NULL: it got no answer in time */
	uint32_t type;           /* enum broker_type */
	bool opens;              /* a file: SHORTCUT_OPEN_PATIENCE_MS */
	uint64_t since;          /* now_ms() */
	uint64_t generation;     /* of the session */
};

struct shortcut {
	struct server server; /* the one that the mount uses */
	struct server *nfs;
	struct fs *fs;
	struct proof proof;
	struct memory memory;
	struct changes changes;
	pthread_mutex_t lock;
	struct list questions;
	atomic_bool opens_stalled; /* the sidecar has not answered an open for too long */
	atomic_bool used;          /* since the last tick */
	atomic_bool ticking;       /* the probe's thread comes back within TICK_MS */
};

static struct shortcut *of_server(struct server *server)
{
	return CONTAINER_OF(server, struct shortcut, server);
}

/* ---- the sidecar's answers ---- */

/* The sidecar has answered. */
static void heard(struct shortcut *s)
{
	changes_heard(&s->changes);
	s->opens_stalled = false;
}

/* Removes an answered question. */
static void end_question(struct question *q)
{
	LOCKED(&q->shortcut->lock);
	list_remove(&q->node);
}

/* Takes the call of an answered question; NULL if the NFS server has it. Frees the question. */
static struct nfs_call *take_call(struct question *q)
{
	struct nfs_call *call;

	end_question(q);
	call = q->call;
	free(q);
	return call;
}

/* The same of a question about names. The answer may say that the sidecar answers no further questions. */
static struct nfs_call *take_named(struct question *q, int error, const struct broker_status *answer)
{
	struct shortcut *s = q->shortcut;
	uint64_t generation = q->generation;
	struct nfs_call *call = take_call(q);

	if (error < 0)
		return call;
	heard(s);
	if (answer->reason == REASON_OTHER_MOUNTS)
		proof_withdraw(&s->proof, generation);
	if (call)
		changes_refused(&s->changes, generation, call->cred.uid, answer->reason);
	return call;
}

static void lookup_answered(struct broker_call *broker, int error, const void *body)
{
	struct question *q = CONTAINER_OF(broker, struct question, broker);
	const struct broker_found *found = body;
	struct shortcut *s = q->shortcut;
	struct nfs_call *call = take_named(q, error, body);

	if (!call)
		return;
	if (error < 0 || found->reason != REASON_NONE || (found->error != 0 && found->error != -ENOENT) ||
		(found->error == 0 && !nfs_fh_of_broker(&found->fh, &call->new_fh))) {
		to_server(&s->memory, call);
		return;
	}
	call->error = found->error;
	call->by_sidecar = true;
	call->watched = found->watched != 0;
	call->no_acl = (found->dir.flags & BROKER_ATTR_NO_ACL) != 0;
	call->has_attr = found->error == 0;
	if (call->has_attr)
		attr_of_broker(s->fs, &found->attr, &call->attr);
	call->dir = (struct nfs_wcc){.has_after = true};
	attr_of_broker(s->fs, &found->dir, &call->dir.after);
	call->done(call);
}

/* False for an entry that the protocol does not allow. */
static bool take_entry(const struct fs *fs, const struct broker_entry_ref *e, struct nfs_entry *ret)
{
	*ret = (struct nfs_entry){.name = e->name,
		.fileid = e->entry.fileid,
		.cookie = e->entry.cookie,
		.has_attr = e->entry.attr.mode != 0,
		.no_acl = (e->entry.attr.flags & BROKER_ATTR_NO_ACL) != 0};
	attr_of_broker(fs, &e->entry.attr, &ret->attr);
	if (e->entry.fh_length > sizeof(ret->fh.data) || (e->entry.fh_length > 0 && !ret->has_attr))
		return false;
	ret->fh.len = e->entry.fh_length;
	memcpy(ret->fh.data, e->fh, ret->fh.len);
	return true;
}

/* The entries, which the caller frees, and whose names are in the reply. NULL without memory, or for a wrong reply. */
static struct nfs_entry *take_entries(const struct fs *fs, const struct broker_listed *listed, size_t length)
{
	const uint8_t *from = (const uint8_t *)(listed + 1);
	struct nfs_entry *entries = calloc(length / sizeof(struct broker_entry) + 1, sizeof(*entries));
	struct broker_entry_ref e;
	size_t at = 0, count = 0;

	length -= sizeof(*listed);
	while (entries && at < length && count < listed->count && broker_entry_get(from, length, &at, &e) &&
		take_entry(fs, &e, &entries[count]))
		count++;
	if (at == length && count == listed->count)
		return entries;
	free(entries);
	return NULL;
}

static void listing_answered(struct broker_call *broker, int error, const void *body)
{
	struct question *q = CONTAINER_OF(broker, struct question, broker);
	const struct broker_listed *listed = body;
	struct shortcut *s = q->shortcut;
	uint32_t length = broker->length;
	struct nfs_call *call = take_named(q, error, body);
	struct nfs_entry *entries = NULL;

	if (!call)
		return;
	if (error == 0 && listed->error == 0)
		entries = take_entries(s->fs, listed, length);
	if (!entries) {
		to_server(&s->memory, call);
		return;
	}
	call->error = 0;
	call->by_sidecar = true;
	call->watched = listed->watched != 0;
	call->dir = (struct nfs_wcc){.has_after = true};
	attr_of_broker(s->fs, &listed->dir, &call->dir.after);
	call->res.dir.entries = entries;
	call->res.dir.count = listed->count;
	call->res.dir.eof = true;
	call->res.dir.verf = (struct nfs_verf){0};
	call->done(call);
	free(entries);
}

/* Only the server refuses: it may know more than the sidecar. */
static bool lacks_rights(const struct nfs_call *call, const struct broker_open_reply *reply)
{
	return call->proc == NFS_ACCESS && (call->args.access.bits & ~reply->access) != 0;
}

/* The answer to GETATTR or to ACCESS. */
static void attributes_answered(struct broker_call *broker, int error, const void *body)
{
	struct question *q = CONTAINER_OF(broker, struct question, broker);
	const struct broker_open_reply *reply = body;
	struct shortcut *s = q->shortcut;
	uint64_t generation = q->generation;
	int *fd = broker->fd;
	struct nfs_call *call = take_call(q);

	if (error == 0)
		heard(s);
	if (!call)
		return;
	if (error < 0 || reply->error < 0 || lacks_rights(call, reply)) {
		if (error == 0 && reply->error == -ESTALE)
			memory_changed(&s->memory, &call->fh);
		to_server(&s->memory, call);
		return;
	}
	call->error = 0;
	call->by_sidecar = true;
	call->watched = reply->watched != 0;
	call->no_acl = (reply->attr.flags & BROKER_ATTR_NO_ACL) != 0;
	call->has_attr = true;
	attr_of_broker(s->fs, &reply->attr, &call->attr);
	if (call->proc == NFS_ACCESS)
		call->res.access = reply->access;
	if (call->proc == NFS_ACCESS && call->opening)
		*call->opening = (struct opening){.wants = call->opening->wants,
			.session = generation,
			.reply = *reply,
			.fd = fd ? steal_fd(fd) : -1};
	call->done(call);
}

/* Nobody waits any more for what the sidecar has opened. */
static void give_back(struct fs *fs, const struct broker_open_reply *reply)
{
	if (reply->backing_id == 0)
		return;
	backing_ids_registered(fs->ids);
	backing_ids_close(fs->ids, reply->backing_id);
}

static void own_answered(struct broker_call *broker, int error, const void *body)
{
	struct question *q = CONTAINER_OF(broker, struct question, broker);
	struct shortcut *s = q->shortcut;
	struct broker_call *own;

	end_question(q);
	if (error == 0)
		heard(s);
	own = q->own;
	if (own) {
		own->fd = broker->fd;
		own->done(own, error, body);
	} else if (error == 0 && q->type == BROKER_OPEN) {
		give_back(s->fs, body);
	}
	free(q);
}

/* ---- calls ---- */

/* Makes the probe's thread look at questions and changes that wait. */
static void will_tick(struct shortcut *s)
{
	s->used = true;
	if (!atomic_exchange(&s->ticking, true))
		probe_wake(s->fs->probe);
}

/* Remembers a question before it is sent. NULL without memory. */
static struct question *ask(struct shortcut *s, uint32_t type, bool opens, struct nfs_call *call,
	struct broker_call *own, void (*done)(struct broker_call *broker, int error, const void *body))
{
	struct question *q = calloc(1, sizeof(*q));

	if (!q)
		return NULL;
	q->broker.done = done;
	q->shortcut = s;
	q->call = call;
	q->own = own;
	q->type = type;
	q->opens = opens;
	q->since = work_ms();
	q->generation = fs_generation(s->fs);
	{
		LOCKED(&s->lock);
		list_append(&s->questions, &q->node);
	}
	will_tick(s);
	return q;
}

static bool ask_name(struct shortcut *s, struct nfs_call *call)
{
	struct broker_lookup body;
	struct question *q =
		broker_lookup_of_nfs(call, &body) ? ask(s, BROKER_LOOKUP, false, call, NULL, lookup_answered) : NULL;

	if (q)
		probe_send(s->fs->probe, &q->broker, BROKER_LOOKUP, &body, sizeof(body));
	return q != NULL;
}

/* The sidecar lists a directory whole, or not at all. */
static bool ask_listing(struct shortcut *s, struct nfs_call *call)
{
	struct broker_list body = {.dir = request_broker_fh(&call->fh),
		.cred = broker_cred_of_nfs(call),
		.plus = call->proc == NFS_READDIRPLUS,
		.asks_acl = s->fs->has_acls};
	struct question *q =
		call->args.dir.cookie == 0 ? ask(s, BROKER_LIST, false, call, NULL, listing_answered) : NULL;

	if (q)
		probe_send(s->fs->probe, &q->broker, BROKER_LIST, &body, sizeof(body));
	return q != NULL;
}

static bool ask_attributes(struct shortcut *s, struct nfs_call *call)
{
	struct broker_open body = {.fh = request_broker_fh(&call->fh),
		.flags = BROKER_OPEN_ATTR | (call->asks_acl ? BROKER_OPEN_WATCH : 0)};
	struct question *q = ask(s, BROKER_OPEN, false, call, NULL, attributes_answered);

	if (q)
		probe_send(s->fs->probe, &q->broker, BROKER_OPEN, &body, sizeof(body));
	return q != NULL;
}

/* The rights that an open of a directory needs. */
static bool ask_access(struct shortcut *s, struct nfs_call *call)
{
	struct broker_open body = {.fh = request_broker_fh(&call->fh),
		.cred = broker_cred_of_nfs(call),
		.flags = (call->asks_acl ? BROKER_OPEN_WATCH : 0) | (call->opening ? call->opening->wants : 0)};
	struct question *q = (call->args.access.bits & ~(NFS_ACCESS_READ | NFS_ACCESS_LOOKUP)) == 0
				     ? ask(s, BROKER_OPEN, false, call, NULL, attributes_answered)
				     : NULL;

	if (q)
		probe_send(s->fs->probe, &q->broker, BROKER_OPEN, &body, sizeof(body));
	return q != NULL;
}

static void ask_own(struct shortcut *s, struct broker_call *call, bool opens, uint32_t type, const void *body,
	uint32_t size)
{
	bool stalled = opens ? s->opens_stalled : s->changes.stalled;
	struct question *q = stalled ? NULL : ask(s, type, opens, NULL, call, own_answered);

	if (!q) {
		call->done(call, stalled ? -ETIMEDOUT : -ENOMEM, NULL);
		return;
	}
	probe_send(s->fs->probe, &q->broker, type, body, size);
}

void shortcut_open(struct shortcut *s, struct broker_call *call, const struct broker_open *body)
{
	ask_own(s, call, true, BROKER_OPEN, body, sizeof(*body));
}

void shortcut_look(struct shortcut *s, struct broker_call *call, const struct broker_open *body)
{
	ask_own(s, call, false, BROKER_OPEN, body, sizeof(*body));
}

void shortcut_digest(struct shortcut *s, struct broker_call *call, const struct broker_digest *body)
{
	ask_own(s, call, false, BROKER_DIGEST, body, sizeof(*body));
}

/* True if the sidecar will answer the call, or hand it on. */
static bool takes_shortcut(struct shortcut *s, struct nfs_call *call)
{
	uint64_t generation = fs_generation(s->fs);

	if (generation == 0 || s->changes.stalled || call->delay_ms > 0)
		return false;
	if (call->proc == NFS_GETATTR)
		return ask_attributes(s, call);
	if (!proof_is_there(&s->proof, generation))
		return false;
	if (call->proc == NFS_LOOKUP)
		return ask_name(s, call);
	if (call->proc == NFS_READDIR || call->proc == NFS_READDIRPLUS)
		return ask_listing(s, call);
	if (call->proc == NFS_ACCESS)
		return ask_access(s, call);
	if (!changes_take(&s->changes, call, generation))
		return false;
	will_tick(s);
	return true;
}

static void submit(struct server *server, struct nfs_call *call)
{
	struct shortcut *s = of_server(server);

	call->watched = call->no_acl = call->empty = call->by_setter = false;
	call->born = 0;
	if (!takes_shortcut(s, call))
		to_server(&s->memory, call);
}

static int look_at_export(struct server *server, const struct nfs_fh *root, struct server_export *ret)
{
	struct shortcut *s = of_server(server);
	int r = server_look_at_export(s->nfs, root, ret);

	server->abilities = s->nfs->abilities;
	return r;
}

static void append(struct server *server, struct nfs_call *call)
{
	call->by_sidecar = call->watched = false;
	memory_submit(&of_server(server)->memory, call, server_append);
}

static void stats(struct server *server, struct server_stats *ret)
{
	server_stats(of_server(server)->nfs, ret);
}

static void near(struct server *server)
{
	server_near(of_server(server)->nfs);
}

static void stop(struct server *server)
{
	memory_flush(&of_server(server)->memory);
	server_stop(of_server(server)->nfs);
}

static void free_shortcut(struct server *server)
{
	struct shortcut *s = of_server(server);

	s->nfs = server_free(s->nfs);
	proof_done(&s->proof);
	changes_done(&s->changes);
	memory_done(&s->memory);
	(void)pthread_mutex_destroy(&s->lock);
	free(s);
}

static const struct server_ops ops = {.look_at_export = look_at_export,
	.submit = submit,
	.create = submit,
	.append = append,
	.stats = stats,
	.near = near,
	.stop = stop,
	.free = free_shortcut};

int shortcut_new(struct fs *fs, struct server *nfs, struct shortcut **ret)
{
	struct shortcut *s = calloc(1, sizeof(*s));

	if (!s)
		return -ENOMEM;
	s->server = (struct server){.ops = &ops, .abilities = nfs->abilities};
	s->nfs = nfs;
	s->fs = fs;
	proof_init(&s->proof, fs);
	memory_init(&s->memory, fs, nfs);
	changes_init(&s->changes, fs, &s->memory);
	(void)pthread_mutex_init(&s->lock, NULL);
	list_init(&s->questions);
	*ret = s;
	return 0;
}

void opening_drop(struct fs *fs, struct opening *o)
{
	if (o->session == 0)
		return;
	o->session = 0;
	close_fdp(&o->fd);
	backing_ids_close(fs->ids, o->reply.backing_id);
}

struct server *shortcut_server(struct shortcut *s)
{
	return &s->server;
}

struct server *shortcut_nfs(struct shortcut *s)
{
	return s->nfs;
}

/* ---- questions that wait ---- */

/*
 * Who asked a question that waits too long; its answer will find nobody. False if none does. *ret_opens: of a file.
 * *ret_left: questions wait.
 */
static bool take_overdue(struct shortcut *s, uint64_t now, struct nfs_call **ret_call, struct broker_call **ret_own,
	bool *ret_opens, bool *ret_left)
{
	LOCKED(&s->lock);
	*ret_left = false;
	LIST_FOREACH (pos, &s->questions) {
		struct question *q = CONTAINER_OF(pos, struct question, node);
		bool waits = q->call || q->own;
		unsigned patience_ms = q->opens ? SHORTCUT_OPEN_PATIENCE_MS : SHORTCUT_PATIENCE_MS;

		*ret_left |= waits;
		if (!waits || time_since(q->since, now) < patience_ms)
			continue;
		*ret_call = STEAL_PTR(q->call);
		*ret_own = STEAL_PTR(q->own);
		*ret_opens = q->opens;
		return true;
	}
	return false;
}

int shortcut_housekeep(struct shortcut *s)
{
	struct broker_call *own;
	struct nfs_call *call;
	bool opens, left, changing = changes_housekeep(&s->changes);
	int looks_ms = memory_housekeep(&s->memory);

	while (take_overdue(s, work_ms(), &call, &own, &opens, &left)) {
		s->changes.stalled = true;
		if (call) {
			to_server(&s->memory, call);
			continue;
		}
		s->opens_stalled = s->opens_stalled || opens;
		own->done(own, -ETIMEDOUT, NULL);
	}
	if (left || changing || atomic_exchange(&s->used, false))
		return looks_ms < 0 ? TICK_MS : MIN(looks_ms, TICK_MS);
	s->ticking = false;
	return looks_ms;
}

void shortcut_learn(struct shortcut *s, const struct nfs_call *answered)
{
	uint64_t generation = fs_generation(s->fs);
	bool has_name = answered->proc == NFS_LOOKUP || answered->proc == NFS_CREATE || answered->proc == NFS_MKDIR;

	if (generation != 0 && has_name && answered->error == 0 && answered->new_fh.len > 0 && !answered->by_sidecar)
		proof_try(&s->proof, generation, answered);
}

void shortcut_session_ended(struct shortcut *s)
{
	memory_hurry(&s->memory);
}

void shortcut_written(struct shortcut *s, const struct nfs_fh *fh)
{
	memory_written(&s->memory, fh);
}

bool shortcut_is_full(struct shortcut *s)
{
	return memory_reason(&s->memory) != REASON_NONE;
}

bool shortcut_is_behind(struct shortcut *s, const struct nfs_fh *fh, uint64_t asked)
{
	return memory_is_behind(&s->memory, fh, asked);
}

void shortcut_found_other(struct shortcut *s, const struct nfs_fh *fh)
{
	memory_changed(&s->memory, fh);
}

enum reason shortcut_reason(struct shortcut *s)
{
	uint64_t generation = fs_generation(s->fs);

	enum reason reason;

	if (generation == 0)
		return REASON_SESSION_LOST;
	reason = proof_reason(&s->proof, generation);
	return reason != REASON_NONE ? reason : memory_reason(&s->memory);
}

void shortcut_new_session(struct shortcut *s)
{
	s->changes.stalled = s->opens_stalled = false;
}

void shortcut_try_again(struct shortcut *s)
{
	proof_try_again(&s->proof);
}
