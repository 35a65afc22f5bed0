/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "fuse/write_log.h"

#include <stdatomic.h>
#include <string.h>

/* One COMMIT and the writes it covers. */
struct commit {
	struct nfs_call call;
	struct write_log *log;
	struct transport *transport;
	struct list writes;  /* struct data_write.kept */
	struct list waiting; /* struct commit_wait.node */
	atomic_uint resends;
	int error;
};

static atomic_size_t kept_bytes;

void write_log_init(struct write_log *log)
{
	(void)pthread_mutex_init(&log->lock, NULL);
	list_init(&log->kept);
	list_init(&log->waiting);
}

static void free_write(struct data_write *w)
{
	list_remove(&w->kept);
	kept_bytes -= w->call.args.io.count;
	free(w);
}

static void free_writes(struct list *writes)
{
	while (!list_empty(writes))
		free_write(CONTAINER_OF(writes->next, struct data_write, kept));
}

void write_log_done(struct write_log *log)
{
	free_writes(&log->kept);
	(void)pthread_mutex_destroy(&log->lock);
}

struct data_write *data_write_new(size_t size)
{
	struct data_write *w = malloc(sizeof(*w) + size);

	if (!w)
		return NULL;
	memset(w, 0, sizeof(*w));
	list_init(&w->kept);
	return w;
}

void write_log_started(struct write_log *log)
{
	LOCKED(&log->lock);
	log->unanswered++;
}

bool write_log_answered(struct write_log *log, struct data_write *w, bool keep)
{
	size_t total = 0;

	{
		LOCKED(&log->lock);
		log->unanswered--;
		if (keep) {
			list_append(&log->kept, &w->kept);
			total = atomic_fetch_add(&kept_bytes, w->call.args.io.count);
		}
	}
	if (!keep) {
		free(w);
		return false;
	}
	return total > WRITE_LOG_LIMIT;
}

bool write_log_dirty(struct write_log *log)
{
	LOCKED(&log->lock);
	return !list_empty(&log->kept) || log->running || log->unanswered > 0;
}

int write_log_check(struct write_log *log, unsigned *seen)
{
	LOCKED(&log->lock);
	if (*seen == log->errors)
		return 0;
	*seen = log->errors;
	return log->error;
}

unsigned write_log_errors(struct write_log *log)
{
	LOCKED(&log->lock);
	return log->errors;
}

static void start_commit(struct commit *c);

/* Tells those who waited, and goes on with those who came meanwhile. */
static void end_commit(struct commit *c)
{
	struct write_log *log = c->log;
	struct list told;
	bool again;
	int error = c->error;

	list_init(&told);
	list_splice(&told, &c->waiting);
	free_writes(&c->writes);
	{
		LOCKED(&log->lock);
		if (error < 0) {
			log->errors++;
			log->error = error;
		}
		again = !list_empty(&log->waiting);
		if (again) {
			/* Their writes may have been in this commit: its error stays theirs too. */
			list_splice(&c->waiting, &log->waiting);
			list_splice(&c->writes, &log->kept);
		} else {
			log->running = NULL;
		}
	}
	LIST_FOREACH(pos, &told)
	{
		list_remove(pos);
		CONTAINER_OF(pos, struct commit_wait, node)
			->done(CONTAINER_OF(pos, struct commit_wait, node), error);
	}
	if (again)
		start_commit(c);
	else
		free(c);
}

static void resend_done(struct nfs_call *call)
{
	struct commit *c = CONTAINER_OF(call, struct data_write, call)->commit;

	if (call->error < 0)
		c->error = call->error;
	else if (call->res.io.count < call->args.io.count)
		c->error = -EIO;
	if (atomic_fetch_sub(&c->resends, 1) == 1)
		end_commit(c);
}

static void commit_done(struct nfs_call *call)
{
	struct commit *c = CONTAINER_OF(call, struct commit, call);

	if (call->error < 0) {
		c->error = call->error;
		end_commit(c);
		return;
	}
	/* One more than there are, so that none that is answered early ends the commit. */
	c->resends = 1;
	LIST_FOREACH(pos, &c->writes)
	{
		struct data_write *w = CONTAINER_OF(pos, struct data_write, kept);

		if (memcmp(w->verf.data, call->res.io.verf.data, sizeof(w->verf.data)) == 0)
			continue;
		w->commit = c;
		w->call.args.io.stable = NFS_FILE_SYNC;
		w->call.args.io.data = w->data;
		w->call.done = resend_done;
		atomic_fetch_add(&c->resends, 1);
		transport_submit(c->transport, &w->call);
	}
	if (atomic_fetch_sub(&c->resends, 1) == 1)
		end_commit(c);
}

static void start_commit(struct commit *c)
{
	if (list_empty(&c->writes)) {
		end_commit(c);
		return;
	}
	/* A writer's: who waits may be a reader, whom the server refuses COMMIT. */
	c->call.cred = CONTAINER_OF(c->writes.next, struct data_write, kept)->call.cred;
	c->call.proc = NFS_COMMIT;
	c->call.done = commit_done;
	transport_submit(c->transport, &c->call);
}

void write_log_commit(struct write_log *log, struct transport *t, const struct nfs_fh *fh,
	const struct nfs_cred *cred, struct commit_wait *w)
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
			c->transport = t;
			c->call.fh = *fh;
			c->call.cred = *cred;
			list_init(&c->writes);
			list_init(&c->waiting);
			list_splice(&c->writes, &log->kept);
			list_append(&c->waiting, &w->node);
			log->running = c;
		}
	}
	if (c)
		start_commit(c);
	else
		w->done(w, error);
}
