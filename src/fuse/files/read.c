/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * READ: by the granted file while the mount is local, by RPC otherwise. The kernel itself reads a file on the
 * passthrough path.
 */
#include "fuse/request/request.h"

#include "fuse/files/handlers.h"
#include "fuse/fs/file.h"
#include "fuse/paths/path_request.h"

struct read_request {
	struct path_read p;
	struct behind_wait wait;
};

static void on_data(struct path_read *p, int error, const void *data, size_t size)
{
	p->r.operation.error = (int16_t)-error;
	p->r.operation.bytes = size;
	request_count(&p->r);
	if (error < 0)
		(void)fuse_reply_err(p->r.req, -error);
	else
		(void)fuse_reply_buf(p->r.req, data, size);
	path_read_end(p);
}

static void on_settled(struct behind_wait *w, int error)
{
	struct read_request *q = CONTAINER_OF(w, struct read_request, wait);
	struct path_read *p = &q->p;

	if (error < 0) {
		on_data(p, error, NULL, 0);
		return;
	}
	p->way = data_path_choose(p->r.fs, p->r.inode, NULL, DATA_READ);
	p->way.path->read(p);
}

static void op_read(fuse_req_t req, fuse_ino_t ino, size_t size, off_t offset, struct fuse_file_info *fi)
{
	struct read_request *q = calloc(1, sizeof(*q));
	struct fs *fs = fuse_req_userdata(req);
	const struct file *f = file_of(fs, fi);

	file_count_request(fs, &fs->counters.requests_read, fi);
	if (!q) {
		operation_refuse(req, ENOMEM);
		return;
	}
	request_init_open(&q->p.r, req, ino, &f->as);
	q->p.r.unannounced = true; /* fs/fuse/file.c fuse_direct_IO waits for it in a way of its own */
	q->p.offset = (uint64_t)offset;
	q->p.size = size;
	q->p.done = on_data;
	/* The kernel has whole pages of written data, and asks for the rest of other pages. */
	q->wait.done = on_settled;
	q->wait.patience = request_patience(&q->p.r);
	write_behind_settle(&q->p.r.inode->behind, &q->wait);
}

void read_set_operations(struct fuse_lowlevel_ops *ops)
{
	ops->read = op_read;
}
