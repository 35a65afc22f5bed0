/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "fuse/open/open_request.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "fuse/local/server_refresh.h"
#include "fuse/open/handlers.h"
#include "fuse/local/inode_writes.h"

#define FMODE_EXEC_FLAG 0x20 /* __FMODE_EXEC in the flags of OPEN: the open is execve's */

static void access_known(struct open_request *o)
{
	int error = open_permission(o, o->r.call.res.access);

	if (error < 0)
		open_end(o, error);
	else
		open_finish(o);
}

static void on_access(struct nfs_call *call)
{
	struct open_request *o = open_request_of(call);

	if (call->error < 0) {
		open_end(o, call->error);
		return;
	}
	o->then = access_known;
	if (call->has_attr)
		open_know_version(o);
	if (call->has_attr && call->attr.nlink == 0)
		open_name_lost(o);
	else
		open_name_holds(o);
}

static void ask_for_access(void *arg)
{
	struct open_request *o = arg;

	o->r.call.fh = o->r.inode->fh;
	o->r.call.args.access.bits = NFS_ACCESS_READ | NFS_ACCESS_MODIFY | NFS_ACCESS_EXTEND | NFS_ACCESS_EXECUTE;
	request_send(&o->r, NFS_ACCESS, on_access);
}

void open_remote(struct open_request *o)
{
	request_groups(&o->r);
	o->wish.generation = 0;
	o->wish.granted_id = 0;
	if (o->created) {
		open_finish(o);
		return;
	}
	server_refresh_then(o->r.fs, o->r.inode, &o->r.call.cred, request_patience(&o->r), ask_for_access, o);
}

static void on_committed(struct stable_wait *w, int error)
{
	struct open_request *o = CONTAINER_OF(w, struct open_request, wait);

	if (error == -EINTR) {
		open_end(o, error);
		return;
	}
	/* Local writes must not overtake data that could not be made stable. */
	if (error < 0)
		open_remote(o);
	else
		open_local(o);
}

/*
 * True if the mount options forbid that the kernel writes to a backing file by itself. These writes are not stable when
 * write(2) returns, but sync demands this. Other clients see them at once, as noac demands, unless the server answers
 * from memory.
 */
static bool must_be_seen(const struct fs *fs)
{
	return fs->options->sync || (fs->options->noac && fs_server_remembers(fs));
}

void open_wish(struct open_request *o)
{
	const struct fs *fs = o->r.fs;

	o->exec = o->fi.flags & FMODE_EXEC_FLAG;
	o->wish.read = (o->fi.flags & O_ACCMODE) != O_WRONLY;
	o->wish.write = (o->fi.flags & O_ACCMODE) != O_RDONLY;
	o->wish.append = o->wish.write && (o->fi.flags & O_APPEND);
	o->wish.by_daemon = (o->fi.flags & O_DIRECT) && fs->options->odirect != ODIRECT_THROUGH;
	o->wish.generation = o->wish.write && must_be_seen(fs) ? 0 : fs_generation(fs);
}

/* The open is counted, and no removal of the file's name is under way: opens the file. */
static void start_counted(struct open_request *o)
{
	struct fs *fs = o->r.fs;
	struct inode *i = o->r.inode;
	bool local, dirty;

	o->file = file_new(fs);
	if (!o->file) {
		open_end(o, -ENOMEM);
		return;
	}
	open_wish(o);
	o->file->write = o->wish.write;
	o->file->append = o->wish.append;
	local = o->wish.generation != 0 && S_ISREG(i->type);
	/* An open may become local only after each WRITE of the file is answered and stable. */
	dirty = write_log_dirty(&i->writes);
	if (local && !dirty && open_made(o))
		return;
	if (!o->r.has_groups && local && !dirty && !o->wish.write && open_hot(o))
		return;
	if (!local) {
		open_remote(o);
		return;
	}
	if (dirty) {
		request_groups(&o->r);
		o->wait.done = on_committed;
		o->wait.patience = request_patience(&o->r);
		inode_writes_commit(fs, i, &o->r.call.cred, &o->wait);
		return;
	}
	open_local(o);
}

static void start_held(struct open_hold *h, int error)
{
	struct open_request *o = CONTAINER_OF(h, struct open_request, hold);

	if (error < 0)
		open_end(o, error);
	else
		start_counted(o);
}

static bool held_given_up(struct open_hold *h)
{
	return request_given_up(&CONTAINER_OF(h, struct open_request, hold)->r);
}

void open_start(struct open_request *o)
{
	o->hold.go_on = start_held;
	o->hold.given_up = held_given_up;
	o->counted = true;
	if (open_begins(o->r.fs, o->r.inode, &o->hold))
		start_counted(o);
}

struct open_request *open_request_new(fuse_req_t req, const struct fuse_file_info *fi)
{
	struct open_request *o = calloc(1, sizeof(*o));

	if (!o) {
		operation_refuse(req, ENOMEM);
		return NULL;
	}
	o->fi = *fi;
	o->given = -1;
	return o;
}

static void op_open(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	struct open_request *o = open_request_new(req, fi);

	if (!o)
		return;
	request_init_ids(&o->r, req, ino);
	open_start(o);
}

void open_set_operations(struct fuse_lowlevel_ops *ops)
{
	ops->open = op_open;
	ops->create = op_create;
	ops->release = op_release;
}
