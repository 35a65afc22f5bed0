/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Directories. The offset of an entry is the server's cookie of the entry before it, so telldir(3) and seekdir(3) work
 * without a stored list. The daemon keeps only the entries of the server's last reply, and uses them as long as the
 * kernel's next request continues within them.
 */
#include "base/clock.h"
#include "base/text.h"
#include "fuse/names/handlers.h"
#include "fuse/names/listing.h"
#include "fuse/request/request.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "fuse/local/server_refresh.h"
#include "fuse/fs/convert.h"
#include "fuse/request/entry.h"
#include "fuse/request/special_file.h"
#include "fuse/shortcut/shortcut.h"
#include "localiofs/reason.h"

#define REPLY_BYTES 65536 /* requested per READDIR */

/* An entry of the last reply, in its own memory. */
struct listed {
	struct nfs_entry entry;
	char name[];
};

/*
 * An open directory. The batch is the list of entries in the server's last reply. The lock guards the batch, so that
 * nothing depends on the kernel's order, which is one READDIR per open directory at a time.
 */
struct directory {
	struct opened opened; /* in the inode's list */
	struct inode *inode;  /* no reference: the kernel remembers the inode while the directory is open */
	atomic_uint refs;     /* one of the open directory, and one per request: after its reply the kernel may close */
	struct nfs_cred cred;
	pthread_mutex_t lock;
	struct nfs_verf verf;
	uint64_t epoch, asked; /* of the batch: known_epoch(), attr_clock() */
	uint64_t came_ms;      /* when the batch came */
	uint64_t state;        /* of the directory, when the batch was asked for; 0: the answer does not prove it */
	struct listed **batch;
	size_t count;
	uint64_t first; /* the offset at which the batch starts */
	/* Against a server whose cookies form a circle: goes_round(). */
	uint64_t last, mark;
	unsigned batches, mark_after;
	bool eof;               /* the batch is the last of the directory */
	bool plus;              /* the batch has handles and attributes */
	bool plain;             /* this listing uses READDIR: the server's READDIRPLUS has failed */
	bool fills;             /* the kernel copies the answers into its listing; constant */
	struct listing_sum sum; /* if it fills */
};

struct readdir_request {
	struct request r;
	struct directory *dir;
	size_t size;
	uint64_t offset;
	bool plus;
};

static void drop_batch(struct directory *d)
{
	for (size_t n = 0; n < d->count; n++)
		free(d->batch[n]);
	free(d->batch);
	d->batch = NULL;
	d->count = 0;
	d->eof = false;
}

static void unref_directory(struct directory *d)
{
	if (atomic_fetch_sub(&d->refs, 1) > 1)
		return;
	drop_batch(d);
	(void)pthread_mutex_destroy(&d->lock);
	free(d);
}

static struct directory *directory_of(const struct fs *fs, const struct fuse_file_info *fi)
{
	return CONTAINER_OF(fs_opened(fs, fi), struct directory, opened);
}

static void free_opened(struct opened *o)
{
	unref_directory(CONTAINER_OF(o, struct directory, opened));
}

static void close_directory(struct fs *fs, struct directory *d)
{
	slots_remove(&fs->opened, d->opened.number);
	{
		LOCKED(&d->inode->lock);
		list_remove(&d->opened.node);
	}
	unref_directory(d);
}

struct opendir_request {
	struct request r;
	struct fuse_file_info fi;
	struct broker_call broker;
	uint64_t state; /* of the directory, before its digest was asked for */
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
	d->cred = o->r.call.cred;
	(void)pthread_mutex_init(&d->lock, NULL);
	o->fi.fh = d->opened.number;
	listing_open(o->r.fs, i, &d->opened, use, &o->fi);
	d->fills = o->fi.cache_readdir;
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

/* The attributes are older than the digest, and both than the notices that have not come yet. */
static void on_digest(struct broker_call *call, int error, const void *body)
{
	struct opendir_request *o = CONTAINER_OF(call, struct opendir_request, broker);
	const struct broker_digested *reply = body;
	struct request *r = &o->r;
	bool told = error == 0 && reply->error == 0 && reply->watched != 0;

	if (told) {
		struct nfs_attr attr;

		attr_of_broker(r->fs, &reply->dir, &attr);
		(void)known_attributes_watched(r->fs, r->inode, &attr, r->asked, true);
		listing_digest(r->inode, reply->digest, o->state);
	}
	reply_opendir(o, told && listing_is_good(r->fs, r->inode) ? LISTING_KEEP : LISTING_BEGIN);
}

static void ask_digest(struct opendir_request *o)
{
	struct request *r = &o->r;
	struct broker_digest body = {.dir = request_broker_fh(&r->inode->fh),
		.cred = request_broker_cred(&r->call.cred),
		.key = {r->fs->listing_key.k0, r->fs->listing_key.k1}};

	r->operation.path = OPERATION_BY_SIDECAR;
	r->asked = attr_clock();
	o->state = known_state(r->inode);
	o->broker.done = on_digest;
	shortcut_digest(r->fs->shortcut, &o->broker, &body);
}

/*
 * The caller may read the directory. A listing that may be good is compared with the sidecar's answer, which also
 * begins the notices without which no listing is good, and without which the kernel may not believe the names that the
 * listing brings.
 */
static void opendir_allowed(struct opendir_request *o)
{
	struct fs *fs = o->r.fs;
	bool walks = shortcut_reason(fs->shortcut) == REASON_NONE && known_wants_no_acl(fs, o->r.inode);
	bool lacks = walks || (!fs_server_remembers(fs) && !known_has_notices(fs, o->r.inode));

	if (listing_needs_digest(fs, o->r.inode))
		ask_digest(o);
	else if (listing_is_good(fs, o->r.inode) || (lacks && listing_may_begin(fs)))
		request_send(&o->r, NFS_GETATTR, directory_looked_at);
	else
		reply_opendir(o, LISTING_BEGIN);
}

static void opendir_done(struct nfs_call *call)
{
	struct opendir_request *o = CONTAINER_OF(call, struct opendir_request, r.call);

	if (call->error < 0)
		request_end_error(&o->r, call->error);
	else if (!(call->res.access & NFS_ACCESS_READ))
		request_end_error(&o->r, -EACCES);
	else
		opendir_allowed(o);
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
	if (request_init(r, req, ino, NULL, NULL) < 0)
		return;
	if (ino == FUSE_ROOT_ID && (fi->flags & O_SYNC) == O_SYNC &&
		(fuse_req_ctx(req)->uid == r->fs->owner || fuse_req_ctx(req)->uid == 0)) {
		reply_opendir(o, LISTING_READ_PAST);
		return;
	}
	if (known_allowed(r->fs, r->inode, &r->call.cred, NFS_ACCESS_READ)) {
		opendir_allowed(o);
		return;
	}
	/* LOOKUP as well: a caller who lists a directory usually looks up its names next. */
	r->call.args.access.bits = NFS_ACCESS_READ | NFS_ACCESS_LOOKUP;
	request_send(r, NFS_ACCESS, opendir_done);
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
	request_init_open(&s->r, req, ino, &directory_of(fs, fi)->cred);
	body = (struct broker_sync_dir){.fh = request_broker_fh(&s->r.inode->fh),
		.cred = request_broker_cred(&s->r.call.cred)};
	s->r.operation.path = OPERATION_BY_SIDECAR;
	s->broker.done = on_directory_synced;
	probe_send(fs->probe, &s->broker, BROKER_SYNC_DIR, &body, sizeof(body));
}

/*
 * True if the kernel may know newer attributes: it has written to the file since, or got later attributes; or if the
 * server answers from memory, and the file was changed past it.
 */
static bool is_outdated(const struct readdir_request *q, const struct nfs_entry *e)
{
	struct fs *fs = q->r.fs;
	struct inode *i = inode_table_find(fs->inodes, &e->fh);
	bool outdated =
		i && (request_is_outdated(&q->r, i) || known_later(i, q->r.asked, q->dir->came_ms) ||
			     server_refresh_needed(fs, i) || (fs_server_remembers(fs) && known_newer(i, &e->attr)));

	(void)inode_unref(fs->inodes, i);
	return outdated || shortcut_is_behind(fs->shortcut, &e->fh, q->dir->asked);
}

/* Adds an entry to the buffer. Returns the entry's size, which is more than space if the entry does not fit. */
static size_t add_entry(struct readdir_request *q, char *buf, size_t space, const struct nfs_entry *e)
{
	struct request *r = &q->r;
	struct fuse_entry_param entry = {0};
	struct inode *i = NULL;
	size_t used;

	if (!q->plus) {
		struct stat st = {.st_ino = e->fileid, .st_mode = e->has_attr ? e->attr.mode : 0};

		return fuse_add_direntry(r->req, buf, space, e->name, &st, (off_t)e->cookie);
	}
	entry.attr.st_ino = e->fileid;
	/*
	 * An entry without a node id gives the kernel only the name. Special files get no node id, because each caller
	 * needs a LOOKUP (special_file.h).
	 */
	if (e->has_attr && e->fh.len > 0 && !is_dot(e->name) && !is_special_file(e->attr.mode) && !is_outdated(q, e) &&
		known_name_listed(r->fs, r->inode, q->dir->epoch, e->name, &e->fh, r->asked)) {
		r->entry_fh = e->fh;
		r->entry_attr = e->attr;
		r->listed = true;
		if (request_make_entry(r, e->name, &entry, &i) < 0)
			i = NULL;
	} else if (e->has_attr) {
		entry.attr.st_mode = e->attr.mode;
	}
	used = fuse_add_direntry_plus(r->req, buf, space, e->name, &entry, (off_t)e->cookie);
	if (i && used > space)
		inode_table_forget(r->fs->inodes, i, 1);
	(void)inode_unref(r->fs->inodes, i);
	return used;
}

/* Returns the index of the batch's entry at this offset, or count if the batch does not have the entry. */
static size_t batch_position(const struct directory *d, uint64_t offset)
{
	if (d->count == 0)
		return d->count;
	if (offset == d->first)
		return 0;
	for (size_t n = 0; n + 1 < d->count; n++)
		if (d->batch[n]->entry.cookie == offset)
			return n + 1;
	return d->count;
}

/* True if the kernel's listing has parts whose state the server's attributes do not prove. */
static bool is_summed(const struct readdir_request *q)
{
	return q->dir->fills && fs_server_remembers(q->r.fs);
}

/* Replies from the batch. False if the batch has no entries for the offset. The caller holds the directory's lock. */
static bool reply_from_batch(struct readdir_request *q)
{
	struct directory *d = q->dir;
	size_t n = q->plus && !d->plus && !d->plain ? d->count : batch_position(d, q->offset);
	bool at_end =
		d->eof && (d->count == 0 ? d->first == q->offset : d->batch[d->count - 1]->entry.cookie == q->offset);
	bool sums = is_summed(q);
	uint64_t at = q->offset;
	size_t used = 0;
	char *buf;

	if (n == d->count && !at_end)
		return false;
	q->r.asked = d->asked;
	if (d->fills)
		listing_part(q->r.inode, sums ? 0 : d->state);
	if (sums)
		listing_sum_part(&d->sum, at);
	buf = malloc(q->size);
	if (!buf) {
		request_end_error(&q->r, -ENOMEM);
		return true;
	}
	for (; n < d->count; n++) {
		const struct nfs_entry *e = &d->batch[n]->entry;
		size_t size = add_entry(q, buf + used, q->size - used, e);

		if (size > q->size - used)
			break;
		used += size;
		if (sums)
			listing_sum_entry(&d->sum, &q->r.fs->listing_key, at, e);
		at = e->cookie;
	}
	if (sums && used == 0 && at_end)
		listing_sum_end(&d->sum, q->r.inode, at);
	(void)fuse_reply_buf(q->r.req, buf, used);
	free(buf);
	request_end(&q->r);
	return true;
}

/*
 * True if the server's cookies form a circle. Brent's algorithm: remembers a cookie, and the next one after twice as
 * many batches. The batches follow each other without a seek, so if the remembered cookie comes again, the server has
 * led there.
 */
static bool goes_round(struct readdir_request *q, const struct nfs_call *call)
{
	struct directory *d = q->dir;
	size_t n = call->res.dir.count;

	if (q->offset == 0 || q->offset != d->last) {
		d->batches = 0;
		d->mark_after = 1;
	}
	for (size_t i = 0; i < n && d->batches > 0; i++)
		if (call->res.dir.entries[i].cookie == d->mark)
			return true;
	if (n == 0)
		return false;
	d->last = call->res.dir.entries[n - 1].cookie;
	if (++d->batches >= d->mark_after) {
		d->mark = d->last;
		d->mark_after *= 2;
	}
	return false;
}

static int take_batch(struct readdir_request *q, const struct nfs_call *call)
{
	struct directory *d = q->dir;

	drop_batch(d);
	if (goes_round(q, call))
		return -ELOOP;
	d->batch = calloc(call->res.dir.count + 1, sizeof(struct listed *));
	if (!d->batch)
		return -ENOMEM;
	for (size_t n = 0; n < call->res.dir.count; n++) {
		const struct nfs_entry *e = &call->res.dir.entries[n];
		size_t length = strlen(e->name) + 1;
		struct listed *l = malloc(sizeof(*l) + length);

		if (!l)
			return -ENOMEM;
		l->entry = *e;
		memcpy(l->name, e->name, length);
		l->entry.name = l->name;
		d->batch[d->count++] = l;
	}
	d->verf = call->res.dir.verf;
	if (!call->dir.has_after)
		d->state = 0;
	d->epoch = known_epoch(q->r.inode);
	d->asked = q->r.asked;
	d->came_ms = now_ms();
	d->first = q->offset;
	d->eof = call->res.dir.eof;
	d->plus = call->proc == NFS_READDIRPLUS;
	return 0;
}

/*
 * True for an error of READDIRPLUS that may come from one entry or from the procedure, so that READDIR, which needs
 * only the directory, may succeed. After a restart, NFS-Ganesha fails like this if it does not know the place of a
 * device or socket (GETATTR), for as long as it remembers that file. If the directory itself has the error, READDIR
 * fails, too.
 */
static bool may_list_plainly(int error)
{
	switch (error) {
	case -EACCES:
	case -EINVAL:
	case -EIO:
	case -ENODEV:
	case -ENXIO:
	case -EOPNOTSUPP:
	case -EPERM:
	case -EREMOTE:
		return true;
	default:
		return false;
	}
}

static void readdir_done(struct nfs_call *call)
{
	struct readdir_request *q = CONTAINER_OF(call, struct readdir_request, r.call);
	struct directory *d = q->dir;

	if (call->proc == NFS_READDIRPLUS && may_list_plainly(call->error)) {
		{
			LOCKED(&d->lock);
			d->plain = true;
		}
		request_send(&q->r, NFS_READDIR, readdir_done);
		return;
	}
	{
		int error = call->error;

		LOCKED(&d->lock);
		if (error == 0)
			error = take_batch(q, call);
		/* Without this error, a reply without entries before the end would be requested for ever. */
		if (error == 0 && d->count == 0 && !d->eof)
			error = -EIO;
		if (error < 0)
			request_end_error(&q->r, error);
		else if (!reply_from_batch(q))
			request_end_error(&q->r, -EIO);
	}
	unref_directory(d);
}

/* Starts the listing anew: rewinddir(3) must show new entries, with a new verifier. The caller holds the lock. */
static void restart(struct directory *d)
{
	drop_batch(d);
	d->plain = false;
}

/* Fills the call's arguments. The caller holds the directory's lock. */
static void fill_call(struct readdir_request *q)
{
	struct nfs_call *call = &q->r.call;

	call->args.dir.cookie = q->offset;
	call->args.dir.count = REPLY_BYTES;
	if (q->offset != 0)
		call->args.dir.verf = q->dir->verf;
	q->dir->state = known_state(q->r.inode);
}

static void read_directory(fuse_req_t req, fuse_ino_t ino, size_t size, off_t offset, struct fuse_file_info *fi,
	bool plus)
{
	struct readdir_request *q = calloc(1, sizeof(*q));
	struct directory *d = directory_of(fuse_req_userdata(req), fi);
	bool answered = false, plain;

	if (!q) {
		operation_refuse(req, ENOMEM);
		return;
	}
	request_init_open(&q->r, req, ino, &d->cred);
	q->dir = d;
	q->size = size;
	q->offset = (uint64_t)offset;
	q->plus = plus;
	(void)atomic_fetch_add(&d->refs, 1);
	{
		LOCKED(&d->lock);
		if (offset == 0)
			restart(d);
		else
			answered = reply_from_batch(q);
		if (!answered)
			fill_call(q);
		plain = d->plain;
	}
	if (answered)
		unref_directory(d);
	else
		request_send(&q->r, plus && !plain ? NFS_READDIRPLUS : NFS_READDIR, readdir_done);
}

static void op_readdir(fuse_req_t req, fuse_ino_t ino, size_t size, off_t offset, struct fuse_file_info *fi)
{
	read_directory(req, ino, size, offset, fi, false);
}

static void op_readdirplus(fuse_req_t req, fuse_ino_t ino, size_t size, off_t offset, struct fuse_file_info *fi)
{
	read_directory(req, ino, size, offset, fi, true);
}

void directory_set_operations(struct fuse_lowlevel_ops *ops)
{
	ops->opendir = op_opendir;
	ops->releasedir = op_releasedir;
	ops->fsyncdir = op_fsyncdir;
	ops->readdir = op_readdir;
	ops->readdirplus = op_readdirplus;
}
