/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "fuse/shortcut/change.h"

#include <sys/stat.h>

#include "base/clock.h"
#include "base/log.h"
#include "fuse/fs/convert.h"
#include "fuse/known/known.h"
#include "fuse/local/backing_ids.h"
#include "fuse/shortcut/shortcut.h"

#define ASK_GIVEN_UP_MS 1000 /* between two questions to a caller whether the answer is wanted */

void changes_init(struct changes *cs, struct fs *fs, struct memory *memory)
{
	*cs = (struct changes){.fs = fs, .memory = memory};
	memory->touch = sight_touch;
	memory->toucher = cs;
	(void)pthread_mutex_init(&cs->lock, NULL);
	list_init(&cs->under_way);
}

void changes_done(struct changes *cs)
{
	(void)pthread_mutex_destroy(&cs->lock);
}

void changes_heard(struct changes *cs)
{
	cs->heard_ms = work_ms();
	cs->stalled = false;
}

void changes_refused(struct changes *cs, uint64_t generation, uint32_t uid, uint32_t reason)
{
	if (reason == REASON_GROUPS && uid == 0)
		cs->fs->groups_asked = generation;
}

/* ---- the end of a change ---- */

struct nfs_call *change_take_call(struct change *c)
{
	LOCKED(&c->changes->lock);
	list_remove(&c->node);
	return STEAL_PTR(c->call);
}

/*
 * A change was made, or may have been, and its caller does not hear that: what is known of its directories is in doubt,
 * and the kernel forgets names. No notice comes of a change by this mount.
 */
static void change_unseen(const struct change *c)
{
	known_name_lost(c->changes->fs, &c->fh);
	if (c->fh2.len > 0)
		known_name_lost(c->changes->fs, &c->fh2);
	known_make_kernel_forget(c->changes->fs);
}

/* True if the change takes a name from a file, the child. */
static bool has_child(enum nfs_proc proc)
{
	return proc == NFS_REMOVE || proc == NFS_RMDIR || proc == NFS_RENAME;
}

/* The change may have been made, and the child may have changed, too: the NFS server does not know. */
static void change_unknown_to_server(const struct change *c)
{
	struct memory *memory = c->changes->memory;

	memory_changed(memory, &c->fh);
	if (c->fh2.len > 0)
		memory_changed(memory, &c->fh2);
	if (c->doubt.child.len > 0)
		memory_changed(memory, &c->doubt.child);
}

/* The attributes of the call's files after the change; NULL if they are not known. */
struct after {
	const struct broker_attr *fh, *fh2;
};

static struct timespec mtime_of(const struct broker_attr *after)
{
	return after ? (struct timespec){after->mtime_sec, after->mtime_nsec} : (struct timespec){0};
}

/* after: of this directory. Without an answer that waits, the directory is touched if need be (memory.h). */
static void file_changed(const struct change *c, const struct nfs_fh *fh, const struct broker_attr *after, bool waits)
{
	struct memory_directory d = {.taker = has_child(c->proc) && !waits ? &c->cred : NULL};

	if (after) {
		d.mtime = mtime_of(after);
		d.ctime = (struct timespec){after->ctime_sec, after->ctime_nsec};
	}
	memory_directory_changed(c->changes->memory, fh, &d);
}

/* The change was made, and a RENAME changes the child's ctime. waits: the answer comes after the server's look. */
static void change_made(const struct change *c, const struct after *after, bool waits)
{
	file_changed(c, &c->fh, after->fh, waits);
	if (c->fh2.len > 0)
		file_changed(c, &c->fh2, after->fh2, waits);
	if (c->proc == NFS_RENAME)
		memory_changed(c->changes->memory, &c->doubt.child);
}

static void on_doubt_ended(struct doubt *d)
{
	free(CONTAINER_OF(d, struct change, doubt));
}

static void doubt_change(struct change *c, struct nfs_call *call)
{
	struct changes *cs = c->changes;

	log_info_limited("%s: the sidecar has ended before it answered %s, the NFS server is asked what was done",
		cs->fs->spec, nfs_proc_name(call->proc));
	cs->fs->counters.doubts++;
	if (call->groups_untold)
		call->tell_groups(call);
	c->doubt.memory = cs->memory;
	c->doubt.call = call;
	c->doubt.ended = on_doubt_ended;
	doubt_begin(&c->doubt);
}

/* The connection has ended before the reply. */
static void on_lost(struct change *c)
{
	struct changes *cs = c->changes;
	bool sent = c->broker.changes && c->broker.stage == BROKER_CALL_SENT;
	struct nfs_call *call = change_take_call(c);

	if (sent)
		change_unknown_to_server(c);
	if (call && sent) {
		doubt_change(c, call);
		return;
	}
	if (sent)
		change_unseen(c);
	free(c);
	if (call)
		to_server(cs->memory, call);
}

/* Takes fd, the reply's or -1, and the reply if it answers an open. call: NULL if nobody opens the file. */
static void on_opened(struct change *c, const struct nfs_call *call, const struct broker_open_reply *reply, int *fd)
{
	struct opening opening = {.session = c->generation, .reply = *reply, .fd = steal_fd(fd)};

	if (reply->backing_id != 0)
		backing_ids_registered(c->changes->fs->ids);
	if (!call || !call->opening || reply->access == 0) {
		opening_drop(c->changes->fs, &opening);
		return;
	}
	opening.wants = call->opening->wants;
	*call->opening = opening;
}

/* True if the directory may have changed. */
static bool has_changed(const struct broker_wcc *wcc)
{
	const struct broker_version *v = &wcc->before;
	const struct broker_attr *a = &wcc->after;

	return !wcc->has_before || !wcc->has_after || v->mtime_sec != a->mtime_sec || v->mtime_nsec != a->mtime_nsec ||
	       v->ctime_sec != a->ctime_sec || v->ctime_nsec != a->ctime_nsec;
}

/*
 * True if the caller waits until the server has looked. A server that remembers would go on to tell its other clients a
 * name that is gone, or attributes that were changed, while names that are new are found at once; with commit=fsync
 * nobody waits (localiofs(5)).
 */
static bool waits_for_look(const struct fs *fs, const struct nfs_call *call)
{
	return (has_child(call->proc) || call->proc == NFS_SETATTR) && fs_server_remembers(fs) &&
	       (fs->options->commit != COMMIT_FSYNC || fs_is_sync(fs));
}

/* A memory_submit_fn: the server has looked. */
static void answer(struct server *nfs, struct nfs_call *call)
{
	(void)nfs;
	call->done(call);
}

/* Answers the call when the server has looked. */
static void answer_seen(const struct change *c, struct nfs_call *call, const struct after *after)
{
	struct timespec mtimes[2] = {mtime_of(after->fh), mtime_of(after->fh2)};

	if (!has_child(c->proc) || !sight_begin(c->changes, call, &c->doubt.child, mtimes))
		memory_submit(c->changes->memory, call, answer);
}

/*
 * The sidecar has answered. With a reason nothing was changed, and the NFS server answers. A change with an error may
 * have been made, too, if it could not be made stable.
 */
static void end(struct change *c, struct nfs_call *call, int error, uint32_t reason, const struct broker_wcc *dir,
	const struct after *after)
{
	bool made = reason == REASON_NONE && (error == 0 || has_changed(dir));
	bool waits = made && call && waits_for_look(c->changes->fs, call);

	if (made)
		change_made(c, after, waits);
	if (made && (!call || error != 0))
		change_unseen(c);
	if (call)
		call->by_sidecar = true;
	if (call && reason != REASON_NONE)
		to_server(c->changes->memory, call);
	else if (waits)
		answer_seen(c, call, after);
	else if (call)
		call->done(call);
	free(c);
}

static void on_made(struct broker_call *broker, int error, const void *body)
{
	struct change *c = CONTAINER_OF(broker, struct change, broker);
	const struct broker_made *made = body;
	struct after after = {.fh = error == 0 && made->dir.has_after ? &made->dir.after : NULL};
	struct nfs_call *call;

	if (error < 0) {
		on_lost(c);
		return;
	}
	changes_heard(c->changes);
	changes_refused(c->changes, c->generation, c->cred.uid, made->reason);
	call = change_take_call(c);
	on_opened(c, made->error == 0 ? call : NULL, &made->open, broker->fd);
	if (call && made->reason == REASON_NONE)
		change_take_made(c->changes->fs, made, call);
	if (call && made->reason == REASON_NONE && made->error == 0)
		change_ask_directory(c, call);
	end(c, call, made->error, made->reason, &made->dir, &after);
}

/* Which attributes of the reply are of which file. */
static struct after after_of(const struct change *c, const struct broker_changed *changed)
{
	const struct broker_attr *file = changed->has_attr ? &changed->attr : NULL;
	const struct broker_attr *dir = changed->dir.has_after ? &changed->dir.after : NULL;

	if (c->proc == NFS_SETATTR)
		return (struct after){.fh = file};
	if (c->proc == NFS_LINK)
		return (struct after){.fh = file, .fh2 = dir};
	return (struct after){.fh = dir, .fh2 = changed->dir2.has_after ? &changed->dir2.after : NULL};
}

static void on_changed(struct broker_call *broker, int error, const void *body)
{
	struct change *c = CONTAINER_OF(broker, struct change, broker);
	const struct broker_changed *changed = body;
	struct nfs_call *call;
	struct nfs_fh other; /* it has lost a name, and has others */
	struct after after;

	if (error < 0) {
		on_lost(c);
		return;
	}
	changes_heard(c->changes);
	changes_refused(c->changes, c->generation, c->cred.uid, changed->reason);
	if (changed->reason == REASON_NONE && nfs_fh_of_broker(&changed->fh, &other))
		memory_changed(c->changes->memory, &other);
	call = change_take_call(c);
	if (c->proc == NFS_REMOVE && changed->reason == REASON_NONE && changed->error == 0 && changed->fh.length == 0)
		memory_gone(c->changes->memory, &c->doubt.child);
	if (call && changed->reason == REASON_NONE)
		change_take_changed(c->changes->fs, changed, call);
	after = after_of(c, changed);
	if (call && changed->reason == REASON_NONE && changed->error == 0)
		change_ask_directory(c, call);
	end(c, call, changed->error, changed->reason, &changed->dir, &after);
}

/* ---- its beginning ---- */

static void send_change(struct change *c, const struct change_message *m)
{
	bool makes = m->type == BROKER_MAKE || m->type == BROKER_SYMLINK;

	c->broker.done = makes ? on_made : on_changed;
	c->broker.stage = BROKER_CALL_NEW;
	probe_send_change(c->changes->fs->probe, c->generation, &c->broker, m->type, &m->body, m->length);
}

/*
 * True if the server must move the child itself. NFS-Ganesha goes on to believe that a directory has its old parent,
 * whatever makes it look at the directories again; and it finds a device, FIFO or socket by the name that it was told
 * last, because the handle opens no such file.
 */
static bool is_for_server(const struct fs *fs, const struct nfs_call *call, uint32_t mode)
{
	if (call->proc != NFS_RENAME || !fs_server_remembers(fs))
		return false;
	return is_special_file(mode) || (S_ISDIR(mode) && !nfs_fh_equal(&call->fh, &call->fh2));
}

/* The same for a new device, FIFO or socket. */
static bool makes_for_server(const struct fs *fs, const struct nfs_call *call)
{
	return call->proc == NFS_MKNOD && fs_server_remembers(fs);
}

static void on_child_found(struct broker_call *broker, int error, const void *body)
{
	struct change *c = CONTAINER_OF(broker, struct change, broker);
	const struct broker_found *found = body;
	struct changes *cs = c->changes;
	struct change_message m;
	struct nfs_call *call;
	struct nfs_fh child;

	if (error == 0) {
		changes_heard(cs);
		changes_refused(cs, c->generation, c->cred.uid, found->reason);
	}
	/* On this thread the call is there until take_call(). */
	if (error == 0 && found->error == 0 && found->reason == REASON_NONE && c->call &&
		nfs_fh_of_broker(&found->fh, &child) && !is_for_server(cs->fs, c->call, found->attr.mode) &&
		change_message(cs->fs, c->call, &m)) {
		c->doubt.child = child;
		send_change(c, &m);
		return;
	}
	call = change_take_call(c);
	free(c);
	if (call)
		to_server(cs->memory, call);
}

struct inode *change_known_inode(struct fs *fs, const struct nfs_fh *in, const char *name)
{
	struct inode *dir = inode_table_find(fs->inodes, in), *i = NULL;

	if (dir && !known_owner(fs, dir, name, &i))
		i = NULL;
	(void)inode_unref(fs->inodes, dir);
	return i;
}

static struct change *new_change(struct changes *cs, struct nfs_call *call, uint64_t generation)
{
	struct change *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->changes = cs;
	c->call = call;
	c->proc = call->proc;
	c->cred = call->cred;
	c->fh = call->fh;
	if (call->proc == NFS_RENAME || call->proc == NFS_LINK)
		c->fh2 = call->fh2;
	c->generation = generation;
	c->since = c->asked_ms = work_ms();
	{
		LOCKED(&cs->lock);
		list_append(&cs->under_way, &c->node);
	}
	return c;
}

void change_begin(struct change *c, const struct change_message *m, const struct broker_lookup *child)
{
	if (c->doubt.child.len > 0 || !has_child(c->proc)) {
		send_change(c, m);
		return;
	}
	c->broker.done = on_child_found;
	probe_send(c->changes->fs->probe, &c->broker, BROKER_LOOKUP, child, sizeof(*child));
}

bool changes_take(struct changes *cs, struct nfs_call *call, uint64_t generation)
{
	struct inode *child = NULL;
	struct broker_lookup lookup;
	struct change_message m;
	struct change *c;

	if (call->delay_ms > 0 || memory_reason(cs->memory) != REASON_NONE || makes_for_server(cs->fs, call) ||
		!change_message(cs->fs, call, &m))
		return false;
	if (has_child(call->proc)) {
		if (!broker_lookup_of_nfs(call, &lookup))
			return false;
		child = change_known_inode(cs->fs, &call->fh, call->name);
	}
	c = child && is_for_server(cs->fs, call, child->type) ? NULL : new_change(cs, call, generation);
	if (c && child)
		c->doubt.child = child->fh;
	(void)inode_unref(cs->fs->inodes, child);
	if (c && !change_by_daemon(c, &m))
		change_begin(c, &m, &lookup);
	return c != NULL;
}

/* ---- changes that wait ---- */

bool changes_are_under_way(struct changes *cs, const struct nfs_fh *dir)
{
	LOCKED(&cs->lock);
	LIST_FOREACH (pos, &cs->under_way) {
		const struct change *c = CONTAINER_OF(pos, struct change, node);

		if (nfs_fh_equal(&c->fh, dir) || (c->fh2.len > 0 && nfs_fh_equal(&c->fh2, dir)))
			return true;
	}
	return false;
}

/*
 * The next change whose caller is to be asked whether the answer is still wanted; NULL if there is none. Only this
 * thread ends an accepted change, so it stays. *ret_left: changes are under way.
 */
static struct change *next_to_ask(struct changes *cs, uint64_t now, bool *ret_left)
{
	LOCKED(&cs->lock);
	*ret_left = !list_empty(&cs->under_way);
	LIST_FOREACH (pos, &cs->under_way) {
		struct change *c = CONTAINER_OF(pos, struct change, node);

		if (!c->call || c->by_setter)
			continue;
		if (time_since(c->since, now) >= SHORTCUT_PATIENCE_MS && cs->heard_ms < c->since)
			cs->stalled = true;
		if (c->broker.stage == BROKER_CALL_NEW || !c->call->given_up ||
			time_since(c->asked_ms, now) < ASK_GIVEN_UP_MS)
			continue;
		c->asked_ms = now;
		return c;
	}
	return NULL;
}

/* The answer will find no call. */
static struct nfs_call *give_up(struct change *c)
{
	LOCKED(&c->changes->lock);
	return STEAL_PTR(c->call);
}

bool changes_housekeep(struct changes *cs)
{
	uint64_t now = work_ms();
	struct change *c;
	bool left;

	while ((c = next_to_ask(cs, now, &left)) != NULL) {
		struct nfs_call *call = c->call;

		/* Without the lock: it may end other requests. */
		if (!call->given_up(call))
			continue;
		(void)give_up(c);
		call->error = -EINTR;
		call->done(call);
	}
	return left;
}
