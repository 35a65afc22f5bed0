/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * fallocate, lseek to data and holes, copy_file_range: NFSv3 has none of them. For a file on the passthrough path
 * the sidecar does them on the backing file. For others fallocate is EOPNOTSUPP, all of a file is data, as with the
 * kernel's client, and the kernel copies by itself.
 *
 * Never ENOSYS: the kernel would not ask again, and the next file may be local.
 */
#include "fuse/request.h"

#include <unistd.h>

#include "fuse/file.h"

struct range_request {
	struct request r;
	struct broker_call broker;
	struct behind_wait wait;
	uint64_t offset;
	int whence;
};

static struct range_request *from_broker(struct broker_call *call)
{
	return CONTAINER_OF(call, struct range_request, broker);
}

static struct range_request *range_request_new(fuse_req_t req, fuse_ino_t ino, const struct file *f)
{
	struct range_request *q = calloc(1, sizeof(*q));

	if (!q)
		(void)fuse_reply_err(req, ENOMEM);
	else
		request_init_open(&q->r, req, ino, &f->cred);
	return q;
}

/* The id that the session knows the open file by, 0 when it has none. */
static int id_of(const struct fs *fs, const struct file *f)
{
	uint64_t generation = fs_generation(fs);
	struct inode *i = f->inode;

	if (!open_mode_is_registered(f->path))
		return 0;
	LOCKED(&i->lock);
	return open_mode_has_id_of(&i->mode, generation) ? i->mode.backing_id : 0;
}

/* To change the file by, with the credential of the id: who opened beside it with another has his own. */
static int id_to_change(const struct fs *fs, const struct file *f)
{
	return f->write && f->path == OPEN_PATH_PASSTHROUGH ? id_of(fs, f) : 0;
}

/* The sidecar did not come to it: another session's id, a right that was taken away, too much to do. */
static bool was_not_tried(int answered)
{
	return answered == -ENOENT || answered == -EBADF || answered == -EAGAIN;
}

static void fallocated(struct broker_call *call, int error, const void *body)
{
	const struct broker_status *status = body;
	struct range_request *q = from_broker(call);

	if (error < 0 || was_not_tried(status->error))
		request_end_error(&q->r, -EOPNOTSUPP);
	else
		request_end_error(&q->r, status->error);
}

static void op_fallocate(
	fuse_req_t req, fuse_ino_t ino, int mode, off_t offset, off_t length, struct fuse_file_info *fi)
{
	struct fs *fs = fuse_req_userdata(req);
	struct broker_range body = {.backing_id = id_to_change(fs, file_of(fi)),
		.how = (uint32_t)mode,
		.offset = (uint64_t)offset,
		.length = (uint64_t)length};
	struct range_request *q;

	if (body.backing_id == 0) {
		(void)fuse_reply_err(req, EOPNOTSUPP);
		return;
	}
	q = range_request_new(req, ino, file_of(fi));
	if (!q)
		return;
	q->broker.done = fallocated;
	probe_send(fs->probe, &q->broker, BROKER_FALLOCATE, &body, sizeof(body));
}

/* fs/nfs/file.c nfs_file_llseek and generic_file_llseek_size: data up to the end, and the one hole is there. */
static void size_known(struct nfs_call *call)
{
	struct range_request *q = CONTAINER_OF(call, struct range_request, r.call);
	uint64_t size = call->attr.size;

	if (call->error == 0 && q->offset >= size)
		call->error = -ENXIO;
	if (call->error < 0) {
		request_end_error(&q->r, call->error);
		return;
	}
	(void)fuse_reply_lseek(q->r.req, (off_t)(q->whence == SEEK_DATA ? q->offset : size));
	request_end(&q->r);
}

static void seek_settled(struct behind_wait *w, int error)
{
	struct range_request *q = CONTAINER_OF(w, struct range_request, wait);

	if (error < 0)
		request_end_error(&q->r, error);
	else
		request_send(&q->r, NFS_GETATTR, size_known);
}

static void seek_without(struct range_request *q)
{
	q->wait.done = seek_settled;
	q->wait.patience = request_patience(&q->r);
	write_behind_settle(q->r.inode, &q->wait);
}

static void sought(struct broker_call *call, int error, const void *body)
{
	const struct broker_amount *answer = body;
	struct range_request *q = from_broker(call);

	if (error < 0 || was_not_tried(answer->error)) {
		seek_without(q);
		return;
	}
	if (answer->error < 0) {
		request_end_error(&q->r, answer->error);
		return;
	}
	(void)fuse_reply_lseek(q->r.req, (off_t)answer->amount);
	request_end(&q->r);
}

static void op_lseek(fuse_req_t req, fuse_ino_t ino, off_t offset, int whence, struct fuse_file_info *fi)
{
	struct fs *fs = fuse_req_userdata(req);
	struct range_request *q = range_request_new(req, ino, file_of(fi));
	struct broker_range body = {.backing_id = id_of(fs, file_of(fi)), .how = (uint32_t)whence};

	if (!q)
		return;
	if (offset < 0) {
		request_end_error(&q->r, -ENXIO);
		return;
	}
	q->offset = body.offset = (uint64_t)offset;
	q->whence = whence;
	if (body.backing_id == 0) {
		seek_without(q);
		return;
	}
	q->broker.done = sought;
	probe_send(fs->probe, &q->broker, BROKER_SEEK, &body, sizeof(body));
}

static void copied(struct broker_call *call, int error, const void *body)
{
	const struct broker_amount *answer = body;
	struct range_request *q = from_broker(call);

	if (error < 0 || was_not_tried(answer->error)) {
		request_end_error(&q->r, -EOPNOTSUPP);
		return;
	}
	if (answer->error < 0) {
		request_end_error(&q->r, answer->error);
		return;
	}
	(void)fuse_reply_write(q->r.req, answer->amount);
	request_end(&q->r);
}

static void op_copy_file_range(fuse_req_t req, fuse_ino_t from, off_t from_offset, struct fuse_file_info *from_fi,
	fuse_ino_t to, off_t to_offset, struct fuse_file_info *to_fi, size_t length, int flags)
{
	struct fs *fs = fuse_req_userdata(req);
	struct broker_copy body = {.from = id_of(fs, file_of(from_fi)),
		.to = id_to_change(fs, file_of(to_fi)),
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
	q->broker.done = copied;
	probe_send(fs->probe, &q->broker, BROKER_COPY, &body, sizeof(body));
}

void ranges_set_operations(struct fuse_lowlevel_ops *ops)
{
	ops->fallocate = op_fallocate;
	ops->lseek = op_lseek;
	ops->copy_file_range = op_copy_file_range;
}
