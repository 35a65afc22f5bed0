/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * fallocate, lseek to data and holes, copy_file_range: NFSv3 has none of them. For a file that is open locally, by an
 * id or by a descriptor, the sidecar does them on the backing file, behind the data that was written over NFS before.
 * Short copies between two files on passthrough are left to the kernel.
 *
 * Never ENOSYS: the kernel would not ask again, and the next file may be local.
 */
#include "fuse/request/request.h"

#include "fuse/files/handlers.h"
#include "fuse/fs/file.h"
#include "fuse/local/inode_writes.h"
#include "fuse/paths/path_request.h"

/* The bytes of one pipe, through which the kernel copies sooner than the sidecar answers. */
#define COPY_BY_KERNEL 65536

struct range_request {
	struct path_range p;
	struct behind_wait wait;   /* the file of SEEK, and the source of COPY */
	struct stable_wait stable; /* the file that is changed */
};

static void on_range(struct path_range *p, int error, uint64_t amount)
{
	if (error < 0 || p->type == BROKER_FALLOCATE) {
		request_end_error(&p->r, error);
		return;
	}
	p->r.operation.bytes = p->type == BROKER_COPY ? amount : 0;
	request_count(&p->r);
	if (p->type == BROKER_SEEK)
		(void)fuse_reply_lseek(p->r.req, (off_t)amount);
	else
		(void)fuse_reply_write(p->r.req, amount);
	request_end(&p->r);
}

static struct range_request *range_request_new(fuse_req_t req, fuse_ino_t ino, const struct file *f)
{
	struct range_request *q = calloc(1, sizeof(*q));

	if (!q) {
		operation_refuse(req, ENOMEM);
		return NULL;
	}
	request_init_open(&q->p.r, req, ino, &f->as);
	request_groups(&q->p.r);
	q->p.done = on_range;
	return q;
}

static void on_stable(struct stable_wait *w, int error)
{
	struct range_request *q = CONTAINER_OF(w, struct range_request, stable);

	if (error < 0)
		request_end_error(&q->p.r, error);
	else
		q->p.way.path->range(&q->p);
}

/* Data that the server may have to be sent again must not come behind the change. */
static void change(struct range_request *q)
{
	struct request *r = &q->p.r;

	if (!write_log_dirty(&r->inode->writes)) {
		q->p.way.path->range(&q->p);
		return;
	}
	q->stable.done = on_stable;
	q->stable.patience = request_patience(r);
	inode_writes_commit(r->fs, r->inode, &r->call.cred, &q->stable);
}

static void op_fallocate(fuse_req_t req, fuse_ino_t ino, int mode, off_t offset, off_t length,
	struct fuse_file_info *fi)
{
	struct fs *fs = fuse_req_userdata(req);
	const struct file *f = file_of(fs, fi);
	struct data_way way = data_path_choose(fs, f->inode, f, DATA_CHANGE);
	struct range_request *q;

	if (way.path != &by_broker) {
		operation_refuse(req, EOPNOTSUPP);
		return;
	}
	q = range_request_new(req, ino, f);
	if (!q)
		return;
	q->p.way = way;
	q->p.type = BROKER_FALLOCATE;
	q->p.body.range = (struct broker_range){.backing_id = way.number,
		.how = (uint32_t)mode,
		.offset = (uint64_t)offset,
		.length = (uint64_t)length};
	change(q);
}

static void on_seek_settled(struct behind_wait *w, int error)
{
	struct range_request *q = CONTAINER_OF(w, struct range_request, wait);

	if (error < 0)
		request_end_error(&q->p.r, error);
	else
		q->p.way.path->range(&q->p);
}

static void op_lseek(fuse_req_t req, fuse_ino_t ino, off_t offset, int whence, struct fuse_file_info *fi)
{
	const struct file *f = file_of(fuse_req_userdata(req), fi);
	struct range_request *q = range_request_new(req, ino, f);
	struct path_range *p;

	if (!q)
		return;
	p = &q->p;
	if (offset < 0) {
		request_end_error(&p->r, -ENXIO);
		return;
	}
	p->way = data_path_choose(p->r.fs, p->r.inode, f, DATA_LOOK);
	p->type = BROKER_SEEK;
	p->body.range =
		(struct broker_range){.backing_id = p->way.number, .how = (uint32_t)whence, .offset = (uint64_t)offset};
	q->wait.done = on_seek_settled;
	q->wait.patience = request_patience(&p->r);
	write_behind_settle(&p->r.inode->behind, &q->wait);
}

static void on_source_settled(struct behind_wait *w, int error)
{
	struct range_request *q = CONTAINER_OF(w, struct range_request, wait);

	if (error < 0)
		request_end_error(&q->p.r, error);
	else
		change(q);
}

/* True if the kernel, which reads and writes both backing files, copies so few bytes in less time than the sidecar. */
static bool copies_by_itself(const struct file *from, const struct file *to, size_t length)
{
	return length <= COPY_BY_KERNEL && from->path == OPEN_PATH_PASSTHROUGH && to->path == OPEN_PATH_PASSTHROUGH;
}

static void op_copy_file_range(fuse_req_t req, fuse_ino_t from, off_t from_offset, struct fuse_file_info *from_fi,
	fuse_ino_t to, off_t to_offset, struct fuse_file_info *to_fi, size_t length, int flags)
{
	struct fs *fs = fuse_req_userdata(req);
	struct inode *source = file_of(fs, from_fi)->inode;
	struct data_way look = data_path_choose(fs, source, file_of(fs, from_fi), DATA_LOOK);
	struct data_way way = data_path_choose(fs, file_of(fs, to_fi)->inode, file_of(fs, to_fi), DATA_CHANGE);
	struct range_request *q;

	if (look.path != &by_broker || way.path != &by_broker ||
		copies_by_itself(file_of(fs, from_fi), file_of(fs, to_fi), length)) {
		operation_refuse(req, EOPNOTSUPP);
		return;
	}
	q = range_request_new(req, to, file_of(fs, to_fi));
	if (!q)
		return;
	q->p.way = way;
	q->p.type = BROKER_COPY;
	q->p.body.copy = (struct broker_copy){.from = look.number,
		.to = way.number,
		.from_offset = (uint64_t)from_offset,
		.to_offset = (uint64_t)to_offset,
		.length = length};
	q->wait.done = on_source_settled;
	q->wait.patience = request_patience(&q->p.r);
	write_behind_settle(&source->behind, &q->wait);
}

void ranges_set_operations(struct fuse_lowlevel_ops *ops)
{
	ops->fallocate = op_fallocate;
	ops->lseek = op_lseek;
	ops->copy_file_range = op_copy_file_range;
}
