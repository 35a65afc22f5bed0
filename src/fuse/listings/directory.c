/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "fuse/listings/directory.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "fuse/fs/convert.h"
#include "fuse/local/granted_file.h"
#include "fuse/local/idle_ids.h"
#include "fuse/shortcut/shortcut.h"
#include "localiofs/reason.h"

struct directory *directory_of(const struct fs *fs, const struct fuse_file_info *fi)
{
	return CONTAINER_OF(fs_opened(fs, fi), struct directory, opened);
}

void directory_unref(struct directory *d)
{
	if (atomic_fetch_sub(&d->refs, 1) > 1)
		return;
	batch_drop(&d->batch);
	(void)pthread_mutex_destroy(&d->lock);
	free(d);
}

static void free_opened(struct opened *o)
{
	directory_unref(CONTAINER_OF(o, struct directory, opened));
}

static void close_directory(struct fs *fs, struct directory *d)
{
	slots_remove(&fs->opened, d->opened.number);
	{
		LOCKED(&d->inode->lock);
		list_remove(&d->opened.node);
	}
	{
		LOCKED(&d->lock);
		batch_keep(fs, d->inode, &d->as.cred, &d->batch);
	}
	directory_unref(d);
}

struct opendir_request {
	struct request r;
	struct fuse_file_info fi;
	struct broker_call broker;
	struct opening opening; /* a looker that comes with the answer to ACCESS */
	uint64_t state;         /* of the directory, before its digest was asked for */
	uint64_t generation;    /* of the session that is asked */
};

static void reply_opendir(struct opendir_request *o, enum listing_use use)
{
	struct directory *d = calloc(1, sizeof(*d));
	struct inode *i = o->r.inode;

	if (d)
		d->opened.number = slots_add(&o->r.fs->opened, &d->opened);
	if (!d || d->opened.number == 0) {
		free(d);
		request_end_error(&o->r, -ENOMEM);
		return;
	}
	d->opened.free = free_opened;
	d->inode = i;
	d->refs = 1;
	d->as = request_opened_as(&o->r);
	(void)pthread_mutex_init(&d->lock, NULL);
	o->fi.fh = d->opened.number;
	listing_open(o->r.fs, i, &d->opened, use, &o->fi);
	d->fills = o->fi.cache_readdir;
	d->ready = use == LISTING_KEEP && batch_take_kept(o->r.fs, i, &d->as.cred, &d->batch);
	request_count(&o->r);
	if (fuse_reply_open(o->r.req, &o->fi) < 0)
		close_directory(o->r.fs, d);
	request_end(&o->r);
}

static void directory_looked_at(struct nfs_call *call)
{
	struct opendir_request *o = CONTAINER_OF(call, struct opendir_request, r.call);
	struct request *r = &o->r;
	bool told = call->error == 0 && call->has_attr && call->by_sidecar && S_ISDIR(call->attr.mode);

	if (told)
		(void)known_attributes_watched(r->fs, r->inode, &call->attr, r->asked, call->watched);
	reply_opendir(o, told && listing_is_good(r->fs, r->inode) ? LISTING_KEEP : LISTING_BEGIN);
}

/* True if the sidecar has told that the kernel's listing is right; takes the looker that came with the answer. */
static bool sidecar_shows(struct opendir_request *o, const struct broker_open_reply *reply, int *fd)
{
	struct request *r = &o->r;
	struct nfs_attr attr;

	if (reply->attr.fileid != r->inode->fileid)
		return false;
	attr_of_broker(r->fs, &reply->attr, &attr);
	(void)known_attributes_watched(r->fs, r->inode, &attr, r->asked, reply->watched != 0);
	idle_ids_take_looker(r->fs, r->inode, o->generation, NULL, fd);
	return listing_is_good(r->fs, r->inode);
}

static void on_looker(struct broker_call *call, int error, const void *body)
{
	struct opendir_request *o = CONTAINER_OF(call, struct opendir_request, broker);
	const struct broker_open_reply *reply = body;

	if (error < 0 || reply->error < 0)
		request_send(&o->r, NFS_GETATTR, directory_looked_at);
	else
		reply_opendir(o, sidecar_shows(o, reply, call->fd) ? LISTING_KEEP : LISTING_BEGIN);
}

/* Asks for the directory's attributes, and for a looker, for the next opens. */
static void ask_looker(struct opendir_request *o)
{
	struct broker_open body = {.fh = request_broker_fh(&o->r.inode->fh),
		.flags = BROKER_OPEN_ATTR | BROKER_OPEN_WANT_LOOK};

	o->generation = fs_generation(o->r.fs);
	o->broker.done = on_looker;
	o->r.operation.path = OPERATION_BY_SIDECAR;
	o->r.asked = attr_clock();
	shortcut_look(o->r.fs->shortcut, &o->broker, &body);
}

/* True if the directory's looker shows that the kernel's listing, which is good, is right. */
static bool looker_shows(const struct request *r)
{
	uint64_t asked = attr_clock();
	bool watched = known_has_notices(r->fs, r->inode);
	struct nfs_attr attr;

	if (!granted_file_look(r->fs, r->inode, &attr) || !listing_shows(r->inode, &attr))
		return false;
	idle_ids_looked(r->inode);
	(void)known_attributes_watched(r->fs, r->inode, &attr, asked, watched);
	return listing_is_good(r->fs, r->inode);
}

void directory_ask_digest(struct request *r, struct broker_call *b)
{
	struct broker_digest body = {.dir = request_broker_fh(&r->inode->fh),
		.cred = request_broker_cred(&r->call.cred),
		.key = {r->fs->listing_key.k0, r->fs->listing_key.k1}};

	r->asked = attr_clock();
	shortcut_digest(r->fs->shortcut, b, &body);
}

/* The attributes are older than the digest, and both than the notices that have not come yet. */
bool directory_digest_told(struct request *r, int error, const struct broker_digested *reply)
{
	struct nfs_attr attr;

	if (error < 0 || reply->error < 0)
		return false;
	attr_of_broker(r->fs, &reply->dir, &attr);
	(void)known_attributes_watched(r->fs, r->inode, &attr, r->asked, reply->watched != 0);
	return true;
}

static void on_digest(struct broker_call *call, int error, const void *body)
{
	struct opendir_request *o = CONTAINER_OF(call, struct opendir_request, broker);
	const struct broker_digested *reply = body;
	struct request *r = &o->r;
	bool told = directory_digest_told(r, error, reply) && reply->watched != 0;

	if (told)
		listing_digest(r->inode, reply->digest, o->state);
	reply_opendir(o, told && listing_is_good(r->fs, r->inode) ? LISTING_KEEP : LISTING_BEGIN);
}

/*
 * The caller may read the directory. A listing that may be good is compared with what its looker shows, or with the
 * sidecar's answer, which also begins the notices without which no listing is good, and without which the kernel may
 * not believe the names that the listing brings.
 */
static void opendir_allowed(struct opendir_request *o)
{
	struct fs *fs = o->r.fs;
	bool walks = shortcut_reason(fs->shortcut) == REASON_NONE && known_wants_no_acl(fs, o->r.inode);
	bool lacks = !fs_server_remembers(fs) && !known_has_notices(fs, o->r.inode);
	bool good = listing_is_good(fs, o->r.inode);

	if (good && !walks && looker_shows(&o->r)) {
		reply_opendir(o, LISTING_KEEP);
	} else if (good && !walks && granted_file_wants_looker(fs, o->r.inode)) {
		ask_looker(o);
	} else if (listing_needs_digest(fs, o->r.inode)) {
		o->state = known_state(o->r.inode);
		o->broker.done = on_digest;
		o->r.operation.path = OPERATION_BY_SIDECAR;
		directory_ask_digest(&o->r, &o->broker);
	} else if (good || (lacks && listing_may_begin(fs))) {
		request_send(&o->r, NFS_GETATTR, directory_looked_at);
	} else {
		reply_opendir(o, LISTING_BEGIN);
	}
}

static bool groups_matter(const struct request *r, const struct nfs_attr *now)
{
	return known_groups_matter(r->fs, r->inode, now, &r->call.cred, S_IROTH | S_IXOTH);
}

static void ask_access(struct opendir_request *o);

static void opendir_done(struct nfs_call *call)
{
	struct opendir_request *o = CONTAINER_OF(call, struct opendir_request, r.call);
	int error = call->error < 0 || (call->res.access & NFS_ACCESS_READ) != 0 ? call->error : -EACCES;
	bool unsure = error == -EACCES || (error == 0 && groups_matter(&o->r, call->has_attr ? &call->attr : NULL));

	if (unsure && !o->r.has_groups) {
		request_groups(&o->r);
		ask_access(o);
	} else if (error < 0) {
		request_end_error(&o->r, error);
	} else {
		if (o->opening.session != 0)
			idle_ids_take_looker(o->r.fs, o->r.inode, o->opening.session, NULL, &o->opening.fd);
		opendir_allowed(o);
	}
}

/* LOOKUP as well: a caller who lists a directory usually looks up its names next. */
static void ask_access(struct opendir_request *o)
{
	opening_drop(o->r.fs, &o->opening);
	if (listing_may_begin(o->r.fs) && granted_file_wants_looker(o->r.fs, o->r.inode)) {
		o->opening.wants = BROKER_OPEN_WANT_LOOK;
		o->r.call.opening = &o->opening;
	}
	o->r.call.args.access.bits = NFS_ACCESS_READ | NFS_ACCESS_LOOKUP;
	request_send(&o->r, NFS_ACCESS, opendir_done);
}

/*
 * ACCESS decides, as in the kernel's NFS client (nfs_permission). But an O_SYNC open of the root by the mount's owner
 * succeeds without a question, because localioctl must work while the server is away. For a listing on such a
 * descriptor, the server checks the permission at READDIR, so the kernel's listing is not used.
 */
static void op_opendir(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	struct opendir_request *o = calloc(1, sizeof(*o));
	struct request *r;

	if (!o) {
		operation_refuse(req, ENOMEM);
		return;
	}
	r = &o->r;
	o->fi = *fi;
	request_init_ids(r, req, ino);
	if (ino == FUSE_ROOT_ID && (fi->flags & O_SYNC) == O_SYNC &&
		(fuse_req_ctx(req)->uid == r->fs->owner || fuse_req_ctx(req)->uid == 0)) {
		reply_opendir(o, LISTING_READ_PAST);
		return;
	}
	if (groups_matter(r, NULL))
		request_groups(r);
	if (known_allowed(r->fs, r->inode, &r->call.cred, NFS_ACCESS_READ))
		opendir_allowed(o);
	else
		ask_access(o);
}

static void op_releasedir(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	struct fs *fs = fuse_req_userdata(req);

	close_directory(fs, directory_of(fs, fi));
	(void)fuse_reply_err(req, 0);
}

struct fsyncdir_request {
	struct request r;
	struct broker_call broker;
};

/* If the sidecar may not sync the directory, fsync(2) succeeds as on a remote mount. */
static void on_directory_synced(struct broker_call *call, int error, const void *body)
{
	struct request *r = &CONTAINER_OF(call, struct fsyncdir_request, broker)->r;
	const struct broker_status *reply = body;
	bool synced = error == 0 && (reply->reason == REASON_NONE || reply->reason == REASON_LIMIT);

	request_end_error(r, synced ? reply->error : 0);
}

/*
 * NFS servers must make changes of names stable before they answer (RFC 1813 4.8). Not all servers do, and NFS has no
 * call to demand it, so the sidecar syncs the directory while the mount has a session.
 */
static void op_fsyncdir(fuse_req_t req, fuse_ino_t ino, int datasync, struct fuse_file_info *fi)
{
	struct fs *fs = fuse_req_userdata(req);
	struct fsyncdir_request *s;
	struct broker_sync_dir body;

	if (fs_generation(fs) == 0) {
		(void)fuse_reply_err(req, 0);
		return;
	}
	s = calloc(1, sizeof(*s));
	if (!s) {
		operation_refuse(req, ENOMEM);
		return;
	}
	request_init_open(&s->r, req, ino, &directory_of(fs, fi)->as);
	request_groups(&s->r);
	body = (struct broker_sync_dir){.fh = request_broker_fh(&s->r.inode->fh),
		.cred = request_broker_cred(&s->r.call.cred)};
	s->r.operation.path = OPERATION_BY_SIDECAR;
	s->broker.done = on_directory_synced;
	probe_send(fs->probe, &s->broker, BROKER_SYNC_DIR, &body, sizeof(body));
}

void directory_set_operations(struct fuse_lowlevel_ops *ops)
{
	ops->opendir = op_opendir;
	ops->releasedir = op_releasedir;
	ops->fsyncdir = op_fsyncdir;
}
