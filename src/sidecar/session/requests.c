/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sidecar/session/session.h"

#include <linux/falloc.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/stat.h>

#include "setattr/access_acl.h"
#include "sidecar/backing/fuse_device.h"
#include "sidecar/grant/grant.h"
#include "sidecar/names/directory.h"

/* ---- OPEN, RELEASE ---- */

/*
 * The number of a descriptor that goes to the client. Each number is used once, so that no session can release the
 * descriptor of another session.
 */
static int32_t descriptor_number(void)
{
	static atomic_uint last;

	return INT32_MIN + (int32_t)(atomic_fetch_add(&last, 1) % INT32_MAX);
}

static int keep_grant(struct session *s, const struct broker_fh *fh, const struct broker_open_reply *reply,
	const struct grant *grant, struct export_mount *mount)
{
	const struct backing b = {.id = reply->backing_id,
		.fd = grant->kept,
		.writable = grant->writable,
		.cred = grant->cred,
		.mount = mount};

	return backing_table_add(&s->ids, &b, fh);
}

enum reason session_find_claimed(struct session *s, const struct broker_fh *fh, const struct broker_cred *cred,
	struct location *ret)
{
	return cred == NULL || claims_allow(&s->claims, cred) ? locator_find(&s->locator, fh, ret) : REASON_CLAIMS;
}

/* Counts an OPEN that wants the file, by its reply. full: there was no place for an id. */
static void count_open(struct session *s, bool full, const struct broker_open_reply *reply)
{
	struct counters *all = s->client->broker->counters;

	counters_add(&all->opens);
	counters_add(&s->client->opens);
	if (full)
		counters_add(&all->limits[COUNTERS_LIMIT_IDS]);
	if (reply->backing_id != 0) {
		counters_add(reply->backing_id > 0 ? &all->ids : &all->descriptors);
		counters_add(reply->backing_id > 0 ? &s->client->ids : &s->client->descriptors);
	}
	if (reply->reason == REASON_NONE)
		return;
	counters_refuse(all, reply->reason);
	counters_add(&s->client->refused);
	s->client->last_refusal = reply->reason;
}

/*
 * Answers a request for the attributes of a file that has an id. False if the file has none, or no name any more: then
 * the handle decides.
 */
static bool tell_attributes(struct session *s, const struct broker_open *request, const struct location *at,
	struct broker_open_reply *reply)
{
	const struct backing *b = NULL;
	struct broker_attr attr;
	struct statx stx;

	if ((request->flags & BROKER_OPEN_ATTR) != 0 && export_mount_handles_last(at->mount))
		b = backing_table_find_file(&s->ids, &request->fh, at->mount);
	if (b == NULL || grant_attributes(b->fd, &stx, &attr) < 0 || attr.nlink == 0)
		return false;
	reply->attr = attr;
	return true;
}

bool session_take_place(struct session *s, uint32_t open_flags)
{
	return (open_flags & (BROKER_OPEN_WANT_ID | BROKER_OPEN_WANT_FD)) != 0 &&
	       backing_table_count(&s->ids) < s->max_ids && (s->fuse_fd < 0 || s->client->account.connection != NULL) &&
	       account_take(s->client->broker->account, &s->client->account) >= 0;
}

void session_settle_grant(struct session *s, bool place, const struct broker_fh *fh, uint32_t open_flags,
	struct broker_open_reply *reply, struct grant *grant, struct export_mount *mount)
{
	if (grant->given >= 0)
		reply->backing_id = descriptor_number();
	if (reply->backing_id != 0 && keep_grant(s, fh, reply, grant, mount) < 0) {
		if (reply->backing_id > 0)
			(void)fuse_device_backing_close(s->fuse_fd, reply->backing_id);
		close_fdp(&grant->kept);
		close_fdp(&grant->given);
		reply->backing_id = 0;
		reply->writable = 0;
		reply->reason = REASON_LIMIT;
	}
	if (place && reply->backing_id == 0)
		account_give(s->client->broker->account, &s->client->account);
	if (reply->backing_id > 0)
		account_keep(s->client->broker->account, &s->client->account);
	if ((open_flags & (BROKER_OPEN_WANT_ID | BROKER_OPEN_WANT_FD)) != 0)
		count_open(s, !place, reply);
}

/* What the client may set, and as whom; nothing unless the request has a credential, of which the grant tells. */
static void let_set(struct session *s, const struct grant_context *g, uint32_t open_flags, const struct grant *grant,
	struct broker_open_reply *reply)
{
	if ((open_flags & BROKER_OPEN_WANT_SET) == 0 || (open_flags & BROKER_OPEN_ATTR) != 0 ||
		!locator_same_view(&s->locator, g->at))
		return;
	if (S_ISREG(reply->attr.mode))
		reply->may_set = name_change_may_set(g);
	else if (S_ISDIR(reply->attr.mode))
		reply->may_set = name_change_may_name(g, &reply->attr, &grant->cred);
	/* Of no other thread the sidecar knows which directories it makes (own_threads.h). */
	if (!own_threads_have_setter(&s->own))
		reply->may_set &= ~(uint32_t)BROKER_SET_MKDIR;
	reply->set_uid = grant->cred.uid;
	reply->set_gid = grant->cred.gid;
}

/* Files that a client has as descriptors or ids, and all directories, of which everybody may know the attributes. */
static bool may_look(const struct session *s, const struct broker_fh *fh, const struct location *at,
	const struct broker_attr *attr)
{
	return S_ISDIR(attr->mode) || (S_ISREG(attr->mode) && backing_table_find_file(&s->ids, fh, at->mount) != NULL);
}

int session_descriptor_to_look(struct session *s, const struct grant_context *g, const struct broker_fh *fh,
	uint32_t open_flags, const struct grant *grant, struct broker_open_reply *reply)
{
	const struct location *at = g->at;
	int fd;

	if ((open_flags & BROKER_OPEN_WANT_LOOK) == 0 || !s->trusted || reply->error != 0 || reply->attr.nlink == 0 ||
		!export_mount_handles_last(at->mount) || !may_look(s, fh, at, &reply->attr))
		return -1;
	let_set(s, g, open_flags, grant, reply);
	fd = export_mount_open_file(at->mount, &at->handle,
		reply->may_set != 0 ? EXPORT_MOUNT_PATH : EXPORT_MOUNT_PATH_ON_CLONE);
	if (fd < 0)
		reply->may_set = 0;
	return fd;
}

/* True if notices come of all changes from this moment on, or at least from the last one before. */
static bool is_watched(struct session *s, const struct broker_open *request, const struct location *at)
{
	if ((request->flags & BROKER_OPEN_WATCH) != 0)
		return listener_watch(s->listener, at->mount, &at->handle, &request->fh, true);
	return (request->flags & BROKER_OPEN_ATTR) != 0 && listener_watches(s->listener, at->mount, &at->handle);
}

/* The ACL is read after the attributes: a notice tells of one that is set in between. */
static void tell_acl(const struct broker_open *request, const struct location *at, struct broker_open_reply *reply)
{
	_cleanup_close_ int fd = -1;

	if ((request->flags & BROKER_OPEN_WATCH) == 0 || !reply->watched || !S_ISDIR(reply->attr.mode))
		return;
	fd = export_mount_directory(at->mount, &at->handle);
	if (fd >= 0)
		reply->attr.flags = access_acl_of_directory(fd);
}

static int on_open(struct session *s, struct packet *p)
{
	bool place = session_take_place(s, p->body.open.flags);
	struct location at;
	struct grant_context g = {.server = s->locator.table->server,
		.at = &at,
		.fuse_fd = s->fuse_fd,
		.own_rights = !s->claims.any,
		.trusted = s->trusted,
		.may_register = place};
	struct broker_open_reply reply = {0};
	enum reason reason = session_find_claimed(s, &p->body.open.fh,
		p->body.open.flags & BROKER_OPEN_ATTR ? NULL : &p->body.open.cred, &at);
	struct grant grant = {.kept = -1, .given = -1};
	bool asks = (p->body.open.flags & BROKER_OPEN_ATTR) != 0;
	bool watched = reason == REASON_NONE && is_watched(s, &p->body.open, &at);
	int r;

	if (reason != REASON_NONE) {
		reply.error = session_error_of(reason);
		reply.reason = reason;
	} else if (!tell_attributes(s, &p->body.open, &at, &reply)) {
		grant_open(&g, &p->body.open, &reply, &grant);
	}
	reply.watched = watched && reply.error == 0;
	if (reply.error == 0)
		tell_acl(&p->body.open, &at, &reply);
	if (reply.error == 0 && asks)
		(void)listener_watch(s->listener, at.mount, &at.handle, &p->body.open.fh, S_ISDIR(reply.attr.mode));
	session_settle_grant(s, place, &p->body.open.fh, p->body.open.flags, &reply, &grant, at.mount);
	if (grant.given < 0)
		grant.given = session_descriptor_to_look(s, &g, &p->body.open.fh, p->body.open.flags, &grant, &reply);
	r = session_reply(s, p, &reply, grant.given);
	(void)close_fd(grant.given);
	return r;
}

static int release_id(struct session *s, int32_t id)
{
	struct account *account = s->client->broker->account;
	int removed, r = 0;

	if (id > 0)
		r = account_is_witness(account, &s->client->account, id) ? -ENOENT
									 : fuse_device_backing_close(s->fuse_fd, id);
	removed = backing_table_remove(&s->ids, id); /* an id of an earlier session is not there */
	if (id <= 0)
		r = removed;
	if (r >= 0 && id > 0)
		account_closed(account, &s->client->account, removed >= 0);
	else if (r >= 0)
		account_give(account, &s->client->account);
	return r;
}

static int on_release(struct session *s, struct packet *p)
{
	const struct broker_release *body = &p->body.release;
	bool counted = body->count > 0 && body->count <= BROKER_MAX_RELEASE;
	struct broker_status reply = {.error = counted ? 0 : -EINVAL};

	for (uint32_t n = 0; counted && n < body->count; n++) {
		int r = release_id(s, body->backing_ids[n]);

		if (r < 0)
			reply.error = r;
	}
	return session_reply(s, p, &reply, -1);
}

/* ---- jobs on files ---- */

/*
 * The descriptor, which stays the table's. -ENOENT for an id of another session, and for a descriptor of the client's.
 */
static int find_file(const struct session *s, int32_t id, int *ret)
{
	const struct backing *b = backing_table_find(&s->ids, id);

	*ret = b != NULL ? b->fd : -1;
	return *ret >= 0 ? 0 : -ENOENT;
}

/* The same for a file to be changed, with the credential for the change. -EBADF for an id that is not writable. */
static int find_target(const struct session *s, int32_t id, struct file_job *ret)
{
	const struct backing *b = backing_table_find(&s->ids, id);
	int r = find_file(s, id, &ret->target);

	if (r >= 0)
		ret->cred = b->cred;
	return r >= 0 && !b->writable ? -EBADF : r;
}

/* Adds a job, whose worker will reply. Replies itself when r is an error or the job cannot be added. */
static int add_job(struct session *s, const struct packet *p, int r, struct file_job *job)
{
	job->type = p->header.type;
	job->request = p->header.id;
	if (r >= 0)
		r = file_jobs_add(&s->jobs, job);
	return r >= 0 ? 0 : file_jobs_refuse(&s->jobs, job, r);
}

/* The first PING asks for notices: clients that would not use them cost nothing. */
static int on_ping(struct session *s, struct packet *p)
{
	struct notices *notices = s->client->broker->notices;

	if (notices != NULL && s->listener == NULL && s->state == SESSION_READY &&
		listener_new(notices, s->client->wake, &s->own, &s->listener) < 0)
		s->listener = NULL;
	return packet_send_status(s->client->socket, BROKER_PING | BROKER_REPLY, p->header.id, 0, REASON_NONE);
}

static int on_commit(struct session *s, struct packet *p)
{
	const struct broker_commit *body = &p->body.commit;
	struct file_job job = {.target = -1, .data_only = body->data_only != 0};
	int r = find_file(s, body->backing_id, &job.fd);

	return add_job(s, p, body->data_only > 1 ? -EINVAL : r, &job);
}

static int on_seek(struct session *s, struct packet *p)
{
	const struct broker_range *range = &p->body.range;
	struct file_job job = {.target = -1, .range = *range};
	int r = find_file(s, range->backing_id, &job.fd);

	if ((range->how != SEEK_DATA && range->how != SEEK_HOLE) || range->offset > INT64_MAX)
		r = -EINVAL;
	return add_job(s, p, r, &job);
}

static int on_fallocate(struct session *s, struct packet *p)
{
	const struct broker_range *range = &p->body.range;
	struct file_job job = {.fd = -1, .range = *range};
	int r = find_target(s, range->backing_id, &job);

	/* the modes that a FUSE file takes: fs/fuse/file.c fuse_file_fallocate */
	if ((range->how & ~(uint32_t)(FALLOC_FL_KEEP_SIZE | FALLOC_FL_PUNCH_HOLE | FALLOC_FL_ZERO_RANGE)) != 0)
		r = -EOPNOTSUPP;
	if (range->offset > INT64_MAX || range->length > INT64_MAX)
		r = -EINVAL;
	return add_job(s, p, r, &job);
}

static int on_copy(struct session *s, struct packet *p)
{
	const struct broker_copy *copy = &p->body.copy;
	struct file_job job = {.target = -1, .copy = *copy};
	int r = find_file(s, copy->from, &job.fd);

	if (r >= 0)
		r = find_target(s, copy->to, &job);
	if (copy->from_offset > INT64_MAX || copy->to_offset > INT64_MAX)
		r = -EINVAL;
	return add_job(s, p, r, &job);
}

static int on_truncate(struct session *s, struct packet *p)
{
	const struct broker_truncate *body = &p->body.truncate;
	struct file_job job = {.fd = -1, .size = body->size};
	_cleanup_close_ int fd = -1;
	struct location at;
	struct grant_context g = {.server = s->locator.table->server, .at = &at, .fuse_fd = -1};
	enum reason reason = session_find_claimed(s, &body->fh, &body->cred, &at);
	int r = reason != REASON_NONE ? session_error_of(reason) : grant_truncate(&g, body, &job.cred);

	if (r >= 0)
		fd = r;
	if (body->size > INT64_MAX)
		r = -EINVAL;
	job.target = fd;
	if (r < 0 || !relief_may_leave(&s->relief))
		return add_job(s, p, r, &job);
	job.type = p->header.type;
	job.request = p->header.id;
	(void)steal_fd(&fd); /* the job's */
	relief_leave(&s->relief);
	r = file_jobs_make(&s->jobs, &job);
	relief_return(&s->relief);
	return r;
}

static int on_sync_dir(struct session *s, struct packet *p)
{
	const struct broker_sync_dir *body = &p->body.sync_dir;
	struct file_job job = {.target = -1};
	struct location at;
	struct grant_context g = {.server = s->locator.table->server, .at = &at, .fuse_fd = -1};
	enum reason reason = session_find_claimed(s, &body->fh, &body->cred, &at);
	int r = reason != REASON_NONE ? session_error_of(reason) : grant_directory(&g, body, &reason);
	_cleanup_close_ int fd = r;

	if (r < 0)
		return session_reply(s, p, &(struct broker_status){.error = r, .reason = reason}, -1);
	job.fd = fd;
	return add_job(s, p, 0, &job);
}

static int on_digest(struct session *s, struct packet *p)
{
	const struct broker_digest *body = &p->body.digest;
	struct file_job job = {.target = -1, .digest.key = {body->key[0], body->key[1]}};
	struct location at;
	struct grant_context g = {.server = s->locator.table->server, .at = &at, .fuse_fd = -1};
	enum reason reason = session_find_claimed(s, &body->dir, &body->cred, &at);
	_cleanup_close_ int fd = -1;

	if (reason != REASON_NONE)
		return session_reply(s, p,
			&(struct broker_digested){.error = session_error_of(reason), .reason = reason}, -1);
	job.digest.watched = listener_watch(s->listener, at.mount, &at.handle, &body->dir, true);
	fd = names_directory_to_read(&g, &body->cred, O_NOATIME, &job.cred);
	job.fd = fd;
	return add_job(s, p, fd, &job);
}

/* ---- all requests, by type ---- */

static const session_handler_fn handlers[] = {
	[BROKER_ANNOUNCE] = session_on_announce,
	[BROKER_HELLO] = session_on_hello,
	[BROKER_OPEN] = on_open,
	[BROKER_RELEASE] = on_release,
	[BROKER_COMMIT] = on_commit,
	[BROKER_PING] = on_ping,
	[BROKER_FALLOCATE] = on_fallocate,
	[BROKER_SEEK] = on_seek,
	[BROKER_COPY] = on_copy,
	[BROKER_TRUNCATE] = on_truncate,
	[BROKER_SYNC_DIR] = on_sync_dir,
	[BROKER_PROVE] = session_on_prove,
	[BROKER_LOOKUP] = session_on_change,
	[BROKER_MAKE] = session_on_change,
	[BROKER_SYMLINK] = session_on_change,
	[BROKER_REMOVE] = session_on_change,
	[BROKER_RENAME] = session_on_change,
	[BROKER_LINK] = session_on_change,
	[BROKER_SETATTR] = session_on_change,
	[BROKER_DIGEST] = on_digest,
	[BROKER_LIST] = session_on_change,
};

session_handler_fn session_handler(uint32_t type)
{
	return type < ARRAY_SIZE(handlers) ? handlers[type] : NULL;
}
