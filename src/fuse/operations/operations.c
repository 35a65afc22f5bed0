/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "fuse/operations/operations.h"

#include "base/clock.h"
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
};

/* The operation of the handler that runs on this thread. */
static _Thread_local struct operation *current;
static _Thread_local uint64_t next_unique;

int operations_new(struct operations **ret)
{
	*ret = calloc(1, sizeof(**ret));
	return *ret ? 0 : -ENOMEM;
}

struct operations *operations_free(struct operations *o)
{
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

void operation_refuse(fuse_req_t req, int error)
{
	if (current)
		current->error = (int16_t)error;
	(void)fuse_reply_err(req, error);
}

void operation_numbered(uint64_t unique)
{
	next_unique = unique;
}

/* The request may be gone when its operation ends. */
static void remember(struct operation *of, fuse_req_t req, fuse_ino_t ino)
{
	const struct fuse_ctx *caller = fuse_req_ctx(req);

	of->unique = next_unique;
	of->uid = caller->uid;
	of->pid = (uint32_t)caller->pid;
	of->fileid = fs_inode(fuse_req_userdata(req), ino)->fileid;
}

static void log_end(const struct operation *of, uint64_t ns)
{
	log_debug("unique: %" PRIu64 ", %s of uid %u, pid %u, file id %" PRIu64 ": %s; path %s, %" PRIu64 " us",
		of->unique, operation_name(of->kind), of->uid, of->pid, of->fileid,
		of->error ? strerror(of->error) : "done", operation_path_name(of->path), ns / 1000);
}

void operation_end(struct operations *o, struct operation *of)
{
	struct counters *c;
	uint64_t ns;

	if (of->began == 0)
		return;
	c = &o->of[of->kind][of->path];
	ns = now_ns() - of->began;
	histogram_add(&c->latency, ns);
	if (of->error)
		atomic_fetch_add_explicit(&c->errors, 1, memory_order_relaxed);
	if (of->bytes > 0)
		atomic_fetch_add_explicit(&c->bytes, of->bytes, memory_order_relaxed);
	of->began = 0;
	if (log_debugs())
		log_end(of, ns);
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

static struct operations *operations_of(fuse_req_t req)
{
	return ((struct fs *)fuse_req_userdata(req))->operations;
}

/*
 * The inner handler may answer, and then the request is gone: nothing may use it afterwards. The mount outlives all
 * handlers.
 */
#define X(NAME, name, parameters, arguments)                                                \
	static void counted_##name parameters                                               \
	{                                                                                   \
		struct operation operation = {.began = now_ns(), .kind = OPERATION_##NAME}; \
		struct operations *o = operations_of(req);                                  \
                                                                                            \
		if (log_debugs())                                                           \
			remember(&operation, req, a);                                       \
		current = &operation;                                                       \
		o->inner.name arguments;                                                    \
		current = NULL;                                                             \
		operation_end(o, &operation);                                               \
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
