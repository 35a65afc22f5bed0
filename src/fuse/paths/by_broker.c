/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The sidecar, on the backing file: fsync, ranges and truncation. The kernel itself reads and writes by its ids. */
#include "fuse/known/known.h"
#include "fuse/local/server_refresh.h"
#include "fuse/paths/path_request.h"
#include "fuse/shortcut/shortcut.h"
#include "fuse/fs/convert.h"

static void on_sync(struct broker_call *call, int error, const void *body)
{
	struct path_sync *p = CONTAINER_OF(call, struct path_sync, broker);
	const struct broker_status *status = body;

	/* The session ended, this id belongs to an earlier session, or too many commits wait in the sidecar. */
	if (error < 0 || status->error == -ENOENT || status->error == -EAGAIN)
		by_server.sync(p);
	else
		p->done(p, status->error);
}

static void broker_sync(struct path_sync *p)
{
	struct broker_commit body = {.backing_id = p->way.number, .data_only = p->data_only};

	p->broker.done = on_sync;
	probe_send(p->fs->probe, &p->broker, BROKER_COMMIT, &body, sizeof(body));
}

/*
 * True if the sidecar did not try: the id is of another session, a right was taken away, the sidecar has too much to
 * do.
 */
static bool was_not_tried(int error)
{
	return error == -ENOENT || error == -EBADF || error == -EAGAIN;
}

static void on_range(struct broker_call *call, int error, const void *body)
{
	struct path_range *p = CONTAINER_OF(call, struct path_range, broker);
	const struct broker_status *status = body;
	const struct broker_amount *amount = body; /* of all but FALLOCATE; both have the error in the same place */

	if (error < 0 || was_not_tried(status->error)) {
		by_server.range(p);
		return;
	}
	if (p->type != BROKER_SEEK)
		granted_file_changed(p->r.inode);
	p->done(p, status->error, p->type == BROKER_FALLOCATE ? 0 : amount->amount);
}

static void broker_range(struct path_range *p)
{
	p->r.operation.path = OPERATION_BY_SIDECAR;
	p->broker.done = on_range;
	probe_send(p->r.fs->probe, &p->broker, p->type, &p->body,
		p->type == BROKER_COPY ? sizeof(p->body.copy) : sizeof(p->body.range));
}

static void answer_truncated(void *arg)
{
	struct path_truncate *p = arg;

	p->done(&p->r.call);
}

/* True if the server will look soon without the caller, as it does after a close with commit=fsync. */
static bool is_told_later(struct fs *fs, struct inode *i)
{
	if (fs->options->commit != COMMIT_FSYNC || !server_refresh_needed(fs, i) || shortcut_is_full(fs->shortcut))
		return false;
	shortcut_written(fs->shortcut, &i->fh);
	return true;
}

static void on_truncate(struct broker_call *call, int error, const void *body)
{
	struct path_truncate *p = CONTAINER_OF(call, struct path_truncate, broker);
	struct request *r = &p->r;
	const struct broker_truncated *reply = body;

	(void)known_change_end(r->fs, r->inode, NULL, r->asked, &r->asked);
	if (error < 0 || reply->error < 0 || reply->attr.fileid != r->inode->fileid) {
		by_server.truncate(p);
		return;
	}
	granted_file_changed(r->inode);
	r->call.error = 0;
	r->call.has_attr = true;
	attr_of_broker(r->fs, &reply->attr, &r->call.attr);
	/* No close follows truncate(2), so other clients are told now; open(2) with O_TRUNC looks the same here. */
	if (p->by_open || is_told_later(r->fs, r->inode))
		answer_truncated(p);
	else
		server_refresh_then(r->fs, r->inode, &r->call.cred, request_patience(r), answer_truncated, p);
}

static void broker_truncate(struct path_truncate *p)
{
	struct request *r = &p->r;
	struct broker_truncate body = {.fh = request_broker_fh(&r->inode->fh),
		.cred = request_broker_cred(&r->call.cred),
		.size = p->sattr.size};

	r->asked = attr_clock();
	r->changed = true;
	known_change_begin(r->inode);
	r->operation.path = OPERATION_BY_SIDECAR;
	p->broker.done = on_truncate;
	probe_send(r->fs->probe, &p->broker, BROKER_TRUNCATE, &body, sizeof(body));
}

const struct data_path by_broker = {.counted = OPERATION_BY_SIDECAR,
	.sync = broker_sync,
	.range = broker_range,
	.truncate = broker_truncate};
