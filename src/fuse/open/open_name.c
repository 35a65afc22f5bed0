/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "fuse/open/open_request.h"

#include "fuse/local/backing_ids.h"
#include "fuse/request/convert.h"

/* With nocto what is known is not looked at again. */
static bool believes(const struct open_request *o)
{
	return o->r.fs->options->nocto && known_believed(o->r.fs, o->r.inode) && o->r.call.attr.nlink > 0;
}

void open_take_back_attributes(struct fs *fs, struct inode *i, uint64_t tellings)
{
	if (fs_invalidate_attributes(fs, i) == 0)
		known_attributes_taken_back(i, tellings);
}

/*
 * Close-to-open: when the file is not any more what the kernel was told, that asks for size and times
 * before it shows them next. The attributes of now are in the call.
 */
void open_know_version(struct open_request *o)
{
	struct inode *i = o->r.inode;
	uint64_t tellings;

	o->has_version = true;
	if (believes(o) || !known_kernel_may_differ(i, &o->r.call.attr, &tellings))
		return;
	known_doubt(i);
	open_take_back_attributes(o->r.fs, i, tellings);
}

/*
 * True if the opener's thread was sent to walk again, and has come back with this file: found since the open began, or
 * not by a name. It is not sent any more, then.
 */
static bool has_walked_again(struct open_request *o)
{
	uint_fast64_t file = o->r.inode->generation;

	return atomic_compare_exchange_strong(fs_retry_of(o->r.fs, fuse_req_ctx(o->r.req)->pid), &file, 0);
}

/* A walk beside this open may have told the kernel what the server remembers. */
static void go_on(struct open_request *o)
{
	if (o->has_version)
		open_know_version(o);
	o->then(o);
}

static void on_server_looked(struct nfs_call *call)
{
	struct open_request *o = open_request_of(call);

	o->r.fs->counters.refreshes++;
	open_end(o, -ESTALE);
}

/* COMMIT makes it look. Of the file, too: with its old ctime the name would be in doubt again at the next open. */
static void make_server_look(struct open_request *o, const struct nfs_fh *fh, void (*done)(struct nfs_call *call))
{
	o->r.call.fh = *fh;
	o->r.call.args.io.offset = 0;
	o->r.call.args.io.count = 0;
	request_send(&o->r, NFS_COMMIT, done);
}

static void on_server_looked_at_names(struct nfs_call *call)
{
	struct open_request *o = open_request_of(call);

	o->r.fs->counters.refreshes++;
	make_server_look(o, &o->r.inode->fh, on_server_looked);
}

/* True if the table has no answer for this open, so that it needs a fresh inode. The kernel walks again once only. */
static bool needs_fresh_inode(struct open_request *o)
{
	struct inode *i = o->r.inode;

	LOCKED(&i->lock);
	return open_mode_choose(&i->mode, &o->wish) < 0;
}

/*
 * The kernel walks again, and the server says whose the name is. Once: the file may have been opened without a name, in
 * /proc or as a bind mount, or have lost its name since this walk. Not at all when it was this mount that took the
 * name: then the kernel knows, and the walk was before that.
 *
 * What others did through the server it knows. What was done behind its back it may not know yet: Ganesha keeps the
 * names of a directory for a while, and looks again at COMMIT.
 */
void open_name_lost(struct open_request *o)
{
	struct fs *fs = o->r.fs;

	if (has_walked_again(o) || inode_loses_name(o->r.inode)) {
		go_on(o);
		return;
	}
	*fs_retry_of(fs, fuse_req_ctx(o->r.req)->pid) = o->r.inode->generation;
	fs->counters.opens_walked++;
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
	if (!o->has_groups)
		request_groups(&o->r);
	make_server_look(o, &o->dir, on_server_looked_at_names);
}

void open_name_holds(struct open_request *o)
{
	(void)has_walked_again(o);
	go_on(o);
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
	request_attr_of_broker(&o->r, &reply->attr, &dir);
	if (known_directory_is(o->r.fs, o->r.inode, &o->dir, &dir, &o->r.call.attr.ctime))
		open_name_holds(o);
	else
		open_name_lost(o);
}

void open_ask_attributes(struct open_request *o, const struct nfs_fh *fh,
	void (*done)(struct broker_call *call, int error, const void *body))
{
	struct broker_open body = {.fh = request_broker_fh(fh), .flags = BROKER_OPEN_ATTR};

	o->broker.done = done;
	probe_send(o->r.fs->probe, &o->broker, BROKER_OPEN, &body, sizeof(body));
}

/* The sidecar has said what the file is like: goes on with then() if the name that led to it still does (named.h). */
void open_check_name(struct open_request *o, void (*then)(struct open_request *o))
{
	o->then = then;
	switch (o->create || believes(o) ? NAMED_HOLDS
					 : known_judge_name(o->r.fs, o->r.inode, &o->r.call.attr, &o->dir)) {
	case NAMED_HOLDS:
		open_name_holds(o);
		break;
	case NAMED_ASK_DIRECTORY:
		open_ask_attributes(o, &o->dir, on_directory_attributes);
		break;
	case NAMED_LOST:
		open_name_lost(o);
		break;
	}
}
