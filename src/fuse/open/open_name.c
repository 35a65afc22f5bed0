/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "fuse/open/open_request.h"

#include "fuse/local/backing_ids.h"
#include "fuse/local/granted_file.h"
#include "fuse/local/idle_ids.h"
#include "fuse/local/server_refresh.h"
#include "fuse/fs/convert.h"

/* True if the open does not check known names and attributes again (nocto). */
static bool believes(const struct open_request *o)
{
	return o->r.fs->options->nocto && known_believed(o->r.fs, o->r.inode) && o->r.call.attr.nlink > 0;
}

void open_know_version(struct open_request *o)
{
	o->has_version = true;
	if (!believes(o))
		known_compare(o->r.fs, o->r.inode, &o->r.call.attr);
}

/*
 * True if an earlier open made the opener's thread walk the path again, and the new walk has led to this file: by a
 * name found since then, or without a name. This open must not make the thread walk once more.
 */
static bool has_walked_again(struct open_request *o)
{
	uint_fast64_t file = o->r.inode->generation;

	return atomic_compare_exchange_strong(fs_retry_of(o->r.fs, fuse_req_ctx(o->r.req)->pid), &file, 0);
}

/* Compares the attributes again: another walk may have told the kernel old ones from the server's memory meanwhile. */
static void go_on(struct open_request *o)
{
	if (o->has_version)
		open_know_version(o);
	o->then(o);
}

/* True if the server has answered, or will not; else the question was sent in another form. */
static bool has_looked(struct open_request *o, void (*done)(struct nfs_call *call))
{
	if (server_looked(o->r.fs, &o->r.call) == -EAGAIN) {
		request_send(&o->r, o->r.call.proc, done);
		return false;
	}
	o->r.fs->counters.refreshes++;
	return true;
}

static void on_server_looked(struct nfs_call *call)
{
	struct open_request *o = open_request_of(call);

	if (has_looked(o, on_server_looked))
		open_end(o, -ESTALE);
}

/*
 * The server looks at the directory, and then at the file: with the file's old ctime the next open would doubt the name
 * again.
 */
static void make_server_look(struct open_request *o, const struct nfs_fh *fh, void (*done)(struct nfs_call *call))
{
	o->r.call.fh = *fh;
	server_look(o->r.fs, &o->r.call);
	request_send(&o->r, o->r.call.proc, done);
}

static void on_server_looked_at_names(struct nfs_call *call)
{
	struct open_request *o = open_request_of(call);

	if (has_looked(o, on_server_looked_at_names))
		make_server_look(o, &o->r.inode->fh, on_server_looked);
}

/*
 * True if no open mode fits beside the inode's opens, so that the open needs a new inode. Found out before the kernel
 * walks again, because it repeats the walk only once.
 */
static bool needs_fresh_inode(struct open_request *o)
{
	struct inode *i = o->r.inode;

	LOCKED(&i->lock);
	return open_mode_choose(&i->mode, &o->wish) < 0;
}

/*
 * ESTALE makes the kernel walk again, and the server tells to which file the name leads. Only once: the file may have
 * been opened without a name (/proc, a bind mount), or may have lost its name after this walk. Not at all if this mount
 * itself took the name away: the kernel knows that, and walked before.
 *
 * A file that the server tells to have no name is never opened there: its data may be gone at any moment. So a caller
 * gets ESTALE if the second walk has led to such a file, too (fs/nfs/dir.c nfs_lookup_verify_inode).
 *
 * The server knows changes that other clients made through it, but perhaps not yet local changes of the directory:
 * NFS-Ganesha remembers the names of a directory for a while, and looks again after COMMIT.
 */
void open_name_lost(struct open_request *o)
{
	struct fs *fs = o->r.fs;
	bool again = has_walked_again(o), gone = o->wish.generation == 0 && o->r.call.attr.nlink == 0;

	if ((again && !gone) || inode_loses_name(o->r.inode)) {
		go_on(o);
		return;
	}
	if (!again) {
		*fs_retry_of(fs, fuse_req_ctx(o->r.req)->pid) = o->r.inode->generation;
		fs->counters.opens_walked++;
	}
	if (o->r.call.attr.nlink == 0)
		known_stale(fs);
	known_name_lost(fs, &o->dir);
	if (needs_fresh_inode(o))
		open_retire(fs, o->r.inode);
	backing_ids_close(fs->ids, o->reply.backing_id);
	if (o->wish.generation == 0 || o->dir.len == 0 || !fs_server_remembers(fs)) {
		open_end(o, -ESTALE);
		return;
	}
	request_groups(&o->r);
	make_server_look(o, &o->dir, on_server_looked_at_names);
}

void open_name_holds(struct open_request *o)
{
	(void)has_walked_again(o);
	go_on(o);
}

/*
 * True if a descriptor of the directory shows that the name is still the file's. Notices come of the directory, so each
 * of its changes after a look has its own ctime, except where time stamps are whole seconds.
 */
static bool directory_shows(struct open_request *o, struct inode *dir)
{
	struct fs *fs = o->r.fs;
	struct nfs_attr now;

	if (!known_has_notices(fs, dir) || !granted_file_look(fs, dir, &now) || now.ctime.tv_nsec == 0)
		return false;
	idle_ids_looked(dir);
	return known_directory_is(fs, o->r.inode, &o->dir, &now, &o->r.call.attr.ctime);
}

/* Takes the looker of the directory that came with the answer, for the next opens of its files. */
static void take_looker(struct open_request *o, int *fd)
{
	struct inode *dir = inode_table_find(o->r.fs->inodes, &o->dir);

	if (dir)
		idle_ids_take_looker(o->r.fs, dir, o->wish.generation, NULL, fd);
	(void)inode_unref(o->r.fs->inodes, dir);
}

static void on_directory_attributes(struct broker_call *call, int error, const void *body)
{
	struct open_request *o = CONTAINER_OF(call, struct open_request, broker);
	const struct broker_open_reply *reply = body;
	struct nfs_attr dir;

	if (error < 0 || reply->error < 0) {
		open_name_lost(o);
		return;
	}
	take_looker(o, call->fd);
	attr_of_broker(o->r.fs, &reply->attr, &dir);
	if (known_directory_is(o->r.fs, o->r.inode, &o->dir, &dir, &o->r.call.attr.ctime))
		open_name_holds(o);
	else
		open_name_lost(o);
}

void open_ask_attributes(struct open_request *o, const struct nfs_fh *fh, uint32_t flags,
	void (*done)(struct broker_call *call, int error, const void *body))
{
	struct broker_open body = {.fh = request_broker_fh(fh), .flags = BROKER_OPEN_ATTR | flags};

	o->r.operation.path = OPERATION_BY_SIDECAR;
	o->broker.done = done;
	shortcut_open(o->r.fs->shortcut, &o->broker, &body);
}

/* The name is the file's if the directory has not changed. */
static void ask_directory(struct open_request *o)
{
	struct fs *fs = o->r.fs;
	struct inode *dir = inode_table_find(fs->inodes, &o->dir);
	bool holds = dir && directory_shows(o, dir), wants = dir && granted_file_wants_looker(fs, dir);

	(void)inode_unref(fs->inodes, dir);
	if (holds)
		open_name_holds(o);
	else
		open_ask_attributes(o, &o->dir, wants ? BROKER_OPEN_WANT_LOOK : 0, on_directory_attributes);
}

void open_check_name(struct open_request *o, void (*then)(struct open_request *o))
{
	o->then = then;
	switch (o->create || believes(o) ? NAMED_HOLDS
					 : known_judge_name(o->r.fs, o->r.inode, &o->r.call.attr, &o->dir)) {
	case NAMED_HOLDS:
		open_name_holds(o);
		break;
	case NAMED_ASK_DIRECTORY:
		ask_directory(o);
		break;
	case NAMED_LOST:
		open_name_lost(o);
		break;
	}
}
