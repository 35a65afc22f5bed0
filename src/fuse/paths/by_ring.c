/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The daemon itself, by io_uring on the descriptor that the sidecar has sent: reads, writes and fsync. */
#include "fuse/paths/path_request.h"

#include <fcntl.h>
#include <string.h>

#include "base/log.h"
#include "fuse/local/idle_ids.h"
#include "fuse/local/server_refresh.h"

/* Something is wrong with the file locally. The server may still be able to read it. */
static void read_by_server(struct path_read *p)
{
	struct inode *i = p->r.inode;
	struct granted_file *gone = NULL;

	{
		LOCKED(&i->lock);
		if (i->granted == p->way.granted)
			gone = idle_ids_set_granted(p->r.fs->idle, i, NULL);
	}
	(void)granted_file_unref(gone);
	by_server.read(p);
}

static void on_read(struct uring_io *local, ssize_t result)
{
	struct path_read *p = CONTAINER_OF(local, struct path_read, local);
	struct granted_file *granted = p->way.granted;

	if (local->no_cache && local->align == 1)
		granted->no_cache = true;
	if (result < 0) {
		read_by_server(p);
	} else {
		size_t size = MIN((size_t)result - MIN((size_t)result, p->lead), p->size);

		p->r.fs->counters.bytes_read += size;
		p->done(p, 0, p->buf + p->lead, size);
	}
	(void)granted_file_unref(granted);
}

static void ring_read(struct path_read *p)
{
	struct granted_file *g = p->way.granted;
	size_t size, align = g->align;

	p->lead = p->offset % align;
	size = (p->lead + p->size + align - 1) / align * align;
	if (!path_read_get_buf(p, size, align)) {
		(void)granted_file_unref(g);
		by_server.read(p);
		return;
	}
	p->local = (struct uring_io){.file = &g->file,
		.payload = p->payload,
		.no_cache = g->no_cache || align > 1,
		.align = (unsigned)align,
		.buf = (uint8_t *)p->buf,
		.size = size,
		.offset = p->offset - p->lead,
		.done = on_read};
	p->r.operation.path = OPERATION_BY_URING;
	uring_read(p->r.fs->uring, &p->local);
}

static void on_write(struct uring_io *io, ssize_t result)
{
	struct path_write *p = CONTAINER_OF(io, struct path_write, local);
	struct granted_file *granted = p->way.granted;
	char *copy = p->copy;

	if (io->have > 0 && (!p->to_disk || io->have < p->size))
		granted_file_changed(p->r.inode);
	else if (io->have > 0)
		server_refresh_changed(p->r.inode);
	/* Data that was appended in part is not appended again. */
	if (io->have == p->size || (p->appends && io->have > 0)) {
		p->r.fs->counters.bytes_written += io->have;
		p->size = io->have;
		p->done(p, 0);
	} else {
		log_debug("a local write: %s", strerror(result < 0 ? (int)-result : EIO));
		by_server.write(p);
	}
	free(copy);
	(void)granted_file_unref(granted);
}

/* The writes that came before are answered. */
static void on_settled(struct behind_wait *w, int error)
{
	struct stable_wait *stable = CONTAINER_OF(w, struct stable_wait, behind);
	struct path_write *p = CONTAINER_OF(stable, struct path_write, wait);

	if (error == 0) {
		uring_write(p->r.fs->uring, &p->local);
		return;
	}
	(void)granted_file_unref(p->way.granted);
	free(p->copy);
	p->done(p, error);
}

static void ring_write(struct path_write *p)
{
	if (!path_write_keep(p)) {
		p->way.granted = granted_file_unref(p->way.granted);
		by_server.write(p);
		return;
	}
	p->local = (struct uring_io){.file = &p->way.granted->file,
		.payload = p->payload,
		.buf = (uint8_t *)(uintptr_t)p->buf,
		.size = p->size,
		.offset = p->offset,
		.how = (p->appends ? RWF_APPEND : 0) | (p->to_disk ? RWF_SYNC : 0),
		.as_root = p->as_root,
		.done = on_write};
	p->r.operation.path = OPERATION_BY_URING;
	p->wait.behind.done = on_settled;
	p->wait.behind.patience = request_patience(&p->r);
	write_behind_settle(&p->r.inode->behind, &p->wait.behind);
}

static void on_sync(struct uring_io *io, ssize_t result)
{
	struct path_sync *p = CONTAINER_OF(io, struct path_sync, local);

	p->way.granted = granted_file_unref(p->way.granted);
	p->done(p, (int)result);
}

static void ring_sync(struct path_sync *p)
{
	p->local =
		(struct uring_io){.file = &p->way.granted->file, .how = p->data_only ? RWF_DSYNC : 0, .done = on_sync};
	uring_sync(p->fs->uring, &p->local);
}

const struct data_path by_ring = {.counted = OPERATION_BY_URING,
	.read = ring_read,
	.write = ring_write,
	.sync = ring_sync};
