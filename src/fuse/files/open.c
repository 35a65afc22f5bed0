/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * open, create, release: who may, and which path the bytes will take.
 *
 * May it succeed? What NFSv3 ACCESS says for the opener's credential, told by the sidecar while the
 * mount is local and by the server otherwise. Which path? The inode's open_mode knows; choosing,
 * counting and replying happen under the inode's lock.
 */
#include "fuse/files/handlers.h"
#include "fuse/request/request.h"

#include <fcntl.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>

#include "fuse/fs/open_hold.h"
#include "fuse/local/backing_ids.h"
#include "fuse/locks/locks.h"
#include "fuse/acl/default_acl.h"
#include "fuse/fs/file.h"
#include "fuse/local/granted_file.h"
#include "fuse/local/server_refresh.h"
#include "fuse/names/silly_removal.h"
#include "base/log.h"
#include "fuse/request/convert.h"
#include "fuse/request/entry.h"

#define FMODE_EXEC_FLAG 0x20 /* __FMODE_EXEC: execve opens; the kernel passes it in OPEN's flags */

struct open_request {
	struct request r;
	struct broker_call broker;
	struct stable_wait wait;
	struct fuse_file_info fi;
	struct fuse_entry_param entry; /* CREATE */
	struct file *file;
	bool create;  /* the request is CREATE, answered with entry and open */
	bool created; /* this very open made the file: it may be opened whatever its mode */
	bool exclusive;
	bool exec;
	bool has_groups;  /* the credential is whole */
	bool has_version; /* ACCESS came with the attributes of now */
	bool wanted_id;
	struct open_wish wish;
	void (*then)(struct open_request *o); /* after check_name() */
	struct nfs_fh dir;                    /* which it asks about */
	struct broker_open_reply reply;       /* the sidecar's to the open */
	int given;                            /* the descriptor that came with it, or -1 */
	struct open_hold hold;
	bool counted; /* open_begins() */
};

static struct open_request *from_call(struct nfs_call *call)
{
	return CONTAINER_OF(call, struct open_request, r.call);
}

/* The inode is open now, or the open has failed. */
static void opening_ends(struct open_request *o)
{
	if (o->counted && open_ends(o->r.fs, o->r.inode))
		silly_last_close(o->r.fs, o->r.inode);
	o->counted = false;
}

/* Takes back what a CREATE counted, and ends the request. */
static void end_open(struct open_request *o, int error)
{
	opening_ends(o);
	if (o->entry.ino != 0)
		inode_table_forget(o->r.fs->inodes, o->r.inode, 1);
	close_fdp(&o->given);
	free(o->file);
	request_end_error(&o->r, error);
}

/* ACCESS bits to errno; fs/nfs/dir.c nfs_open_permission_mask: an exec open asks only for that. */
static int permission(const struct open_request *o, uint32_t access)
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
	return o->create ? fuse_reply_create(o->r.req, &o->entry, &o->fi) : fuse_reply_open(o->r.req, &o->fi);
}

/* Close-to-open: pages stay when the server says now what the kernel was told last. With nocto also for a time. */
static bool keeps_pages(const struct open_request *o)
{
	const struct attr_memory *m = &o->r.inode->attrs;

	if (m->errors != o->file->heard.by_close)
		return false;
	if (o->r.fs->options->nocto && attr_memory_pages_are_believed(m, now_ms()))
		return true;
	return o->has_version && attr_memory_pages_are_good(m, &o->r.call.attr);
}

static void set_path(struct open_request *o, enum open_path path)
{
	struct inode *i = o->r.inode;
	bool registered = open_mode_is_registered(path);

	o->file->path = path;
	o->fi.fh = (uintptr_t)o->file;
	o->fi.backing_id = registered ? i->mode.backing_id : 0;
	o->fi.direct_io = path != OPEN_PATH_CACHED && path != OPEN_PATH_PASSTHROUGH;
	o->fi.keep_cache = path == OPEN_PATH_CACHED && keeps_pages(o);
	/* A reader has nothing to make stable, and FLUSH is how the daemon learns that locks end. */
	o->file->quiet = !o->file->write && !o->r.fs->has_locked;
	o->fi.noflush = o->file->quiet;
	if (path == OPEN_PATH_CACHED)
		i->attrs.errors = o->file->heard.by_close;
	i->attrs.pages_are_old = path != OPEN_PATH_CACHED && (i->attrs.pages_are_old || registered);
}

/* With the inode's lock: an id or a descriptor without open files waits for the next open. */
static void mode_changed(struct fs *fs, struct inode *i)
{
	if ((i->mode.backing_id > 0 && open_mode_registered(&i->mode) == 0) ||
		(i->granted && open_mode_total(&i->mode) == 0))
		backing_ids_idle(fs->ids, i);
	else
		backing_ids_busy(fs->ids, i);
}

/* Whether writes of this open may be sent to the backing file, when there is a descriptor for that. */
static bool may_write_here(const struct open_request *o)
{
	return o->wish.write && o->wish.generation != 0 && o->r.fs->uring && probe_is_trusted(o->r.fs->probe);
}

/* With the inode's lock: whether there is one. */
static bool writes_by_descriptor(const struct open_request *o)
{
	return may_write_here(o) && granted_file_writes(o->r.inode->granted, o->wish.generation);
}

/* With the inode's lock: whether the daemon has what it needs to read the file locally. */
static bool reads_by_descriptor(const struct open_request *o)
{
	return o->wish.read && granted_file_serves(o->r.inode->granted, fs_generation(o->r.fs));
}

/* With the inode's lock: whether it has all that it may have to serve this open by. */
static bool has_descriptor(const struct open_request *o)
{
	return may_write_here(o) ? writes_by_descriptor(o) : reads_by_descriptor(o);
}

/* With the inode's lock: who had the file open for writing has not any more. What is to be given up, or NULL. */
static struct granted_file *writer_gone(struct inode *i, const struct file *f)
{
	known_writer(i, -1);
	if (f->here && granted_file_serves(i->granted, f->session) && i->granted->writers > 0)
		i->granted->writers--;
	return i->known.writers == 0 ? granted_file_take_writer(i->granted) : NULL;
}

/*
 * With the inode's lock: whether the file is written locally already, so that nothing is kept for resending. Where
 * there is a cached open the kernel gets no id, which would pass what is gathered for the backing file.
 */
static bool is_written_already(const struct inode *i, uint64_t session)
{
	return open_mode_registered(&i->mode) > 0 ||
	       (granted_file_writes(i->granted, session) && i->granted->writers > 0 && open_mode_cached(&i->mode));
}

static void free_file(struct opened *o)
{
	free(CONTAINER_OF(o, struct file, opened));
}

/* The walk is repeated with revalidation and finds a fresh inode. */
static void retire(struct fs *fs, struct inode *i)
{
	inode_table_retire(fs->inodes, i);
	known_retired(i);
	fs_invalidate_attributes(fs, i);
	fs->counters.opens_retired++;
}

/* The decision is made: chooses, counts and replies as one step. */
static void finish_open(struct open_request *o)
{
	struct fs *fs = o->r.fs;
	struct inode *i = o->r.inode;
	struct granted_file *unused = NULL;
	int path, useless, sent = 0;
	bool shared, by_descriptor;

	o->file->inode = inode_ref(i);
	o->file->cred = o->r.call.cred;
	o->file->has_groups = o->has_groups;
	o->file->heard = write_log_open(&i->writes);
	{
		LOCKED(&i->lock);
		shared = o->wish.generation != 0 && open_mode_cached(&i->mode);
		/* A WRITE that started since, or a REVOKE: this open cannot be the first local one. */
		if (o->wish.generation != 0 &&
			(o->wish.generation != probe_generation(fs->probe) ||
				(!is_written_already(i, o->wish.generation) && write_log_dirty(&i->writes))))
			o->wish.generation = 0;
		path = open_mode_choose(&i->mode, &o->wish);
		useless = o->wish.granted_id;
		if (path >= 0) {
			fs->open_files++;
			if (o->file->write)
				known_writer(i, 1);
			/* One descriptor has one way: that of who opens the file first. */
			if (i->granted && open_mode_total(&i->mode) == 0)
				granted_file_set_direct(i->granted,
					o->wish.by_daemon && fs->options->odirect == ODIRECT_ANY);
			useless = open_mode_count(&i->mode, &o->wish, (enum open_path)path);
			set_path(o, (enum open_path)path);
			o->file->session = o->wish.generation;
			o->file->here = path != OPEN_PATH_PASSTHROUGH && writes_by_descriptor(o);
			o->file->root = o->wish.root;
			if (o->file->here)
				i->granted->writers++;
			by_descriptor = o->file->here || (path != OPEN_PATH_PASSTHROUGH && reads_by_descriptor(o));
			shared = shared && !by_descriptor && !o->wish.by_daemon;
			fs->counters.opens[path]++; /* before the opener can look */
			fs->counters.opens_uring += by_descriptor;
			fs->counters.opens_shared += shared;
			sent = reply_open(o);
			o->r.req = NULL;
			if (sent == 0) {
				o->file->opened.free = free_file;
				list_append(&i->opened, &o->file->opened.node);
			} else {
				fs->counters.opens[path]--;
				fs->counters.opens_uring -= by_descriptor;
				fs->counters.opens_shared -= shared;
				(void)open_mode_uncount(&i->mode, (enum open_path)path);
				if (o->file->write)
					unused = writer_gone(i, o->file);
				fs->open_files--;
			}
			mode_changed(fs, i);
		}
	}
	(void)granted_file_unref(unused);
	backing_ids_close(fs->ids, useless);
	if (path >= 0 && sent == 0) {
		o->file = NULL; /* RELEASE frees it */
		o->entry.ino = 0;
		opening_ends(o);
		request_end(&o->r);
		return;
	}
	if (path < 0)
		retire(fs, i);
	(void)inode_unref(fs->inodes, i);
	end_open(o, path < 0 ? path : sent);
}

/* With nocto what is known is not looked at again. */
static bool believes(const struct open_request *o)
{
	return o->r.fs->options->nocto && known_believed(o->r.fs, o->r.inode) && o->r.call.attr.nlink > 0;
}

static void take_back_attributes(struct fs *fs, struct inode *i, uint64_t tellings)
{
	if (fs_invalidate_attributes(fs, i) == 0)
		known_attributes_taken_back(i, tellings);
}

/*
 * Close-to-open: when the file is not any more what the kernel was told, that asks for size and times
 * before it shows them next. The attributes of now are in the call.
 */
static void know_version(struct open_request *o)
{
	struct inode *i = o->r.inode;
	uint64_t tellings;

	o->has_version = true;
	if (believes(o) || !known_kernel_may_differ(i, &o->r.call.attr, &tellings))
		return;
	known_doubt(i);
	take_back_attributes(o->r.fs, i, tellings);
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
		know_version(o);
	o->then(o);
}

static void server_has_looked(struct nfs_call *call)
{
	struct open_request *o = from_call(call);

	o->r.fs->counters.refreshes++;
	end_open(o, -ESTALE);
}

/* COMMIT makes it look. Of the file, too: with its old ctime the name would be in doubt again at the next open. */
static void make_server_look(struct open_request *o, const struct nfs_fh *fh, void (*done)(struct nfs_call *call))
{
	o->r.call.fh = *fh;
	o->r.call.args.io.offset = 0;
	o->r.call.args.io.count = 0;
	request_send(&o->r, NFS_COMMIT, done);
}

static void server_has_looked_at_names(struct nfs_call *call)
{
	struct open_request *o = from_call(call);

	o->r.fs->counters.refreshes++;
	make_server_look(o, &o->r.inode->fh, server_has_looked);
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
static void name_lost(struct open_request *o)
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
		retire(fs, o->r.inode);
	backing_ids_close(fs->ids, o->reply.backing_id);
	if (o->wish.generation == 0 || o->dir.len == 0 || !fs_server_remembers(fs)) {
		end_open(o, -ESTALE);
		return;
	}
	if (!o->has_groups)
		request_groups(&o->r);
	make_server_look(o, &o->dir, server_has_looked_at_names);
}

static void name_holds(struct open_request *o)
{
	(void)has_walked_again(o);
	go_on(o);
}

static void directory_seen(struct broker_call *call, int error, const void *body)
{
	struct open_request *o = CONTAINER_OF(call, struct open_request, broker);
	const struct broker_open_reply *reply = body;
	struct nfs_attr dir;

	if (error < 0 || reply->error < 0) {
		name_lost(o);
		return;
	}
	request_attr_of_broker(&o->r, &reply->attr, &dir);
	if (known_directory_is(o->r.fs, o->r.inode, &o->dir, &dir, &o->r.call.attr.ctime))
		name_holds(o);
	else
		name_lost(o);
}

static void ask_attributes(struct open_request *o, const struct nfs_fh *fh,
	void (*done)(struct broker_call *call, int error, const void *body))
{
	struct broker_open body = {.fh = request_broker_fh(fh), .flags = BROKER_OPEN_ATTR};

	o->broker.done = done;
	probe_send(o->r.fs->probe, &o->broker, BROKER_OPEN, &body, sizeof(body));
}

/* The sidecar has said what the file is like: goes on with then() if the name that led to it still does (named.h). */
static void check_name(struct open_request *o, void (*then)(struct open_request *o))
{
	o->then = then;
	switch (o->create || believes(o) ? NAMED_HOLDS
					 : known_judge_name(o->r.fs, o->r.inode, &o->r.call.attr, &o->dir)) {
	case NAMED_HOLDS:
		name_holds(o);
		break;
	case NAMED_ASK_DIRECTORY:
		ask_attributes(o, &o->dir, directory_seen);
		break;
	case NAMED_LOST:
		name_lost(o);
		break;
	}
}

static void access_known(struct open_request *o)
{
	int error = permission(o, o->r.call.res.access);

	if (error < 0)
		end_open(o, error);
	else
		finish_open(o);
}

static void access_done(struct nfs_call *call)
{
	struct open_request *o = from_call(call);

	if (call->error < 0) {
		end_open(o, call->error);
		return;
	}
	o->then = access_known;
	if (call->has_attr)
		know_version(o);
	if (call->has_attr && call->attr.nlink == 0)
		name_lost(o);
	else
		name_holds(o);
}

static void ask_for_access(void *arg)
{
	struct open_request *o = arg;

	o->r.call.fh = o->r.inode->fh;
	o->r.call.args.access.bits = NFS_ACCESS_READ | NFS_ACCESS_MODIFY | NFS_ACCESS_EXTEND | NFS_ACCESS_EXECUTE;
	request_send(&o->r, NFS_ACCESS, access_done);
}

static void open_remote(struct open_request *o)
{
	o->wish.generation = 0;
	o->wish.granted_id = 0;
	if (o->created) {
		finish_open(o);
		return;
	}
	server_refresh_then(o->r.fs, o->r.inode, &o->r.call.cred, request_patience(&o->r), ask_for_access, o);
}

static void take_descriptor(struct open_request *o)
{
	const struct broker_open_reply *reply = &o->reply;
	struct inode *i = o->r.inode;
	struct granted_file *old, *g = granted_file_new(o->r.fs, steal_fd(&o->given), reply->writable != 0,
					  reply->backing_id, o->wish.generation);

	if (g) {
		g->instead = o->wanted_id;
		g->root = reply->root != 0;
	}
	{
		LOCKED(&i->lock);
		if (g && g->writer && granted_file_writes(i->granted, g->generation))
			g->writers = i->granted->writers;
		if (open_mode_total(&i->mode) > 0)
			granted_file_take_error(i->granted, i);
		old = backing_ids_set_granted(o->r.fs->ids, i, g);
	}
	(void)granted_file_unref(old);
}

/* By the name that was found the open is for this file: may it be opened? */
static void use_grant(struct open_request *o)
{
	const struct broker_open_reply *reply = &o->reply;
	struct fs *fs = o->r.fs;
	int error = permission(o, reply->access);

	if (error < 0) {
		backing_ids_close(fs->ids, reply->backing_id);
		end_open(o, error);
		return;
	}
	if (reply->reason != REASON_NONE) {
		fs->counters.last_denial = reply->reason;
		fs->counters.grants_denied++;
	}
	/* An id that was there before the bits were is no good any more. */
	if (reply->reason == REASON_SET_ID)
		o->wish.generation = 0;
	if (reply->backing_id < 0 && o->given < 0) /* the kernel had no room for it */
		backing_ids_close(fs->ids, reply->backing_id);
	else if (reply->backing_id < 0)
		take_descriptor(o);
	o->wish.granted_id = MAX(reply->backing_id, 0);
	o->wish.granted_writable = reply->backing_id > 0 && reply->writable;
	o->wish.root = reply->root;
	finish_open(o);
}

static void granted(struct broker_call *call, int error, const void *body)
{
	struct open_request *o = CONTAINER_OF(call, struct open_request, broker);
	const struct broker_open_reply *reply = body;
	struct fs *fs = o->r.fs;

	if (error < 0) {
		open_remote(o);
		return;
	}
	if (reply->backing_id != 0)
		backing_ids_registered(fs->ids);
	if (reply->error == 0 &&
		(reply->attr.fileid != o->r.inode->fileid || (reply->attr.mode & S_IFMT) != o->r.inode->type)) {
		log_warning("the sidecar has another file than the server under a handle of %s", fs->spec);
		backing_ids_close(fs->ids, reply->backing_id);
		fs->counters.last_denial = REASON_WRONG_EXPORT;
		fs->counters.grants_denied++;
		open_remote(o);
		return;
	}
	/* What the sidecar cannot decide, the server does. */
	if (reply->error < 0) {
		fs->counters.last_denial = reply->reason;
		fs->counters.grants_denied++;
		open_remote(o);
		return;
	}
	request_attr_of_broker(&o->r, &reply->attr, &o->r.call.attr);
	/* Before a new version makes doubtful what was asked for until now: of who may, this is the answer. */
	if (reply->reason != REASON_SET_ID)
		known_opener(fs, o->r.inode, &o->r.call.cred,
			&(struct opener){.access = reply->access,
				.root = reply->root,
				.any_groups = reply->any_groups,
				.session = o->wish.generation},
			o->r.asked);
	know_version(o);
	o->reply = *reply;
	o->given = steal_fd(call->fd);
	check_name(o, use_grant);
}

/* With the inode's lock: whether a fresh id could be of use to this open. */
static bool wants_id(const struct open_request *o)
{
	const struct open_mode *m = &o->r.inode->mode;

	return open_mode_registered(m) == 0 &&
	       (!open_mode_has_id_of(m, o->wish.generation) ||
		       (o->wish.write && (!m->writable || m->root != (o->r.call.cred.uid == 0))));
}

/*
 * With the inode's lock: what to ask the sidecar for. A descriptor only where the kernel cannot be given an id,
 * or will not take it.
 */
static uint32_t wanted(const struct open_request *o)
{
	const struct fs *fs = o->r.fs;
	const struct inode *i = o->r.inode;
	bool served = has_descriptor(o);
	bool passes = fs->passthrough && !(served && i->granted->instead) && !o->wish.by_daemon &&
		      !open_mode_cached(&i->mode);
	uint32_t flags = 0;

	if (passes && wants_id(o))
		flags |= BROKER_OPEN_WANT_ID;
	if (fs->uring && (o->wish.read || may_write_here(o)) && !served && (flags != 0 || !passes) &&
		backing_ids_may_have_descriptor(fs->ids))
		flags |= BROKER_OPEN_WANT_FD | (may_write_here(o) ? BROKER_OPEN_WANT_WRITE : 0);
	return flags;
}

/* What the kernel knows of the file's size and times may be old, as nobody has looked at them. */
static void forget_version(const struct open_request *o)
{
	uint64_t tellings;

	if (known_attributes_expire(o->r.inode, &tellings))
		take_back_attributes(o->r.fs, o->r.inode, tellings);
}

/*
 * True if the sidecar has told this credential not long ago that it may, and the id or the descriptor is there. For
 * reading nobody needs to know, then, who the caller's groups are, when they do not matter.
 */
static bool is_hot(struct open_request *o)
{
	struct inode *i = o->r.inode;
	struct opener known;

	if (!known_may_open(o->r.fs, i, &o->r.call.cred, o->has_groups, &known) ||
		known.session != o->wish.generation || permission(o, known.access) < 0)
		return false;
	LOCKED(&i->lock);
	o->wish.root = known.root;
	return open_mode_choose(&i->mode, &o->wish) == OPEN_PATH_PASSTHROUGH || (wanted(o) == 0 && has_descriptor(o));
}

static void ask_sidecar(struct open_request *o)
{
	struct inode *i = o->r.inode;
	struct broker_open body = {.fh = request_broker_fh(&i->fh)};

	if (!o->has_groups) {
		request_groups(&o->r);
		o->has_groups = true;
	}
	body.cred = request_broker_cred(&o->r.call.cred);
	{
		LOCKED(&i->lock);
		body.flags = wanted(o);
		o->wanted_id = body.flags & BROKER_OPEN_WANT_ID;
	}
	o->r.asked = attr_clock();
	o->broker.done = granted;
	probe_send(o->r.fs->probe, &o->broker, BROKER_OPEN, &body, sizeof(body));
}

static void finish_hot(struct open_request *o)
{
	o->r.fs->counters.opens_hot++;
	finish_open(o);
}

/* Meanwhile the id may have been closed, or somebody may have taken the right away. */
static void hot_seen(struct broker_call *call, int error, const void *body)
{
	struct open_request *o = CONTAINER_OF(call, struct open_request, broker);
	const struct broker_open_reply *reply = body;

	if (error < 0 || reply->error < 0 || reply->attr.fileid != o->r.inode->fileid || !is_hot(o)) {
		ask_sidecar(o);
		return;
	}
	request_attr_of_broker(&o->r, &reply->attr, &o->r.call.attr);
	know_version(o);
	check_name(o, finish_hot);
}

/*
 * Nobody is asked for a grant. Close-to-open demands a look at the file itself: by the descriptor, or at the sidecar.
 * Not with nocto, where what the kernel knows of size and times is only not believed any more.
 */
static bool open_hot(struct open_request *o)
{
	struct fs *fs = o->r.fs;
	struct inode *i = o->r.inode;
	struct granted_file *granted;
	bool seen;

	if (!is_hot(o))
		return false;
	granted = granted_file_of(fs, i);
	seen = granted && granted_file_attributes(granted, &o->r.call.attr) == 0;
	(void)granted_file_unref(granted);
	if (seen) {
		know_version(o);
		check_name(o, finish_hot);
	} else if (fs->options->nocto) {
		forget_version(o);
		finish_hot(o);
	} else {
		ask_attributes(o, &i->fh, hot_seen);
	}
	return true;
}

static void open_local(struct open_request *o)
{
	if (!open_hot(o))
		ask_sidecar(o);
}

static void open_committed(struct stable_wait *w, int error)
{
	struct open_request *o = CONTAINER_OF(w, struct open_request, wait);

	if (error == -EINTR) {
		end_open(o, error);
		return;
	}
	/* Data that cannot be made stable must not be overtaken by local writes. */
	if (error < 0)
		open_remote(o);
	else
		open_local(o);
}

/*
 * What the kernel writes to a backing file by itself is not stable by then, as sync wants it; but others see it at
 * once, as noac wants it, unless the server answers from memory.
 */
static bool must_be_seen(const struct fs *fs)
{
	return fs->options->sync || (fs->options->noac && fs_server_remembers(fs));
}

/* Nobody takes the name from the inode: opens it. */
static void start_counted(struct open_request *o)
{
	struct fs *fs = o->r.fs;
	struct inode *i = o->r.inode;
	bool local, dirty;

	o->file = calloc(1, sizeof(*o->file));
	if (!o->file) {
		end_open(o, -ENOMEM);
		return;
	}
	o->file->write = (o->fi.flags & O_ACCMODE) != O_RDONLY;
	o->file->append = o->file->write && (o->fi.flags & O_APPEND);
	o->exec = o->fi.flags & FMODE_EXEC_FLAG;
	o->wish.read = (o->fi.flags & O_ACCMODE) != O_WRONLY;
	o->wish.write = o->file->write;
	o->wish.append = o->file->append;
	o->wish.by_daemon = (o->fi.flags & O_DIRECT) && fs->options->odirect != ODIRECT_THROUGH;
	o->wish.generation = o->file->write && must_be_seen(fs) ? 0 : fs_generation(fs);
	local = o->wish.generation != 0 && S_ISREG(i->type);
	/* Before an open is answered as local, every WRITE of the file is answered and stable. */
	dirty = write_log_dirty(&i->writes);
	if (!o->has_groups) {
		if (local && !dirty && !o->wish.write && open_hot(o))
			return;
		request_groups(&o->r);
		o->has_groups = true;
	}
	if (!local) {
		open_remote(o);
		return;
	}
	if (dirty) {
		o->wait.done = open_committed;
		o->wait.patience = request_patience(&o->r);
		write_behind_commit(fs, i, &o->r.call.cred, &o->wait);
		return;
	}
	open_local(o);
}

static void start_held(struct open_hold *h, int error)
{
	struct open_request *o = CONTAINER_OF(h, struct open_request, hold);

	if (error < 0)
		end_open(o, error);
	else
		start_counted(o);
}

static bool held_given_up(struct open_hold *h)
{
	return request_given_up(&CONTAINER_OF(h, struct open_request, hold)->r);
}

/* The inode is known. */
static void start_open(struct open_request *o)
{
	o->hold.go_on = start_held;
	o->hold.given_up = held_given_up;
	o->counted = true;
	if (open_begins(o->r.fs, o->r.inode, &o->hold))
		start_counted(o);
}

static struct open_request *open_request_new(fuse_req_t req, const struct fuse_file_info *fi)
{
	struct open_request *o = calloc(1, sizeof(*o));

	if (!o) {
		(void)fuse_reply_err(req, ENOMEM);
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
	start_open(o);
}

/* The file that was created or found: its inode takes the directory's place in the request. */
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
	if (!S_ISREG(i->type)) {
		end_open(o, -ESTALE); /* something else took the name: the walk is repeated */
		return;
	}
	start_open(o);
}

static void existing_looked_up(struct nfs_call *call)
{
	struct open_request *o = from_call(call);

	if (call->error < 0)
		request_end_error(&o->r, call->error);
	else
		request_find_entry(&o->r, create_found);
}

/* What EXCLUSIVE leaves out: the server kept the verifier where the times belong. */
static void exclusive_set(struct nfs_call *call)
{
	struct open_request *o = from_call(call);

	if (call->error < 0) {
		request_end_error(&o->r, call->error);
		return;
	}
	call->new_fh = o->r.entry_fh;
	request_find_entry(&o->r, create_found);
}

static void exclusive_found(struct request *r)
{
	struct nfs_sattr *s = &r->call.args.sattr;

	s->set_atime = s->set_mtime = s->atime_now = s->mtime_now = true;
	r->call.fh = r->entry_fh;
	request_send(r, NFS_SETATTR, exclusive_set);
}

static void create_done(struct nfs_call *call)
{
	struct open_request *o = from_call(call);

	if (call->error == -EOPNOTSUPP && call->how == NFS_EXCLUSIVE) {
		call->how = NFS_GUARDED;
		request_send(&o->r, NFS_CREATE, create_done);
		return;
	}
	/* Somebody made it meanwhile, and the caller does not mind: then it is a plain open. */
	if (call->error == -EEXIST && !o->exclusive) {
		/* But the kernel does not truncate after CREATE: let it walk again and find the file. */
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
	request_find_entry(&o->r, call->how == NFS_EXCLUSIVE ? exclusive_found : create_found);
}

/*
 * GUARDED, so that it is certain whether this open made the file; O_EXCL as EXCLUSIVE, which a server
 * that was restarted before it could answer knows again, too (fs/nfs/nfs3proc.c nfs3_proc_create).
 */
static void op_create(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode, struct fuse_file_info *fi)
{
	struct open_request *o = open_request_new(req, fi);

	if (!o || request_init(&o->r, req, parent, name, NULL) < 0)
		return;
	o->create = o->has_groups = true;
	o->exclusive = fi->flags & O_EXCL;
	o->r.call.how = o->exclusive ? NFS_EXCLUSIVE : NFS_GUARDED;
	if (o->exclusive && getrandom(&o->r.call.create_verf, sizeof(o->r.call.create_verf), 0) < 0)
		o->r.call.how = NFS_GUARDED;
	o->r.call.args.sattr.set_mode = true;
	o->r.call.args.sattr.mode = mode;
	default_acl_send(&o->r, NFS_CREATE, create_done);
}

/* Pages of a mapping come after the last FLUSH: nobody else would have them committed. */
static void last_committed(struct stable_wait *w, int error)
{
	/* -ENOTCONN: the mount ends, and the server has the data and will write it. */
	if (error < 0 && error != -ENOTCONN)
		log_warning("data written through a mapping of a file of %s was lost: %s", w->fs->spec,
			strerror(-error));
	(void)inode_unref(w->fs->inodes, w->inode);
	free(w);
}

static void commit_rest(struct fs *fs, struct inode *i, const struct nfs_cred *cred)
{
	struct stable_wait *w;

	if (!write_log_dirty(&i->writes))
		return;
	w = calloc(1, sizeof(*w));
	if (!w)
		return;
	w->done = last_committed;
	write_behind_commit(fs, inode_ref(i), cred, w);
}

static void op_release(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	struct fs *fs = fuse_req_userdata(req);
	struct file *f = file_of(fi);
	struct inode *i = f->inode;
	struct granted_file *writer = NULL;
	int close_id = 0;
	bool last;

	if (f->write && !f->told && open_mode_is_registered(f->path))
		server_refresh_changed(i);
	locks_released(fs->locks, &i->fh, fi->fh);
	{
		LOCKED(&i->lock);
		list_remove(&f->opened.node);
		/* An id of an ended session is no good for the next open. */
		if (open_mode_uncount(&i->mode, f->path) && i->mode.generation != fs_generation(fs))
			close_id = open_mode_take_id(&i->mode);
		mode_changed(fs, i);
		if (f->write)
			writer = writer_gone(i, f);
		last = !inode_is_open(i);
	}
	fs->open_files--;
	(void)granted_file_unref(writer);
	backing_ids_close(fs->ids, close_id);
	backing_ids_trim(fs->ids);
	if (f->write) {
		commit_rest(fs, i, &f->cred);
		/* Written by a mapping after the close, or by who was killed and did not wait for that in close. */
		if (server_refresh_owed(fs, i))
			(void)server_refresh_unwaited(fs, i, &f->cred);
		data_write_trim();
	}
	if (last)
		silly_last_close(fs, i);
	(void)inode_unref(fs->inodes, i);
	free(f);
	(void)fuse_reply_err(req, 0);
}

void open_set_operations(struct fuse_lowlevel_ops *ops)
{
	ops->open = op_open;
	ops->create = op_create;
	ops->release = op_release;
}
