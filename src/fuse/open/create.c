/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "fuse/open/open_request.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "fuse/acl/default_acl.h"
#include "fuse/local/granted_file.h"
#include "fuse/open/handlers.h"
#include "fuse/request/entry.h"

/* The file is created or found: its inode replaces the directory in the request. */
static void create_found(struct request *r)
{
	struct open_request *o = CONTAINER_OF(r, struct open_request, r);
	struct inode *i;
	int error = request_make_entry(r, r->name, &o->entry, &i);

	if (error < 0) {
		request_end_error(r, error);
		return;
	}
	(void)inode_unref(r->fs->inodes, r->inode);
	r->inode = i;
	if (o->created)
		o->entry.attr_timeout = MAX(o->entry.attr_timeout, known_new_file_seconds(r->fs, i));
	if (!S_ISREG(i->type)) {
		open_end(o, -ESTALE); /* the name is no regular file's any more: the kernel repeats the walk */
		return;
	}
	open_start(o);
}

static void existing_looked_up(struct nfs_call *call)
{
	struct open_request *o = open_request_of(call);

	if (call->error < 0)
		request_end_error(&o->r, call->error);
	else
		request_find_entry(&o->r, create_found);
}

static void create_done(struct nfs_call *call)
{
	struct open_request *o = open_request_of(call);

	/* Another client has made the file meanwhile. Without O_EXCL this is a plain open. */
	if (call->error == -EEXIST && !o->exclusive) {
		/* But the kernel does not truncate after CREATE: ESTALE makes it walk again and find the file. */
		if (o->fi.flags & O_TRUNC) {
			request_end_error(&o->r, -ESTALE);
			return;
		}
		request_send(&o->r, NFS_LOOKUP, existing_looked_up);
		return;
	}
	if (call->error < 0) {
		request_end_error(&o->r, call->error);
		return;
	}
	o->created = true;
	request_find_entry(&o->r, create_found);
}

/* If the sidecar makes the file, it may open the file, too. */
static void wish_for_opening(struct open_request *o)
{
	struct open_offer offer;

	open_wish(o);
	if (o->wish.generation == 0)
		return;
	offer = open_look_ahead(o->r.fs, &o->wish);
	o->opening.wants = open_offer_wants(&offer, o->r.fs, &o->wish);
	if ((o->opening.wants & BROKER_OPEN_WANT_ID) && granted_file_may_look(o->r.fs))
		o->opening.wants |= BROKER_OPEN_WANT_LOOK | BROKER_OPEN_WANT_SET;
	o->r.call.opening = &o->opening;
}

void op_create(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode, struct fuse_file_info *fi)
{
	struct open_request *o = open_request_new(req, fi);

	if (!o || request_init_change(&o->r, req, parent, name, NULL) < 0)
		return;
	o->create = true;
	o->exclusive = fi->flags & O_EXCL;
	o->r.call.exclusive = o->exclusive;
	o->r.call.same_clock = fs_generation(o->r.fs) != 0;
	o->r.call.args.sattr.set_mode = true;
	o->r.call.args.sattr.mode = mode;
	wish_for_opening(o);
	default_acl_send(&o->r, NFS_CREATE, create_done);
}
