/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * READDIR. The sidecar lists a directory whose names fit into one reply (BROKER_LIST); all others are the server's.
 *
 * A server that remembers (fs_server_remembers()) may list a directory as it was before a change past the
 * server (listing.h), so its listing is compared with the directory while the mount has a session: the daemon reads the
 * whole directory, if it has no more than GATHERED_MAX names, before the kernel gets the first of them, and asks the
 * sidecar for the digest. While both differ, the server looks at the directory, and the daemon reads again, up to
 * READINGS times. They differ also if the directory was changed between both questions.
 *
 * NFS-Ganesha answers READDIRPLUS with NFS3ERR_NOENT if a file is removed meanwhile past it (run), although RFC 1813
 * 3.3.17 has no such answer. To the C library, ENOENT of getdents(2) is the end of the directory, so it would hide
 * names. The daemon asks up to READINGS times, then by READDIR, and no caller gets ENOENT.
 */
#include "fuse/listings/directory.h"

#include <sys/stat.h>

#include "base/clock.h"
#include "base/text.h"
#include "fuse/local/server_refresh.h"
#include "fuse/request/entry.h"
#include "fuse/request/special_file.h"
#include "fuse/shortcut/shortcut.h"

#define REPLY_BYTES  65536 /* requested per READDIR */
#define GATHERED_MAX 1024
#define READINGS     4

struct readdir_request {
	struct request r;
	struct directory *dir;
	size_t size;
	uint64_t offset;
	bool plus;
	struct nfs_verf verf; /* to ask with at the offset */
	uint64_t state;       /* known_state() from before the last question */
	struct batch batch;   /* on its way to the directory */
	/* If the whole directory is compared with the sidecar's digest. */
	bool compares;
	unsigned readings;
	unsigned absent; /* how often the server has answered the question with NFS3ERR_NOENT */
	struct broker_call broker;
};

/* True if the server may answer from memory, and the file was changed past it. */
static bool is_remembered(const struct readdir_request *q, struct inode *i, const struct nfs_entry *e)
{
	struct fs *fs = q->r.fs;

	return (i && server_refresh_needed(fs, i)) || (i && fs_server_remembers(fs) && known_newer(i, &e->attr)) ||
	       shortcut_is_behind(fs->shortcut, &e->fh, q->dir->batch.asked);
}

/*
 * True if the kernel may know newer attributes: it has written to the file since, or got later attributes; or if the
 * server's are from before a change.
 */
static bool is_outdated(const struct readdir_request *q, const struct nfs_entry *e)
{
	struct inode *i = inode_table_find(q->r.fs->inodes, &e->fh);
	const struct batch *b = &q->dir->batch;
	bool outdated = (i && (request_is_outdated(&q->r, i) || known_later(i, q->r.asked, b->came_ms))) ||
			(!b->by_sidecar && is_remembered(q, i, e));

	(void)inode_unref(q->r.fs->inodes, i);
	return outdated;
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
		known_name_listed(r->fs, r->inode, q->dir->batch.epoch, e->name, &e->fh, r->asked)) {
		r->entry_fh = e->fh;
		r->entry_attr = e->attr;
		r->listed = true;
		if (request_make_entry(r, e->name, &entry, &i) < 0)
			i = NULL;
		else if (e->no_acl)
			known_no_file_acl(i, &e->attr, r->asked);
	} else if (e->has_attr) {
		entry.attr.st_mode = e->attr.mode;
	}
	used = fuse_add_direntry_plus(r->req, buf, space, e->name, &entry, (off_t)e->cookie);
	if (i && used > space)
		inode_table_forget(r->fs->inodes, i, 1);
	(void)inode_unref(r->fs->inodes, i);
	return used;
}

/* True if the batch is a part of the kernel's listing whose state the server's attributes do not prove. */
static bool is_summed(const struct readdir_request *q)
{
	return q->dir->fills && fs_server_remembers(q->r.fs) && !q->dir->batch.by_sidecar;
}

/* Replies from the directory's batch. False if it has no entries for the offset. The caller holds the lock. */
static bool reply_from_batch(struct readdir_request *q)
{
	struct directory *d = q->dir;
	const struct batch *b = &d->batch;
	size_t n = q->plus && !b->plus && !d->plain ? b->count : batch_position(b, q->offset);
	bool at_end = batch_ends_at(b, q->offset);
	bool sums = is_summed(q);
	uint64_t at = q->offset;
	size_t used = 0;
	char *buf;

	if (n == b->count && !at_end)
		return false;
	q->r.asked = b->asked;
	if (d->fills)
		listing_part(q->r.inode, sums ? 0 : b->state);
	if (sums)
		listing_sum_part(&d->sum, at);
	else
		d->sum.over = true; /* the sum lacks this part */
	buf = malloc(q->size);
	if (!buf) {
		request_end_error(&q->r, -ENOMEM);
		return true;
	}
	for (; n < b->count; n++) {
		const struct nfs_entry *e = batch_entry(b, n);
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
	request_count(&q->r);
	(void)fuse_reply_buf(q->r.req, buf, used);
	free(buf);
	request_end(&q->r);
	return true;
}

/* ---- the server's replies ---- */

static void end_error(struct readdir_request *q, int error)
{
	struct directory *d = q->dir;

	batch_drop(&q->batch);
	request_end_error(&q->r, error);
	directory_unref(d);
}

/* The request's batch becomes the directory's. */
static void answer(struct readdir_request *q)
{
	struct directory *d = q->dir;

	{
		LOCKED(&d->lock);
		batch_drop(&d->batch);
		d->batch = q->batch;
		d->verf = q->batch.verf;
		if (!reply_from_batch(q))
			request_end_error(&q->r, -EIO);
	}
	directory_unref(d);
}

static void ask_server(struct readdir_request *q, enum nfs_proc proc);

static enum nfs_proc procedure(struct readdir_request *q)
{
	struct directory *d = q->dir;

	LOCKED(&d->lock);
	return q->plus && !d->plain ? NFS_READDIRPLUS : NFS_READDIR;
}

static void on_digest(struct broker_call *call, int error, const void *body)
{
	struct readdir_request *q = CONTAINER_OF(call, struct readdir_request, broker);
	struct directory *d = q->dir;
	const struct broker_digested *reply = body;
	uint64_t digest;

	if (!directory_digest_told(&q->r, error, reply)) {
		answer(q);
		return;
	}
	digest = batch_digest(&q->batch, &q->r.fs->listing_key);
	if (reply->digest != digest && ++q->readings < READINGS) {
		q->r.fs->counters.listings_repeated++;
		shortcut_found_other(q->r.fs->shortcut, &q->r.inode->fh);
		batch_drop(&q->batch);
		ask_server(q, procedure(q));
		return;
	}
	if (reply->digest == digest && reply->watched != 0) {
		LOCKED(&d->lock);
		listing_sum_proved(&d->sum, digest, q->state);
	}
	answer(q);
}

/* Adds the reply to the request's batch. */
static int take_reply(struct readdir_request *q, const struct nfs_call *call)
{
	struct directory *d = q->dir;
	struct batch *b = &q->batch;
	int error;

	{
		LOCKED(&d->lock);
		if (circle_closes(&d->circle, call))
			return -ELOOP;
	}
	if (b->count == 0) {
		b->first = q->offset;
		b->state = call->dir.has_after && (call->watched || !call->by_sidecar) ? q->state : 0;
		b->by_sidecar = call->by_sidecar;
		b->epoch = known_epoch(q->r.inode);
		b->asked = q->r.asked;
		b->came_ms = now_ms();
		b->plus = call->proc == NFS_READDIRPLUS;
	}
	q->absent = 0;
	error = batch_add(b, call);
	/* Without this error, a reply without entries before the end would be requested for ever. */
	return error == 0 && call->res.dir.count == 0 && !b->eof ? -EIO : error;
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
	case -ENOENT:
	case -ENXIO:
	case -EOPNOTSUPP:
	case -EPERM:
	case -EREMOTE:
		return true;
	default:
		return false;
	}
}

/* Asks once more, perhaps in another way, if the error is not the directory's. False if there is no way left. */
static bool asks_once_more(struct readdir_request *q, const struct nfs_call *call)
{
	if (call->error == -ENOENT && ++q->absent < READINGS) {
		ask_server(q, call->proc);
		return true;
	}
	if (call->proc != NFS_READDIRPLUS || !may_list_plainly(call->error) || q->batch.count > 0)
		return false;
	{
		LOCKED(&q->dir->lock);
		q->dir->plain = true;
	}
	q->absent = 0;
	ask_server(q, NFS_READDIR);
	return true;
}

static void readdir_done(struct nfs_call *call)
{
	struct readdir_request *q = CONTAINER_OF(call, struct readdir_request, r.call);
	bool more = q->batch.count > 0;
	int error = call->error;

	if (error < 0 && asks_once_more(q, call))
		return;
	if (error == 0)
		error = take_reply(q, call);
	if (error < 0 && !more) {
		end_error(q, error == -ENOENT ? -EIO : error);
	} else if (error < 0 || !q->compares || q->batch.by_sidecar) {
		answer(q); /* the kernel asks for the rest, and gets the error */
	} else if (q->batch.eof) {
		q->state = known_state(q->r.inode);
		q->broker.done = on_digest;
		directory_ask_digest(&q->r, &q->broker);
	} else if (q->batch.count < GATHERED_MAX) {
		ask_server(q, call->proc);
	} else {
		answer(q);
	}
}

/* Asks for what follows the request's batch. */
static void ask_server(struct readdir_request *q, enum nfs_proc proc)
{
	struct nfs_call *call = &q->r.call;

	call->args.dir.cookie = q->batch.count > 0 ? batch_end(&q->batch) : q->offset;
	call->args.dir.verf = q->batch.count > 0 ? q->batch.verf : q->verf;
	call->args.dir.count = REPLY_BYTES;
	q->state = known_state(q->r.inode);
	request_groups(&q->r);
	request_send(&q->r, proc, readdir_done);
}

/* Starts the listing anew: rewinddir(3) must show new entries, with a new verifier. The caller holds the lock. */
static void restart(struct directory *d)
{
	batch_drop(&d->batch);
	d->plain = false;
}

static void read_directory(fuse_req_t req, fuse_ino_t ino, size_t size, off_t offset, struct fuse_file_info *fi,
	bool plus)
{
	struct readdir_request *q = calloc(1, sizeof(*q));
	struct directory *d = directory_of(fuse_req_userdata(req), fi);
	bool answered = false;

	if (!q) {
		operation_refuse(req, ENOMEM);
		return;
	}
	request_init_open(&q->r, req, ino, &d->as);
	q->dir = d;
	q->size = size;
	q->offset = (uint64_t)offset;
	q->plus = plus;
	q->compares = offset == 0 && fs_server_remembers(q->r.fs) && fs_generation(q->r.fs) != 0;
	(void)atomic_fetch_add(&d->refs, 1);
	{
		LOCKED(&d->lock);
		if (offset != 0 || (d->ready && batch_holds(q->r.fs, d->inode, &d->batch))) {
			q->verf = d->verf;
			answered = reply_from_batch(q);
		}
		if (offset == 0 && !answered)
			restart(d);
		d->ready = false;
	}
	if (answered)
		directory_unref(d);
	else
		ask_server(q, procedure(q));
}

static void op_readdir(fuse_req_t req, fuse_ino_t ino, size_t size, off_t offset, struct fuse_file_info *fi)
{
	read_directory(req, ino, size, offset, fi, false);
}

static void op_readdirplus(fuse_req_t req, fuse_ino_t ino, size_t size, off_t offset, struct fuse_file_info *fi)
{
	read_directory(req, ino, size, offset, fi, true);
}

void readdir_set_operations(struct fuse_lowlevel_ops *ops)
{
	ops->readdir = op_readdir;
	ops->readdirplus = op_readdirplus;
}
