/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "fuse/operations/operations.h"

#include "base/clock.h"
#include "fuse/operations/trace.h"
#include "base/log.h"

#include <inttypes.h>
#include <string.h>

struct counters {
	struct histogram latency;
	atomic_uint_fast64_t errors, bytes;
};

struct operations {
	struct fuse_lowlevel_ops inner; /* constant after operations_wrap() */
	struct counters of[OPERATION_COUNT][OPERATION_PATHS];
	struct trace trace;
	atomic_uint_fast64_t requests; /* those that got a number for the log or a trace */
};

/* The operation of the handler that runs on this thread. */
static _Thread_local struct operation *current;
static _Thread_local uint64_t next_unique;

int operations_new(struct operations **ret)
{
	*ret = calloc(1, sizeof(**ret));
	if (!*ret)
		return -ENOMEM;
	trace_init(&(*ret)->trace);
	return 0;
}

struct operations *operations_free(struct operations *o)
{
	if (o)
		trace_done(&o->trace);
	free(o);
	return NULL;
}

void operation_take(struct operation *ret)
{
	if (!current || current->began == 0) {
		*ret = (struct operation){0};
		return;
	}
	*ret = *current;
	current->began = 0;
}

static struct operations *operations_of(fuse_req_t req)
{
	return ((struct fs *)fuse_req_userdata(req))->operations;
}

void operation_refuse(fuse_req_t req, int error)
{
	if (current) {
		current->error = (int16_t)error;
		operation_end(operations_of(req), current);
	}
	(void)fuse_reply_err(req, error);
}

void operation_numbered(uint64_t unique)
{
	next_unique = unique;
}

/* The request may be gone when its operation ends. */
static void remember(struct operations *o, struct operation *of, fuse_req_t req, fuse_ino_t ino)
{
	const struct fuse_ctx *caller = fuse_req_ctx(req);

	of->request = atomic_fetch_add_explicit(&o->requests, 1, memory_order_relaxed) + 1;
	of->unique = next_unique;
	next_unique = 0;
	of->uid = caller->uid;
	of->pid = (uint32_t)caller->pid;
	of->fileid = fs_inode(fuse_req_userdata(req), ino)->fileid;
}

static void log_end(const struct operation *of, uint64_t ns)
{
	char unique[60] = "";

	if (of->unique != 0)
		(void)snprintf(unique, sizeof(unique), " (libfuse's unique: %" PRIu64 ")", of->unique);
	log_debug("request %" PRIu64 "%s, %s of uid %u, pid %u, file id %" PRIu64 ": %s; path %s, %" PRIu64 " us",
		of->request, unique, operation_name(of->kind), of->uid, of->pid, of->fileid,
		of->error ? strerror(of->error) : "done", operation_path_name(of->path), ns / 1000);
}

static void trace_end(struct trace *t, const struct operation *of, uint64_t ns)
{
	struct control_event e = {.request = of->request,
		.fileid = of->fileid,
		.bytes = of->bytes,
		.took_us = (uint32_t)MIN(ns / 1000, (uint64_t)UINT32_MAX),
		.uid = of->uid,
		.pid = of->pid,
		.error = of->error};

	(void)snprintf(e.operation, sizeof(e.operation), "%s", operation_name(of->kind));
	(void)snprintf(e.path, sizeof(e.path), "%s", operation_path_name(of->path));
	trace_add(t, &e);
}

int operations_trace(struct operations *o, struct control_trace *question)
{
	return trace_answer(&o->trace, question);
}

/* True if the log or a trace will have the operation. */
static bool is_watched(const struct operations *o, const struct operation *of)
{
	return log_debugs() || (trace_is_on(&o->trace, of->began) && of->kind != OPERATION_IOCTL);
}

void operation_end(struct operations *o, struct operation *of)
{
	struct counters *c;
	uint64_t ns;

	if (of->began == 0)
		return;
	c = &o->of[of->kind][of->path];
	ns = time_since(of->began, now_ns());
	histogram_add(&c->latency, ns);
	if (of->error)
		atomic_fetch_add_explicit(&c->errors, 1, memory_order_relaxed);
	if (of->bytes > 0)
		atomic_fetch_add_explicit(&c->bytes, of->bytes, memory_order_relaxed);
	if (of->request != 0 && log_debugs())
		log_end(of, ns);
	if (of->request != 0 && trace_is_on(&o->trace, of->began) && of->kind != OPERATION_IOCTL)
		trace_end(&o->trace, of, ns);
	of->began = 0;
}

void operations_read(struct operations *o, enum operation_kind kind, enum operation_path path,
	struct operation_counts *to)
{
	struct counters *c = &o->of[kind][path];

	histogram_read(&c->latency, &to->latency);
	to->count = histogram_total(&to->latency);
	to->errors += atomic_load_explicit(&c->errors, memory_order_relaxed);
	to->bytes += atomic_load_explicit(&c->bytes, memory_order_relaxed);
}

const char *operation_name(enum operation_kind kind)
{
	static const char *const names[] = {
#define X(NAME, name, parameters, arguments) [OPERATION_##NAME] = #NAME,
		OPERATIONS(X)
#undef X
	};

	return names[kind];
}

const char *operation_path_name(enum operation_path path)
{
	static const char *const names[] = {[OPERATION_BY_DAEMON] = "daemon",
		[OPERATION_BY_SERVER] = "server",
		[OPERATION_BY_URING] = "uring",
		[OPERATION_BY_SIDECAR] = "sidecar"};

	return names[path];
}

/* ---- the handlers ---- */

/*
 * The inner handler may answer, and then the request is gone: nothing may use it afterwards. The mount outlives all
 * handlers.
 */
#define X(NAME, name, parameters, arguments)                                                     \
	static void counted_##name parameters                                                    \
	{                                                                                        \
		struct operation operation = {.began = work_begins(), .kind = OPERATION_##NAME}; \
		struct operations *o = operations_of(req);                                       \
                                                                                                 \
		if (is_watched(o, &operation))                                                   \
			remember(o, &operation, req, a);                                         \
		current = &operation;                                                            \
		o->inner.name arguments;                                                         \
		work_ends();                                                                     \
		current = NULL;                                                                  \
		operation_end(o, &operation);                                                    \
	}
OPERATIONS(X)
#undef X

void operations_wrap(struct operations *o, struct fuse_lowlevel_ops *ops)
{
	o->inner = *ops;
#define X(NAME, name, parameters, arguments) \
	if (ops->name)                       \
		ops->name = counted_##name;
	OPERATIONS(X)
#undef X
}
