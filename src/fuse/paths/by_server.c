/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The server, by NFS requests. NFSv3 has no ranges: of a file that the sidecar does not know fallocate is EOPNOTSUPP,
 * all of the file is data, as with the kernel's client, and the kernel copies by itself.
 */
#include <string.h>
#include <unistd.h>

#include "fuse/local/inode_writes.h"
#include "fuse/local/server_refresh.h"
#include "fuse/paths/path_request.h"

#define MAY_WRITE (NFS_ACCESS_MODIFY | NFS_ACCESS_EXTEND)

static void server_read(struct path_read *p);

/* FUSE takes a short answer for the end of the file; an NFS server may answer short before the end. */
static void on_read(struct nfs_call *call)
{
	struct path_read *p = CONTAINER_OF(call, struct path_read, r.call);
	bool whole;

	if (call->error < 0) {
		p->done(p, call->error, NULL, 0);
		return;
	}
	p->r.fs->counters.bytes_read += call->res.io.count;
	whole = call->res.io.eof || call->res.io.count == 0 || p->got + call->res.io.count >= p->size;
	if (whole && p->got == 0) {
		p->done(p, 0, call->res.io.data, call->res.io.count);
		return;
	}
	if (!p->buf && !path_read_get_buf(p, p->size, 1)) {
		p->done(p, -ENOMEM, NULL, 0);
		return;
	}
	memcpy(p->buf + p->got, call->res.io.data, call->res.io.count);
	p->got += call->res.io.count;
	if (whole)
		p->done(p, 0, p->buf, p->got);
	else
		server_read(p);
}

static void server_read(struct path_read *p)
{
	request_groups(&p->r);
	p->r.call.args.io.offset = p->offset + p->got;
	p->r.call.args.io.count = (uint32_t)MIN(p->size - p->got, p->r.fs->rsize);
	request_send(&p->r, NFS_READ, on_read);
}

static struct path_write *from_write(struct nfs_call *call)
{
	return CONTAINER_OF(call, struct data_write, call)->owner;
}

static void append_next(struct inode *i);

/* An append that had its turn starts the next one. */
static void end_write(struct path_write *p, int error)
{
	struct fs *fs = p->r.fs;
	struct inode *i = p->appends ? inode_ref(p->r.inode) : NULL;

	p->done(p, error);
	if (i) {
		append_next(i);
		(void)inode_unref(fs->inodes, i);
	}
}

static void on_full_log_commit(struct stable_wait *wait, int error)
{
	end_write(CONTAINER_OF(wait, struct path_write, wait), error);
}

/* Appends that wait for their turn have no call that struct server could ask about. */
static void end_given_up_appends(struct inode *i)
{
	struct list gone;

	list_init(&gone);
	{
		LOCKED(&i->lock);
		LIST_FOREACH (pos, &i->appends) {
			struct path_write *p = CONTAINER_OF(pos, struct path_write, append_node);

			if (!request_given_up(&p->r))
				continue;
			list_remove(pos);
			list_append(&gone, pos);
		}
	}
	LIST_FOREACH (pos, &gone) {
		struct path_write *p = CONTAINER_OF(pos, struct path_write, append_node);

		list_remove(pos);
		p->appends = false; /* it had no turn, so no other append waits for its end */
		(void)write_log_answered(&i->writes, p->w, WRITE_FAILED);
		end_write(p, -EINTR);
	}
}

/*
 * The writer may go. A WRITE that was sent may not: the server could do that WRITE after a newer one that did not wait.
 * An append that only asks for the end of the file may go, too.
 */
static bool write_given_up(struct nfs_call *call)
{
	struct path_write *p = from_write(call);

	end_given_up_appends(p->r.inode);
	if (!request_given_up(&p->r))
		return false;
	if (p->w->sent && call->args.io.append)
		return true;
	p->r.operation.error = EINTR;
	request_count(&p->r);
	(void)fuse_reply_err(p->r.req, EINTR);
	p->r.req = NULL;
	return false;
}

static void on_write(struct nfs_call *call);

static void send_write(struct path_write *p)
{
	struct nfs_call *call = &p->w->call;

	call->args.io.offset = p->offset + p->written;
	call->args.io.count = (uint32_t)MIN(p->size - p->written, p->r.fs->wsize);
	call->args.io.data = p->w->data + p->written;
	call->args.io.append = p->appends && p->written == 0;
	call->proc = NFS_WRITE;
	call->done = on_write;
	call->given_up = write_given_up;
	write_log_send(&p->r.inode->writes, p->r.fs->server, p->w);
}

static void on_write(struct nfs_call *call)
{
	struct path_write *p = from_write(call);
	struct data_write *w = p->w;
	struct write_log *log = &p->r.inode->writes;
	int error = call->error;
	bool full;

	if (error == 0 && call->res.io.count == 0)
		error = -EIO;
	if (error < 0) {
		(void)write_log_answered(log, w, WRITE_FAILED);
		end_write(p, error);
		return;
	}
	if (p->written == 0)
		p->offset = call->args.io.offset; /* an append's is known now */
	if (call->res.io.committed == NFS_UNSTABLE) {
		p->mixed |= p->unstable && memcmp(w->verf.data, call->res.io.verf.data, sizeof(w->verf.data)) != 0;
		p->unstable = true;
		w->verf = call->res.io.verf;
	} else if (!p->unstable) {
		w->verf = call->res.io.verf;
	}
	p->written += call->res.io.count;
	if (p->written < p->size) {
		send_write(p);
		return;
	}
	p->r.fs->counters.bytes_written += p->size;
	call->args.io.offset = p->offset;
	call->args.io.count = (uint32_t)p->size;
	/* No commit answers with this verifier: all data of the write is sent again. */
	if (p->mixed)
		memset(w->verf.data, 0xff, sizeof(w->verf.data));
	full = write_log_answered(log, w, p->unstable ? WRITE_UNSTABLE : WRITE_STABLE);
	if (!full) {
		end_write(p, 0);
		return;
	}
	p->wait.done = on_full_log_commit;
	p->wait.patience = request_patience(&p->r);
	inode_writes_commit(p->r.fs, p->r.inode, &p->r.call.cred, &p->wait);
}

static void send_append(void *arg)
{
	send_write(arg);
}

static bool follower_given_up(void *arg)
{
	struct path_write *p = arg;

	end_given_up_appends(p->r.inode);
	return request_given_up(&p->r);
}

/* O_APPEND: the kernel's idea of the end of the file may be old, the server's is not. One append per file at a time. */
static void start_append(struct path_write *p)
{
	struct patience patience = {.given_up = follower_given_up, .arg = p};

	server_refresh_then(p->r.fs, p->r.inode, &p->r.call.cred, patience, send_append, p);
}

/* The append at the head of the queue is done: starts the next. */
static void append_next(struct inode *i)
{
	struct path_write *next = NULL;

	{
		LOCKED(&i->lock);
		if (list_empty(&i->appends)) {
			i->appending = false;
		} else {
			next = CONTAINER_OF(i->appends.next, struct path_write, append_node);
			list_remove(&next->append_node);
		}
	}
	if (next)
		start_append(next);
}

static void queue_append(struct path_write *p)
{
	struct inode *i = p->r.inode;

	{
		LOCKED(&i->lock);
		if (i->appending) {
			list_append(&i->appends, &p->append_node);
			return;
		}
		i->appending = true;
	}
	start_append(p);
}

/* The writes that came before are answered. */
static void on_settled(struct behind_wait *w, int error)
{
	struct stable_wait *stable = CONTAINER_OF(w, struct stable_wait, behind);
	struct path_write *p = CONTAINER_OF(stable, struct path_write, wait);

	if (error < 0) {
		(void)write_log_answered(&p->r.inode->writes, p->w, WRITE_FAILED);
		p->appends = false; /* it had no turn */
		end_write(p, error);
		return;
	}
	if (p->appends)
		queue_append(p);
	else
		send_write(p);
}

static void server_write(struct path_write *p)
{
	struct inode *i = p->r.inode;
	bool beside_local;

	p->r.operation.path = OPERATION_BY_SERVER;
	p->w = data_write_new(p->size);
	if (!p->w) {
		p->done(p, -ENOMEM);
		return;
	}
	p->w->owner = p;
	p->w->call.fh = i->fh;
	p->w->call.cred = p->r.call.cred;
	memcpy(p->w->data, p->buf, p->size);
	{
		LOCKED(&i->lock);
		/* One step, since an open looks at both: it finds this WRITE, or this WRITE finds the local open. */
		beside_local =
			open_mode_written_locally(&i->mode) || granted_file_writes(i->granted, fs_generation(p->r.fs));
		write_log_started(&i->writes);
	}
	/* Beside local writes nothing may be kept for resending: it could overwrite newer data. */
	p->w->call.args.io.stable = beside_local || p->to_disk ? NFS_FILE_SYNC : NFS_UNSTABLE;
	p->wait.behind.done = on_settled;
	p->wait.behind.patience = request_patience(&p->r);
	write_behind_settle(&i->behind, &p->wait.behind);
}

static void on_commit(struct nfs_call *call)
{
	struct path_sync *p = CONTAINER_OF(call, struct path_sync, call);

	if (call->error == -EACCES || call->error == -EPERM)
		p->refused(p, call->error);
	else
		p->done(p, call->error);
}

static void server_sync(struct path_sync *p)
{
	struct inode *i = p->inode;

	p->call = (struct nfs_call){.fh = i->fh, .proc = NFS_COMMIT, .done = on_commit, .given_up = p->given_up};
	{
		LOCKED(&i->lock);
		granted_file_take_error(i->granted, i);
		p->call.cred = *p->choose_asker(p);
	}
	server_submit(p->fs->server, &p->call);
}

/* fs/nfs/file.c nfs_file_llseek and generic_file_llseek_size: data up to the end, and the one hole is there. */
static void on_size(struct nfs_call *call)
{
	struct path_range *p = CONTAINER_OF(call, struct path_range, r.call);
	uint64_t size = call->attr.size, offset = p->body.range.offset;

	if (call->error == 0 && offset >= size)
		call->error = -ENXIO;
	p->done(p, call->error, p->body.range.how == SEEK_DATA ? offset : size);
}

static void ask_for_size(void *arg)
{
	struct path_range *p = arg;

	request_send(&p->r, NFS_GETATTR, on_size);
}

static void server_range(struct path_range *p)
{
	if (p->type == BROKER_SEEK)
		server_refresh_then(p->r.fs, p->r.inode, &p->r.call.cred, request_patience(&p->r), ask_for_size, p);
	else
		p->done(p, -EOPNOTSUPP, 0);
}

static void on_access(struct nfs_call *call)
{
	struct path_truncate *p = CONTAINER_OF(call, struct path_truncate, r.call);

	p->allowed = true;
	if (call->error == 0 && (call->res.access & MAY_WRITE) != MAY_WRITE)
		call->error = -EACCES;
	if (call->error < 0)
		p->done(call);
	else
		p->restart(p);
}

/*
 * truncate(2) takes write permission, which the kernel asks nobody for. Of SETATTR a server demands less: owners may
 * always. So ACCESS decides, as with the kernel's client.
 */
static void server_truncate(struct path_truncate *p)
{
	if (!p->by_open && !p->allowed) {
		p->r.call.args.access.bits = MAY_WRITE;
		request_send(&p->r, NFS_ACCESS, on_access);
		return;
	}
	p->r.call.args.sattr = p->sattr;
	request_send(&p->r, NFS_SETATTR, p->done);
}

const struct data_path by_server = {.counted = OPERATION_BY_SERVER,
	.read = server_read,
	.write = server_write,
	.sync = server_sync,
	.range = server_range,
	.truncate = server_truncate};
