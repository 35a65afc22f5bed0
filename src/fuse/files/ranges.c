/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * fallocate, lseek to data and holes, copy_file_range: NFSv3 has none of them. For a file that is open locally, by an
 * id or by a descriptor, the sidecar does them on the backing file, behind what was written over NFS before. For others
 * fallocate is EOPNOTSUPP, all of a file is data, as with the kernel's client, and the kernel copies by itself.
 *
 * Never ENOSYS: the kernel would not ask again, and the next file may be local.
 */
#include "fuse/files/handlers.h"
#include "fuse/request/request.h"

#include <unistd.h>

#include "fuse/fs/file.h"
#include "fuse/local/granted_file.h"
#include "fuse/local/server_refresh.h"
#include "fuse/paths/inode_writes.h"

struct range_request {
	struct request r;
	struct broker_call broker;
	struct behind_wait wait;   /* SEEK's file, and COPY's source */
	struct stable_wait stable; /* what is changed */
	uint32_t type;             /* enum broker_type, and its body */
	union {
		struct broker_range range;
		struct broker_copy copy;
	} body;
};

static struct range_request *range_request_new(fuse_req_t req, fuse_ino_t ino, const struct file *f)
{
	struct range_request *q = calloc(1, sizeof(*q));

	if (!q)
		(void)fuse_reply_err(req, ENOMEM);
	else
		request_init_file(&q->r, req, ino, f);
	return q;
}

/* What the session knows the open file by: the id, or the descriptor's number; 0 when it does not. */
static int number_of(const struct fs *fs, const struct file *f)
{
	uint64_t generation = fs_generation(fs);
	struct inode *i = f->inode;

	LOCKED(&i->lock);
	if (open_mode_is_registered(f->path))
		return open_mode_has_id_of(&i->mode, generation) ? i->mode.backing_id : 0;
	return granted_file_serves(i->granted, generation) ? i->granted->number : 0;
}

/* To change the file by, with the credential of who it was granted to: who opened beside him may have another right. */
static int number_to_change(const struct fs *fs, const struct file *f)
{
	uint64_t generation = fs_generation(fs);
	struct inode *i = f->inode;

	if (!f->write)
		return 0;
	if (open_mode_is_registered(f->path))
		return f->path == OPEN_PATH_PASSTHROUGH ? number_of(fs, f) : 0;
	LOCKED(&i->lock);
	if (!granted_file_serves(i->granted, generation) || f->session != generation || i->granted->root != f->root)
		return 0;
	return i->granted->number;
}

/* The sidecar did not come to it: another session's id, a right that was taken away, too much to do. */
static bool was_not_tried(int answered)
{
	return answered == -ENOENT || answered == -EBADF || answered == -EAGAIN;
}

static void answered(struct broker_call *call, int error, const void *body);

static void send_range(struct range_request *q)
{
	q->broker.done = answered;
	probe_send(q->r.fs->probe, &q->broker, q->type, &q->body,
		q->type == BROKER_COPY ? sizeof(q->body.copy) : sizeof(q->body.range));
}

static void changes_committed(struct stable_wait *w, int error)
{
	struct range_request *q = CONTAINER_OF(w, struct range_request, stable);

	if (error < 0)
		request_end_error(&q->r, error);
	else
		send_range(q);
}

/* What the server may have to be sent again must not come behind the change. */
static void change(struct range_request *q)
{
	if (!write_log_dirty(&q->r.inode->writes)) {
		send_range(q);
		return;
	}
	q->stable.done = changes_committed;
	q->stable.patience = request_patience(&q->r);
	inode_writes_commit(q->r.fs, q->r.inode, &q->r.call.cred, &q->stable);
}

static void op_fallocate(fuse_req_t req, fuse_ino_t ino, int mode, off_t offset, off_t length,
	struct fuse_file_info *fi)
{
	struct fs *fs = fuse_req_userdata(req);
	int number = number_to_change(fs, file_of(fi));
	struct range_request *q;

	if (number == 0) {
		(void)fuse_reply_err(req, EOPNOTSUPP);
		return;
	}
	q = range_request_new(req, ino, file_of(fi));
	if (!q)
		return;
	q->type = BROKER_FALLOCATE;
	q->body.range = (struct broker_range){.backing_id = number,
		.how = (uint32_t)mode,
		.offset = (uint64_t)offset,
		.length = (uint64_t)length};
	change(q);
}

/* fs/nfs/file.c nfs_file_llseek and generic_file_llseek_size: data up to the end, and the one hole is there. */
static void size_known(struct nfs_call *call)
{
	struct range_request *q = CONTAINER_OF(call, struct range_request, r.call);
	uint64_t size = call->attr.size, offset = q->body.range.offset;

	if (call->error == 0 && offset >= size)
		call->error = -ENXIO;
	if (call->error < 0) {
		request_end_error(&q->r, call->error);
		return;
	}
	(void)fuse_reply_lseek(q->r.req, (off_t)(q->body.range.how == SEEK_DATA ? offset : size));
	request_end(&q->r);
}

static void ask_for_size(void *arg)
{
	struct range_request *q = arg;

	request_send(&q->r, NFS_GETATTR, size_known);
}

/* What the sidecar did not come to: the rest is not told of, and the kernel does without. */
static void do_without(struct range_request *q)
{
	if (q->type == BROKER_SEEK)
		server_refresh_then(q->r.fs, q->r.inode, &q->r.call.cred, request_patience(&q->r), ask_for_size, q);
	else
		request_end_error(&q->r, -EOPNOTSUPP);
}

static void answered(struct broker_call *call, int error, const void *body)
{
	struct range_request *q = CONTAINER_OF(call, struct range_request, broker);
	const struct broker_status *status = body;
	const struct broker_amount *amount = body; /* of all but FALLOCATE */

	/* The members agree. */
	if (error < 0 || was_not_tried(status->error)) {
		do_without(q);
		return;
	}
	if (q->type != BROKER_SEEK)
		granted_file_changed(q->r.inode);
	if (status->error < 0 || q->type == BROKER_FALLOCATE) {
		request_end_error(&q->r, status->error);
		return;
	}
	if (q->type == BROKER_SEEK)
		(void)fuse_reply_lseek(q->r.req, (off_t)amount->amount);
	else
		(void)fuse_reply_write(q->r.req, amount->amount);
	request_end(&q->r);
}

static void seek_settled(struct behind_wait *w, int error)
{
	struct range_request *q = CONTAINER_OF(w, struct range_request, wait);

	if (error < 0)
		request_end_error(&q->r, error);
	else if (q->body.range.backing_id != 0)
		send_range(q);
	else
		do_without(q);
}

static void op_lseek(fuse_req_t req, fuse_ino_t ino, off_t offset, int whence, struct fuse_file_info *fi)
{
	struct range_request *q = range_request_new(req, ino, file_of(fi));

	if (!q)
		return;
	if (offset < 0) {
		request_end_error(&q->r, -ENXIO);
		return;
	}
	q->type = BROKER_SEEK;
	q->body.range = (struct broker_range){.backing_id = number_of(q->r.fs, file_of(fi)),
		.how = (uint32_t)whence,
		.offset = (uint64_t)offset};
	q->wait.done = seek_settled;
	q->wait.patience = request_patience(&q->r);
	write_behind_settle(&q->r.inode->behind, &q->wait);
}

static void source_settled(struct behind_wait *w, int error)
{
	struct range_request *q = CONTAINER_OF(w, struct range_request, wait);

	if (error < 0)
		request_end_error(&q->r, error);
	else
		change(q);
}

static void op_copy_file_range(fuse_req_t req, fuse_ino_t from, off_t from_offset, struct fuse_file_info *from_fi,
	fuse_ino_t to, off_t to_offset, struct fuse_file_info *to_fi, size_t length, int flags)
{
	struct fs *fs = fuse_req_userdata(req);
	struct broker_copy body = {.from = number_of(fs, file_of(from_fi)),
		.to = number_to_change(fs, file_of(to_fi)),
		.from_offset = (uint64_t)from_offset,
		.to_offset = (uint64_t)to_offset,
		.length = length};
	struct range_request *q;

	if (body.from == 0 || body.to == 0) {
		(void)fuse_reply_err(req, EOPNOTSUPP);
		return;
	}
	q = range_request_new(req, to, file_of(to_fi));
	if (!q)
		return;
	q->type = BROKER_COPY;
	q->body.copy = body;
	q->wait.done = source_settled;
	q->wait.patience = request_patience(&q->r);
	write_behind_settle(&fs_inode(fs, from)->behind, &q->wait);
}

void ranges_set_operations(struct fuse_lowlevel_ops *ops)
{
	ops->fallocate = op_fallocate;
	ops->lseek = op_lseek;
	ops->copy_file_range = op_copy_file_range;
}
