/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * READ: by the granted file while the mount is local, by RPC otherwise. Nothing of a file on the passthrough
 * path comes here.
 */
#include "fuse/files/handlers.h"
#include "fuse/request/request.h"

#include <string.h>

#include "fuse/fs/file.h"
#include "fuse/local/idle_ids.h"
#include "fuse/local/granted_file.h"

struct read_request {
	struct request r;
	struct behind_wait wait;
	uint64_t offset;
	size_t size;
	size_t done;          /* bytes that came in earlier, short replies */
	char *buf;            /* they are kept here, or what is read locally; NULL while one reply was enough */
	bool has_groups;      /* the credential is whole */
	struct iovec payload; /* of the request's ring entry when that is buf: nothing to copy or free */
	struct granted_file *granted;
	size_t lead; /* bytes before what was asked for, as O_DIRECT wants whole blocks */
	struct uring_io local;
};

static void end_read(struct read_request *q)
{
	if (!q->payload.iov_base)
		free(q->buf);
	request_end(&q->r);
}

/* Where a ring brought the request, its answer is put together in the ring. align as aligned_alloc() has it, or 1. */
static bool get_buf(struct read_request *q, size_t size, size_t align)
{
	size_t room;

	if (align == 1 && fuse_req_get_payload(q->r.req, &q->buf, &room, NULL) == 0 && room >= size)
		q->payload = (struct iovec){.iov_base = q->buf, .iov_len = room};
	else
		q->buf = align > 1 ? aligned_alloc(align, size) : malloc(size);
	return q->buf;
}

static void read_done(struct nfs_call *call);

static void send_read(struct read_request *q)
{
	if (!q->has_groups)
		request_groups(&q->r);
	q->has_groups = true;
	q->r.call.args.io.offset = q->offset + q->done;
	q->r.call.args.io.count = (uint32_t)MIN(q->size - q->done, q->r.fs->rsize);
	request_send(&q->r, NFS_READ, read_done);
}

/* FUSE takes a short answer for the end of the file; NFS may answer short before it. */
static void read_done(struct nfs_call *call)
{
	struct read_request *q = CONTAINER_OF(call, struct read_request, r.call);
	struct fs *fs = q->r.fs;
	bool whole;

	if (call->error < 0) {
		(void)fuse_reply_err(q->r.req, -call->error);
		end_read(q);
		return;
	}
	fs->counters.bytes_read += call->res.io.count;
	whole = call->res.io.eof || call->res.io.count == 0 || q->done + call->res.io.count >= q->size;
	if (whole && q->done == 0) {
		(void)fuse_reply_buf(q->r.req, call->res.io.data, call->res.io.count);
		end_read(q);
		return;
	}
	if (!q->buf && !get_buf(q, q->size, 1)) {
		(void)fuse_reply_err(q->r.req, ENOMEM);
		end_read(q);
		return;
	}
	memcpy(q->buf + q->done, call->res.io.data, call->res.io.count);
	q->done += call->res.io.count;
	if (!whole) {
		send_read(q);
		return;
	}
	(void)fuse_reply_buf(q->r.req, q->buf, q->done);
	end_read(q);
}

/* Whatever is wrong with this file locally, the server may have it. */
static void go_remote(struct read_request *q)
{
	struct inode *i = q->r.inode;
	struct granted_file *gone = NULL;

	{
		LOCKED(&i->lock);
		if (i->granted == q->granted)
			gone = idle_ids_set_granted(q->r.fs->idle, i, NULL);
	}
	(void)granted_file_unref(gone);
	send_read(q);
}

static void local_read_done(struct uring_io *local, ssize_t result)
{
	struct read_request *q = CONTAINER_OF(local, struct read_request, local);
	struct granted_file *granted = q->granted;

	if (local->no_cache && local->align == 1)
		granted->no_cache = true;
	if (result < 0) {
		go_remote(q);
	} else {
		size_t size = MIN((size_t)result - MIN((size_t)result, q->lead), q->size);

		q->r.fs->counters.bytes_read += size;
		(void)fuse_reply_buf(q->r.req, q->buf + q->lead, size);
		end_read(q);
	}
	(void)granted_file_unref(granted);
}

static void start_read(struct read_request *q)
{
	struct granted_file *g = granted_file_of(q->r.fs, q->r.inode);
	size_t align, size;

	if (!g) {
		send_read(q);
		return;
	}
	align = g->align;
	q->lead = q->offset % align;
	size = (q->lead + q->size + align - 1) / align * align;
	if (!get_buf(q, size, align)) {
		(void)granted_file_unref(g);
		send_read(q);
		return;
	}
	q->granted = g;
	q->local = (struct uring_io){.file = &g->file,
		.payload = q->payload,
		.no_cache = g->no_cache || align > 1,
		.align = (unsigned)align,
		.buf = (uint8_t *)q->buf,
		.size = size,
		.offset = q->offset - q->lead,
		.done = local_read_done};
	uring_read(q->r.fs->uring, &q->local);
}

static void read_settled(struct behind_wait *w, int error)
{
	struct read_request *q = CONTAINER_OF(w, struct read_request, wait);

	if (error < 0) {
		(void)fuse_reply_err(q->r.req, -error);
		end_read(q);
		return;
	}
	start_read(q);
}

static void op_read(fuse_req_t req, fuse_ino_t ino, size_t size, off_t offset, struct fuse_file_info *fi)
{
	struct read_request *q = calloc(1, sizeof(*q));
	const struct file *f = file_of(fi);
	struct fs *fs = fuse_req_userdata(req);

	file_count_request(fs, &fs->counters.requests_read, fi);
	if (!q) {
		(void)fuse_reply_err(req, ENOMEM);
		return;
	}
	request_init_open(&q->r, req, ino, &f->cred);
	q->has_groups = f->has_groups;
	q->r.unannounced = true; /* fs/fuse/file.c fuse_direct_IO waits for it in a way of its own */
	q->offset = (uint64_t)offset;
	q->size = size;
	/* The kernel has whole pages of what was written, and asks for the rest of others. */
	q->wait.done = read_settled;
	q->wait.patience = request_patience(&q->r);
	write_behind_settle(&q->r.inode->behind, &q->wait);
}

void read_set_operations(struct fuse_lowlevel_ops *ops)
{
	ops->read = op_read;
}
