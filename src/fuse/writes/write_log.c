/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "fuse/writes/write_log.h"

#include <stdatomic.h>
#include <string.h>

/* One COMMIT and the writes it covers. */
struct commit {
	struct nfs_call call;
	struct write_log *log;
	struct server *server;
	struct list writes;   /* struct data_write.kept: as they were answered */
	struct list resent;   /* the same */
	struct list waiting;  /* struct commit_wait.node */
	struct nfs_verf verf; /* that COMMIT was answered with */
	int error;
};

static atomic_size_t kept_bytes;

void write_log_init(struct write_log *log)
{
	(void)pthread_mutex_init(&log->lock, NULL);
	list_init(&log->kept);
	list_init(&log->waiting);
	list_init(&log->held);
}

/* Small writes are more record than data. */
static size_t size_of(const struct data_write *w)
{
	return sizeof(*w) + w->call.args.io.count;
}

static void free_write(struct data_write *w)
{
	list_remove(&w->kept);
	kept_bytes -= size_of(w);
	data_write_free(w);
}

static void free_writes(struct list *writes)
{
	while (!list_empty(writes))
		free_write(CONTAINER_OF(writes->next, struct data_write, kept));
}

/* The caller holds the lock. */
static void take_kept(struct write_log *log, struct list *to)
{
	list_splice(to, &log->kept);
	log->bytes = 0;
}

void write_log_done(struct write_log *log)
{
	free_writes(&log->kept);
	(void)pthread_mutex_destroy(&log->lock);
}

void write_log_started(struct write_log *log)
{
	LOCKED(&log->lock);
	log->unanswered++;
}

static void submit(struct server *server, struct data_write *w)
{
	if (w->call.args.io.append)
		server_append(server, &w->call);
	else
		server_submit(server, &w->call);
}

void write_log_send(struct write_log *log, struct server *t, struct data_write *w)
{
	{
		LOCKED(&log->lock);
		if (log->resending && !w->sent) {
			log->server = t;
			list_append(&log->held, &w->kept);
			return;
		}
		log->flying += !w->sent;
		w->sent = true;
	}
	submit(t, w);
}

static void resend_next(struct commit *c);

bool write_log_answered(struct write_log *log, struct data_write *w, enum write_result result)
{
	struct commit *resend = NULL;
	bool keep, full = false;

	{
		LOCKED(&log->lock);
		log->unanswered--;
		log->flying -= w->sent;
		if (w->sent && log->flying == 0 && log->resending)
			resend = log->running;
		keep = result == WRITE_UNSTABLE ||
		       (result == WRITE_STABLE && (log->running || !list_empty(&log->kept)));
		if (keep) {
			list_append(&log->kept, &w->kept);
			log->bytes += size_of(w);
			kept_bytes += size_of(w);
			full = kept_bytes > WRITE_LOG_LIMIT || (log->bytes > WRITE_LOG_COMMIT && !log->running);
		}
	}
	if (!keep)
		data_write_free(w);
	if (resend)
		resend_next(resend);
	return full;
}

void write_log_fail(struct write_log *log, int error)
{
	LOCKED(&log->lock);
	write_errors_add(&log->errors, error);
}

bool write_log_dirty(struct write_log *log)
{
	LOCKED(&log->lock);
	return !list_empty(&log->kept) || log->running || log->unanswered > 0;
}

struct errors_heard write_log_open(struct write_log *log)
{
	LOCKED(&log->lock);
	return write_errors_open(&log->errors);
}

int write_log_tell(struct write_log *log, struct errors_heard *heard, bool closes)
{
	LOCKED(&log->lock);
	return write_errors_tell(&log->errors, heard, closes);
}

unsigned write_log_errors(struct write_log *log)
{
	LOCKED(&log->lock);
	return log->errors.count;
}

static void start_commit(struct commit *c);

/* Moves the waits whose patience has ended. The caller holds the lock of the list. */
static void take_given_up(struct list *from, struct list *to)
{
	LIST_FOREACH (pos, from) {
		struct commit_wait *w = CONTAINER_OF(pos, struct commit_wait, node);

		if (!patience_ended(&w->patience))
			continue;
		list_remove(pos);
		list_append(to, pos);
	}
}

/* Asks each wait if its patience has ended. False: the data must become stable all the same. */
static bool ask_waiters(struct commit *c)
{
	struct list gone, held;

	list_init(&gone);
	list_init(&held);
	take_given_up(&c->waiting, &gone); /* the server's loop thread alone uses this list */
	{
		LOCKED(&c->log->lock);
		take_given_up(&c->log->waiting, &gone);
		list_splice(&held, &c->log->held); /* only this thread releases them */
	}
	LIST_FOREACH (pos, &held) {
		struct data_write *w = CONTAINER_OF(pos, struct data_write, kept);

		if (w->call.given_up)
			(void)w->call.given_up(&w->call); /* answers its writer, and stays */
	}
	{
		LOCKED(&c->log->lock);
		list_splice(&held, &c->log->held);
		list_splice(&c->log->held, &held);
	}
	LIST_FOREACH (pos, &gone) {
		struct commit_wait *w = CONTAINER_OF(pos, struct commit_wait, node);

		list_remove(pos);
		w->done(w, -EINTR);
	}
	return false;
}

static bool commit_given_up(struct nfs_call *call)
{
	return ask_waiters(CONTAINER_OF(call, struct commit, call));
}

static bool resend_given_up(struct nfs_call *call)
{
	return ask_waiters(CONTAINER_OF(call, struct data_write, call)->commit);
}

/* All lost data is sent again: the held writes may go. */
static void end_resending(struct write_log *log)
{
	struct list held;

	list_init(&held);
	{
		LOCKED(&log->lock);
		log->resending = false;
		list_splice(&held, &log->held);
		LIST_FOREACH (pos, &held) {
			log->flying++;
			CONTAINER_OF(pos, struct data_write, kept)->sent = true;
		}
	}
	LIST_FOREACH (pos, &held) {
		list_remove(pos);
		submit(log->server, CONTAINER_OF(pos, struct data_write, kept));
	}
}

/* Answers the waits, and commits again for those that came meanwhile. */
static void end_commit(struct commit *c)
{
	struct write_log *log = c->log;
	struct list answered;
	bool again;
	int error = c->error;

	list_init(&answered);
	list_splice(&answered, &c->waiting);
	free_writes(&c->writes);
	free_writes(&c->resent);
	end_resending(log);
	if (error < 0)
		write_log_fail(log, error);
	{
		LOCKED(&log->lock);
		again = !list_empty(&log->waiting);
		if (again) {
			/* This commit may have covered their writes: its error counts for them, too. */
			list_splice(&c->waiting, &log->waiting);
			take_kept(log, &c->writes);
		} else {
			log->running = NULL;
		}
	}
	LIST_FOREACH (pos, &answered) {
		list_remove(pos);
		CONTAINER_OF(pos, struct commit_wait, node)->done(CONTAINER_OF(pos, struct commit_wait, node), error);
	}
	if (again)
		start_commit(c);
	else
		free(c);
}

static void resend_done(struct nfs_call *call)
{
	struct data_write *w = CONTAINER_OF(call, struct data_write, call);
	struct commit *c = w->commit;
	int error = call->error;

	if (error == 0 && call->res.io.count < call->args.io.count)
		error = -EIO;
	if (error < 0)
		c->error = error;
	list_remove(&w->kept);
	list_append(&c->resent, &w->kept);
	if (error == -ENOTCONN) /* the mount ends */
		end_commit(c);
	else
		resend_next(c);
}

static bool is_lost(const struct commit *c, const struct data_write *w)
{
	return memcmp(w->verf.data, c->verf.data, sizeof(w->verf.data)) != 0;
}

static bool overlaps_resent(const struct commit *c, const struct data_write *w)
{
	LIST_FOREACH (pos, &c->resent) {
		const struct data_write *older = CONTAINER_OF(pos, struct data_write, kept);

		if (older->call.args.io.offset < w->call.args.io.offset + w->call.args.io.count &&
			w->call.args.io.offset < older->call.args.io.offset + older->call.args.io.count)
			return true;
	}
	return false;
}

/* Sends the lost writes one at a time and in order: they may overlap, and a server answers in any order. */
static void resend_next(struct commit *c)
{
	struct data_write *w;

	{
		LOCKED(&c->log->lock);
		/* Newer writes, which were answered since the commit began. No more of them come. */
		take_kept(c->log, &c->writes);
	}
	while (!list_empty(&c->writes)) {
		w = CONTAINER_OF(c->writes.next, struct data_write, kept);
		if (is_lost(c, w) || overlaps_resent(c, w)) {
			w->commit = c;
			w->call.args.io.stable = NFS_FILE_SYNC;
			w->call.args.io.data = w->data;
			w->call.done = resend_done;
			w->call.given_up = resend_given_up;
			server_submit(c->server, &w->call);
			return;
		}
		free_write(w);
	}
	end_commit(c);
}

static bool is_any_lost(const struct commit *c)
{
	LIST_FOREACH (pos, &c->writes) {
		if (is_lost(c, CONTAINER_OF(pos, struct data_write, kept)))
			return true;
	}
	return false;
}

static void commit_done(struct nfs_call *call)
{
	struct commit *c = CONTAINER_OF(call, struct commit, call);

	if (call->error < 0) {
		c->error = call->error;
		end_commit(c);
		return;
	}
	c->verf = call->res.io.verf;
	if (!is_any_lost(c)) {
		end_commit(c);
		return;
	}
	{
		LOCKED(&c->log->lock);
		c->log->resending = true;
		/* The last write on the wire goes on with this commit. */
		if (c->log->flying > 0)
			return;
	}
	resend_next(c);
}

static void start_commit(struct commit *c)
{
	if (list_empty(&c->writes)) {
		end_commit(c);
		return;
	}
	/* The credential of a writer: the server may refuse COMMIT to a reader that waits. */
	c->call.cred = CONTAINER_OF(c->writes.next, struct data_write, kept)->call.cred;
	c->call.proc = NFS_COMMIT;
	c->call.done = commit_done;
	c->call.given_up = commit_given_up;
	server_submit(c->server, &c->call);
}

void write_log_commit(struct write_log *log, struct server *t, const struct nfs_fh *fh, const struct nfs_cred *cred,
	struct commit_wait *w)
{
	struct commit *c = NULL;
	int error = 0;

	{
		LOCKED(&log->lock);
		if (log->running) {
			list_append(&log->waiting, &w->node);
			return;
		}
		if (!list_empty(&log->kept)) {
			c = calloc(1, sizeof(*c));
			error = c ? 0 : -ENOMEM;
		}
		if (c) {
			c->log = log;
			c->server = t;
			c->call.fh = *fh;
			c->call.cred = *cred;
			list_init(&c->writes);
			list_init(&c->resent);
			list_init(&c->waiting);
			take_kept(log, &c->writes);
			list_append(&c->waiting, &w->node);
			log->running = c;
		}
	}
	if (c)
		start_commit(c);
	else
		w->done(w, error);
}
