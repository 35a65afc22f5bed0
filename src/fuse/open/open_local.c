/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "fuse/open/open_request.h"
#include "fuse/shortcut/shortcut.h"

#include <sys/stat.h>

#include "base/log.h"
#include "fuse/local/backing_ids.h"
#include "fuse/local/granted_file.h"
#include "fuse/local/idle_ids.h"
#include "fuse/fs/convert.h"

static void take_descriptor(struct open_request *o)
{
	const struct broker_open_reply *reply = &o->reply;
	struct inode *i = o->r.inode;
	struct granted_file *old, *g = granted_file_new(o->r.fs, steal_fd(&o->given), reply->writable != 0,
					  reply->backing_id, o->wish.generation);

	if (g) {
		g->instead = o->wanted & BROKER_OPEN_WANT_ID;
		g->root = reply->root != 0;
	}
	{
		LOCKED(&i->lock);
		if (g && g->writer && granted_file_writes(i->granted, g->generation))
			g->writers = i->granted->writers;
		if (open_mode_total(&i->mode) > 0)
			granted_file_take_error(i->granted, i);
		old = idle_ids_set_granted(o->r.fs->idle, i, g);
	}
	(void)granted_file_unref(old);
}

/* Takes the descriptor by which later opens will see the file's attributes, if one has come. */
static void take_looker(struct open_request *o, const struct broker_open_reply *reply, int *fd)
{
	if (*fd < 0)
		return;
	(void)granted_file_unref(o->looker);
	o->looker = granted_file_new(o->r.fs, steal_fd(fd), false, 0, o->wish.generation);
	if (!o->looker)
		return;
	o->looker->made = o->created;
	o->looker->setting = (struct setting){.kinds = reply->may_set,
		.uid = o->r.call.cred.uid,
		.gid = o->r.call.cred.gid,
		.as_uid = reply->set_uid,
		.as_gid = reply->set_gid};
}

/* The name still leads to this file: uses the sidecar's reply to decide about the open. */
static void use_grant(struct open_request *o)
{
	const struct broker_open_reply *reply = &o->reply;
	struct fs *fs = o->r.fs;
	int error = open_permission(o, reply->access);

	if (error < 0) {
		backing_ids_close(fs->ids, reply->backing_id);
		open_end(o, error);
		return;
	}
	if (reply->reason != REASON_NONE) {
		fs->counters.last_denial = reply->reason;
		fs->counters.grants_denied++;
	}
	/* The file has become set-user-ID or set-group-ID: a backing id from before must not serve this open. */
	if (reply->reason == REASON_SET_ID)
		o->wish.generation = 0;
	if (reply->backing_id < 0 && o->given < 0) /* this process had no room for the descriptor */
		backing_ids_close(fs->ids, reply->backing_id);
	else if (reply->backing_id < 0)
		take_descriptor(o);
	o->wish.granted_id = MAX(reply->backing_id, 0);
	o->wish.granted_writable = reply->backing_id > 0 && reply->writable;
	o->wish.root = reply->root;
	open_finish(o);
}

static void ask_sidecar(struct open_request *o);

/* True if neither groups nor ACLs have a say, and each open sees the file's mode and owner. */
static bool goes_by_mode(const struct fs *fs, const struct broker_open_reply *reply)
{
	return (reply->root || reply->owner) && !fs->options->nocto && !fs->options->noac;
}

/* The sidecar's reply to the open, and the descriptor that came with it, which is taken, or -1. */
static void on_reply(struct open_request *o, const struct broker_open_reply *reply, int *fd)
{
	struct fs *fs = o->r.fs;

	if (reply->error == 0 &&
		(reply->attr.fileid != o->r.inode->fileid || (reply->attr.mode & S_IFMT) != o->r.inode->type)) {
		log_warning_limited("the sidecar has another file than the server under a handle of %s", fs->spec);
		backing_ids_close(fs->ids, reply->backing_id);
		fs->counters.last_denial = REASON_WRONG_EXPORT;
		fs->counters.grants_denied++;
		open_remote(o);
		return;
	}
	if (reply->error < 0 && reply->reason == REASON_GROUPS && o->r.call.groups_untold) {
		if (o->r.call.cred.uid == 0)
			fs->groups_asked = o->wish.generation;
		request_groups(&o->r);
		ask_sidecar(o);
		return;
	}
	/* The sidecar could not decide, so the server must. */
	if (reply->error < 0) {
		fs->counters.last_denial = reply->reason;
		fs->counters.grants_denied++;
		if (reply->error == -ESTALE)
			shortcut_found_other(fs->shortcut, &o->r.inode->fh);
		open_remote(o);
		return;
	}
	attr_of_broker(o->r.fs, &reply->attr, &o->r.call.attr);
	/* Before open_know_version(), which puts older answers in doubt: this answer about permission is new. */
	if (reply->reason != REASON_SET_ID)
		known_opener(fs, o->r.inode, &o->r.call.cred,
			&(struct opener){.access = reply->access,
				.root = reply->root,
				.by_mode = goes_by_mode(fs, reply),
				.any_groups = reply->any_groups || o->r.call.groups_untold,
				.session = o->wish.generation,
				.mode = o->r.call.attr.mode,
				.uid = o->r.call.attr.uid,
				.gid = o->r.call.attr.gid,
				.ctime = o->r.call.attr.ctime},
			o->r.asked);
	open_know_version(o);
	o->reply = *reply;
	if (reply->backing_id < 0)
		o->given = steal_fd(fd);
	else
		take_looker(o, reply, fd);
	open_check_name(o, use_grant);
}

static void on_granted(struct broker_call *call, int error, const void *body)
{
	struct open_request *o = CONTAINER_OF(call, struct open_request, broker);
	const struct broker_open_reply *reply = body;

	if (error < 0) {
		open_remote(o);
		return;
	}
	if (reply->backing_id != 0)
		backing_ids_registered(o->r.fs->ids);
	on_reply(o, reply, call->fd);
}

bool open_made(struct open_request *o)
{
	struct opening opening = o->opening;

	if (opening.session == 0 || opening.session != o->wish.generation)
		return false;
	o->opening.session = 0; /* taken */
	o->wanted = opening.wants;
	on_reply(o, &opening.reply, &opening.fd);
	close_fdp(&opening.fd);
	return true;
}

/* True if the answer to an earlier open is valid, or will be if the file has not changed (has_other_rights()). */
static bool may_be_valid(const struct open_request *o)
{
	bool reads = (o->fi.flags & O_ACCMODE) == O_RDONLY && !o->exec;

	return !o->known.expired || (reads && (o->known.by_mode || o->known.ctime.tv_sec != 0));
}

/*
 * True if an earlier answer of the sidecar allows this credential to open the file, and the backing id or descriptor is
 * there. An open for reading then needs no groups of the caller, if the groups do not matter.
 */
static bool is_hot(struct open_request *o)
{
	struct inode *i = o->r.inode;
	struct open_offer offer;

	if (!known_may_open(o->r.fs, i, &o->r.call.cred, o->r.has_groups, &o->known) || !may_be_valid(o) ||
		o->known.session != o->wish.generation || open_permission(o, o->known.access) < 0)
		return false;
	LOCKED(&i->lock);
	o->wish.root = o->known.root;
	if (open_mode_choose(&i->mode, &o->wish) == OPEN_PATH_PASSTHROUGH)
		return true;
	offer = open_look(o->r.fs, i, &o->wish, o->r.call.cred.uid);
	return open_offer_has_descriptor(&offer) && open_offer_wants(&offer, o->r.fs, &o->wish) == 0;
}

/* True if an answer by the mode alone is another one by now. Set-id bits are for the server, which clears them. */
static bool has_other_mode(const struct opener *known, const struct nfs_attr *now)
{
	uint32_t set_id = S_ISUID | S_ISGID, exec = S_IXUSR | S_IXGRP | S_IXOTH;
	uint32_t bits = set_id | (known->root ? exec : S_IRWXU);

	return ((now->mode ^ known->mode) & bits) != 0 || (!known->root && now->uid != known->uid);
}

/* True if the file's present attributes show that somebody has changed who may open it since the sidecar's answer. */
static bool has_other_rights(const struct open_request *o)
{
	const struct nfs_attr *now = &o->r.call.attr;

	if (o->known.by_mode)
		return has_other_mode(&o->known, now);
	if (o->known.expired && !timespec_is_same(&now->ctime, &o->known.ctime))
		return true;
	return now->mode != o->known.mode || now->uid != o->known.uid || now->gid != o->known.gid;
}

/* The flag by which a question about a file with a backing id also asks for a looker. */
static uint32_t wants_looker(const struct open_request *o)
{
	return granted_file_wants_looker(o->r.fs, o->r.inode) ? BROKER_OPEN_WANT_LOOK : 0;
}

static void ask_sidecar(struct open_request *o)
{
	struct inode *i = o->r.inode;
	struct broker_open body = {.fh = request_broker_fh(&i->fh)};
	struct open_offer offer;

	request_groups_for_sidecar(&o->r);
	body.cred = broker_cred_of_nfs(&o->r.call);
	{
		LOCKED(&i->lock);
		offer = open_look(o->r.fs, i, &o->wish, o->r.call.cred.uid);
	}
	body.flags = open_offer_wants(&offer, o->r.fs, &o->wish);
	o->wanted = body.flags;
	if (o->wanted & BROKER_OPEN_WANT_ID)
		body.flags |= wants_looker(o) ? BROKER_OPEN_WANT_LOOK | BROKER_OPEN_WANT_SET : 0;
	o->r.asked = attr_clock();
	o->r.operation.path = OPERATION_BY_SIDECAR;
	o->broker.done = on_granted;
	shortcut_open(o->r.fs->shortcut, &o->broker, &body);
}

static void finish_hot(struct open_request *o)
{
	o->r.fs->counters.opens_hot++;
	open_finish(o);
}

/* Checks is_hot() again: since the question the id may have been closed, or the caller may have lost the right. */
static void on_hot_attributes(struct broker_call *call, int error, const void *body)
{
	struct open_request *o = CONTAINER_OF(call, struct open_request, broker);
	const struct broker_open_reply *reply = body;

	if (error < 0 || reply->error < 0 || reply->attr.fileid != o->r.inode->fileid || !is_hot(o)) {
		ask_sidecar(o);
		return;
	}
	attr_of_broker(o->r.fs, &reply->attr, &o->r.call.attr);
	if (has_other_rights(o)) {
		ask_sidecar(o);
		return;
	}
	take_looker(o, reply, call->fd);
	open_know_version(o);
	open_check_name(o, finish_hot);
}

/*
 * A hot open needs no grant. But close-to-open demands the file's present attributes, from a descriptor or from the
 * sidecar; if they show another mode or owner, or another ctime after acregmin, the sidecar decides anew. With nocto
 * the open does not look at the file: the kernel only forgets its size and times.
 */
bool open_hot(struct open_request *o)
{
	struct fs *fs = o->r.fs;
	struct inode *i = o->r.inode;
	struct granted_file *granted;
	bool seen;

	if (!is_hot(o))
		return false;
	granted = fs->options->nocto ? granted_file_of(fs, i) : granted_file_to_look(fs, i);
	seen = granted && granted_file_attributes(granted, &o->r.call.attr) == 0;
	(void)granted_file_unref(granted);
	if (seen ? has_other_rights(o) : o->known.expired)
		return false;
	if (seen) {
		open_know_version(o);
		open_check_name(o, finish_hot);
	} else if (fs->options->nocto) {
		known_version_expires(fs, i);
		finish_hot(o);
	} else {
		open_ask_attributes(o, &i->fh, wants_looker(o), on_hot_attributes);
	}
	return true;
}

void open_local(struct open_request *o)
{
	request_groups_for_sidecar(&o->r);
	if (!open_hot(o))
		ask_sidecar(o);
}
