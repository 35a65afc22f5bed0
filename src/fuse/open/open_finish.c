/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/clock.h"
#include "fuse/open/open_request.h"

#include "fuse/local/backing_ids.h"
#include "fuse/local/granted_file.h"
#include "fuse/local/idle_ids.h"
#include "fuse/names/silly_removal.h"
#include "fuse/shortcut/shortcut.h"

/* The open has failed, and is no longer on its way. */
static void opening_ends(struct open_request *o)
{
	if (o->counted && open_ends(o->r.fs, o->r.inode))
		silly_last_close(o->r.fs, o->r.inode);
	o->counted = false;
}

void open_end(struct open_request *o, int error)
{
	opening_ends(o);
	if (o->entry.ino != 0)
		inode_table_forget(o->r.fs->inodes, o->r.inode, 1);
	close_fdp(&o->given);
	(void)granted_file_unref(o->looker);
	file_free(o->r.fs, o->file);
	request_end_error(&o->r, error);
}

/* fs/nfs/dir.c nfs_open_permission_mask: execve needs only EXECUTE. */
int open_permission(const struct open_request *o, uint32_t access)
{
	int mode = o->fi.flags & O_ACCMODE;

	if (o->created)
		return 0;
	if (o->exec)
		return access & NFS_ACCESS_EXECUTE ? 0 : -EACCES;
	if (mode != O_WRONLY && !(access & NFS_ACCESS_READ))
		return -EACCES;
	if (mode != O_RDONLY &&
		(access & (NFS_ACCESS_MODIFY | NFS_ACCESS_EXTEND)) != (NFS_ACCESS_MODIFY | NFS_ACCESS_EXTEND))
		return -EACCES;
	return 0;
}

static int reply_open(struct open_request *o)
{
	request_count(&o->r);
	return o->create ? fuse_reply_create(o->r.req, &o->entry, &o->fi) : fuse_reply_open(o->r.req, &o->fi);
}

/*
 * True if the kernel may keep its cached pages. Close-to-open: the file's present attributes must be those that the
 * kernel was told last. With nocto the pages may also stay for a time without this check.
 */
static bool keeps_pages(const struct open_request *o)
{
	const struct attr_memory *m = &o->r.inode->attrs;

	if (m->errors != o->file->heard.by_close)
		return false;
	if (o->r.fs->options->nocto && attr_memory_pages_are_believed(m, now_ms()))
		return true;
	return o->has_version && attr_memory_pages_are_good(m, &o->r.call.attr);
}

/*
 * True if close(2) has work that only FLUSH can do, while the closing process waits: to make data stable, and to make
 * the server look at the file again, or to make the kernel ask for the times that a mapping has changed. With
 * commit=fsync data in the backing file stays as it is, and its losses are told by fsync(2) alone, as on a local
 * filesystem; no process waits for the server's look, which RELEASE begins, unless too many looks are due.
 */
static bool close_has_work(const struct open_request *o, enum open_path path)
{
	const struct fs *fs = o->r.fs;

	if (!o->file->write)
		return false;
	return path != OPEN_PATH_PASSTHROUGH || fs->options->commit != COMMIT_FSYNC || o->r.inode->mode.map_written ||
	       (fs_server_remembers(fs) && shortcut_is_full(fs->shortcut));
}

static void set_path(struct open_request *o, enum open_path path)
{
	struct inode *i = o->r.inode;
	bool registered = open_mode_is_registered(path);

	o->file->path = path;
	o->fi.fh = o->file->opened.number;
	o->fi.backing_id = registered ? i->mode.backing_id : 0;
	o->fi.direct_io = path != OPEN_PATH_CACHED && path != OPEN_PATH_PASSTHROUGH;
	o->fi.keep_cache = path == OPEN_PATH_CACHED && keeps_pages(o);
	/* FLUSH also releases locks, if the mount had any. */
	o->file->quiet = !close_has_work(o, path) && !o->r.fs->has_locked;
	o->fi.noflush = o->file->quiet;
	if (path == OPEN_PATH_CACHED)
		i->attrs.errors = o->file->heard.by_close;
	i->attrs.pages_are_old = path != OPEN_PATH_CACHED && (i->attrs.pages_are_old || registered);
}

struct granted_file *open_writer_gone(struct inode *i, const struct file *f)
{
	known_writer(i, -1);
	if (f->writes_locally && granted_file_serves(i->granted, f->session) && i->granted->writers > 0)
		i->granted->writers--;
	return i->known.writers == 0 ? granted_file_take_writer(i->granted) : NULL;
}

/* The kernel repeats the walk with revalidation, after ESTALE, and gets a new inode. */
void open_retire(struct fs *fs, struct inode *i)
{
	inode_table_retire(fs->inodes, i);
	known_retired(i);
	fs_invalidate_attributes(fs, i);
	fs->counters.opens_retired++;
}

/* Without the opener's groups, each WRITE that comes to the daemon would read those of the writer. */
static void take_credential(struct open_request *o, enum open_path path)
{
	if (o->file->write && path != OPEN_PATH_PASSTHROUGH)
		request_groups(&o->r);
	o->file->as = request_opened_as(&o->r);
}

/* Fills the open file for this path. The caller holds the inode's lock. */
static void fill_file(struct open_request *o, const struct open_offer *offer, enum open_path path)
{
	o->file->session = o->wish.generation;
	o->file->writes_locally = path != OPEN_PATH_PASSTHROUGH && offer->writes;
	o->file->root = o->wish.root;
	if (o->file->writes_locally)
		o->r.inode->granted->writers++;
}

/* The chosen path of an open, and how the open is counted there. */
struct chosen {
	enum open_path path;
	bool by_descriptor, shared;
};

/*
 * Adds step, 1 or -1, to the counters of opens on this path. Called before the reply, so that the opener sees the open
 * counted.
 */
static void count(struct open_request *o, const struct chosen *c, int step)
{
	struct fs_counters *counters = &o->r.fs->counters;
	uint_fast64_t one = (uint_fast64_t)(int64_t)step;

	o->r.fs->open_files += (size_t)(ssize_t)step;
	counters->opens[c->path] += one;
	counters->opens_uring += c->by_descriptor ? one : 0;
	counters->opens_shared += c->shared ? one : 0;
}

/*
 * Counts the open on its path, before the reply: from here on the file is open. Returns a backing id that the caller
 * must give up because no open needs it. The caller holds the inode's lock.
 */
static int take_path(struct open_request *o, const struct open_offer *offer, struct chosen *c)
{
	struct fs *fs = o->r.fs;
	struct inode *i = o->r.inode;
	int useless;

	if (o->file->write)
		known_writer(i, 1);
	/* A descriptor is either for direct or for buffered I/O: the first opener decides. */
	if (i->granted && open_mode_total(&i->mode) == 0)
		granted_file_set_direct(i->granted, o->wish.by_daemon && fs->options->odirect == ODIRECT_ANY);
	useless = open_mode_count(&i->mode, &o->wish, c->path);
	set_path(o, c->path);
	take_credential(o, c->path);
	fill_file(o, offer, c->path);
	c->by_descriptor = c->path != OPEN_PATH_PASSTHROUGH && (offer->writes || offer->reads);
	c->shared = o->beside_cached && !c->by_descriptor && !o->wish.by_daemon;
	count(o, c, 1);
	if (o->counted)
		open_becomes_file(fs, i);
	list_append(&i->opened, &o->file->opened.node);
	o->looker = granted_file_put_looker(i, o->looker);
	idle_ids_opens_changed(fs->idle, i);
	return useless;
}

/* The kernel has not taken the reply: takes back take_path(). */
static void leave_path(struct open_request *o, const struct chosen *c)
{
	struct fs *fs = o->r.fs;
	struct inode *i = o->r.inode;
	struct granted_file *unused = NULL;

	{
		LOCKED(&i->lock);
		list_remove(&o->file->opened.node);
		if (o->counted)
			open_becomes_none(fs, i);
		(void)open_mode_uncount(&i->mode, c->path);
		if (o->file->write)
			unused = open_writer_gone(i, o->file);
		idle_ids_opens_changed(fs->idle, i);
	}
	count(o, c, -1);
	(void)granted_file_unref(unused);
}

/*
 * The caller holds no lock: the opener may run before the reply's system call returns, and close the file, so that
 * RELEASE would wait for the lock. If the kernel takes the reply, the file is RELEASE's.
 */
static void reply_on_path(struct open_request *o, const struct chosen *c)
{
	int error = reply_open(o);

	o->r.req = NULL;
	if (error < 0) {
		leave_path(o, c);
		(void)inode_unref(o->r.fs->inodes, o->r.inode); /* the open file's */
		open_end(o, error);
		return;
	}
	o->looker = granted_file_unref(o->looker);
	request_end(&o->r);
}

/*
 * Makes the open remote if it may not be local any more: since the question to the sidecar a REVOKE has come, or a
 * WRITE was sent to the server. The caller holds the inode's lock.
 */
static struct open_offer look_again(struct open_request *o)
{
	struct open_offer offer = open_look(o->r.fs, o->r.inode, &o->wish, o->r.call.cred.uid);
	uint64_t session = o->wish.generation;

	o->beside_cached = session != 0 && offer.cached;
	if (session != offer.session || (offer.dirty && !offer.written)) {
		o->wish.generation = 0;
		offer.writes = false;
	}
	return offer;
}

/*
 * True if the open would be remote because the inode has lost the id or descriptor for which the sidecar was not asked:
 * it was idle for too long, or too many were idle.
 */
static bool lost_its_grant(const struct open_request *o, const struct open_offer *offer, int path)
{
	return o->wish.generation != 0 && o->wanted == 0 && o->reply.reason == REASON_NONE && path >= 0 &&
	       !open_mode_is_registered((enum open_path)path) && !offer->reads && !offer->writes &&
	       open_offer_wants(offer, o->r.fs, &o->wish) != 0;
}

void open_finish(struct open_request *o)
{
	struct fs *fs = o->r.fs;
	struct inode *i = o->r.inode;
	struct open_offer offer;
	struct chosen chosen;
	int path, useless;
	bool lost;

	o->file->inode = inode_ref(i);
	o->file->heard = write_log_open(&i->writes);
	{
		LOCKED(&i->lock);
		offer = look_again(o);
		path = open_mode_choose(&i->mode, &o->wish);
		useless = o->wish.granted_id;
		lost = lost_its_grant(o, &offer, path);
		chosen = (struct chosen){.path = (enum open_path)MAX(path, 0)};
		if (!lost && path >= 0)
			useless = take_path(o, &offer, &chosen);
	}
	backing_ids_close(fs->ids, useless);
	if (!lost && path >= 0) {
		reply_on_path(o, &chosen);
		return;
	}
	if (path < 0)
		open_retire(fs, i);
	(void)inode_unref(fs->inodes, i);
	if (lost)
		open_local(o);
	else
		open_end(o, path);
}
