/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* WRITE: gathered behind the writer's back where that is allowed, else done by a data path before the reply. */
#include "fuse/request/request.h"

#include <fcntl.h>

#include "fuse/files/handlers.h"
#include "fuse/fs/file.h"
#include "fuse/known/known.h"
#include "fuse/local/inode_writes.h"
#include "fuse/paths/path_request.h"

struct write_request {
	struct path_write p;
	struct behind_writer writer;
	bool of_mapping; /* a page of a mapping that the kernel writes back */
};

static void on_written(struct path_write *p, int error)
{
	const struct write_request *q = CONTAINER_OF(p, const struct write_request, p);
	struct request *r = &p->r;

	if (r->req)
		r->operation.error = (int16_t)-error;
	r->operation.bytes = error < 0 ? 0 : p->size;
	request_count(r);
	if (r->req && error < 0)
		(void)fuse_reply_err(r->req, -error);
	else if (r->req) {
		if (!q->of_mapping)
			known_attributes_written(r->inode);
		(void)fuse_reply_write(r->req, p->size);
	}
	request_end(r);
}

static void on_room(struct behind_writer *w, int error)
{
	struct write_request *q = CONTAINER_OF(w, struct write_request, writer);

	on_written(&q->p, error);
}

/*
 * True if the writer may be answered before the server or the backing file has the data: close and fsync tell of
 * errors.
 */
static bool may_be_behind(struct write_request *q, const struct file *f)
{
	return f->path == OPEN_PATH_CACHED && !q->of_mapping && !q->p.to_disk &&
	       q->p.r.fs->options->write != WRITE_WAIT && f->heard.by_close == write_log_errors(&q->p.r.inode->writes);
}

/* 0, 1 or an error as write_behind_add() returns them. */
static int add_behind(struct write_request *q, const struct file *f)
{
	struct path_write *p = &q->p;

	if (!may_be_behind(q, f))
		return -EBUSY;
	q->writer.session = f->writes_locally ? f->session : 0;
	q->writer.as_root = f->root;
	q->writer.done = on_room;
	q->writer.patience = request_patience(&p->r);
	return inode_writes_add(p->r.fs, p->r.inode, &p->r.call.cred, p->offset, p->buf, p->size, &q->writer);
}

static void start_write(struct write_request *q, const struct file *f)
{
	struct path_write *p = &q->p;
	int r = add_behind(q, f);

	if (r == 0)
		on_written(p, 0);
	if (r >= 0)
		return;
	p->as_root = f->root;
	p->way = data_path_choose(p->r.fs, p->r.inode, f, DATA_WRITE);
	p->way.path->write(p);
}

static void op_write(fuse_req_t req, fuse_ino_t ino, const char *buf, size_t size, off_t offset,
	struct fuse_file_info *fi)
{
	struct fs *fs = fuse_req_userdata(req);
	struct write_request *q = calloc(1, sizeof(*q));
	const struct file *f = file_of(fs, fi);

	file_count_request(fs, &fs->counters.requests_write, fi);
	/* Earlier than the server would: knfsd takes any failed WRITE for a loss of data of all writers. */
	if ((uint64_t)offset + size > fs->max_file_size) {
		free(q);
		operation_refuse(req, EFBIG);
		return;
	}
	if (!q) {
		operation_refuse(req, ENOMEM);
		return;
	}
	request_init_open(&q->p.r, req, ino, &f->as);
	request_groups(&q->p.r);
	q->p.r.unannounced = true;
	q->p.buf = buf;
	q->p.offset = (uint64_t)offset;
	q->p.size = size;
	q->p.done = on_written;
	q->of_mapping = fi->writepage;
	/* A page of a mapping has its place in the file, whatever the open's flags. */
	q->p.appends = (fi->flags & O_APPEND) && f->path != OPEN_PATH_CACHED && !q->of_mapping;
	/* The kernel sends no FSYNC after a direct write to an O_SYNC or O_DSYNC file. */
	q->p.to_disk = (fi->flags & (O_SYNC | O_DSYNC)) || fs_is_sync(fs);
	start_write(q, f);
}

void write_set_operations(struct fuse_lowlevel_ops *ops)
{
	ops->write = op_write;
}
