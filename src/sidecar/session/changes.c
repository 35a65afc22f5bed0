/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The requests that change names and attributes, and LOOKUP. The keeper prepares a change, and makes it if that need
 * not wait for a disk and if the keeper may leave for it. Otherwise a worker makes the change.
 */
#include "sidecar/session/session.h"

#include <stdio.h>
#include <string.h>

#include "base/util.h"
#include "sidecar/names/make.h"

/* The place of a handle, for a change by the credential. */
static enum reason find(struct session *s, const struct broker_fh *fh, const struct broker_cred *cred,
	struct location *ret)
{
	enum reason reason = session_find_claimed(s, fh, cred, ret);

	return reason == REASON_NONE && !locator_same_view(&s->locator, ret) ? REASON_OTHER_MOUNTS : reason;
}

static struct grant_context context(const struct session *s, const struct location *at)
{
	return (struct grant_context){.server = s->locator.table->server, .at = at, .fuse_fd = -1};
}

/* ---- the change, without the lock ---- */

/* Lends a REMOVE or RENAME the session's descriptor of the file that will lose its last name. */
static void lend(struct session *s, struct name_change *c)
{
	struct broker_fh victim;

	if (c->mount == NULL || !name_change_victim(c, &victim))
		return;
	LOCKED(&s->relief.lock);
	c->kept = backing_table_lend(&s->ids, &victim, c->mount);
}

/* True if the session has not ended, and goes by what the change was prepared with. */
static bool is_same_epoch(const struct session *s, const struct name_change *c)
{
	return s->error == 0 && s->epoch == c->epoch;
}

/* The file's place; false if it must not be granted or watched. */
static bool find_place(struct session *s, const struct name_change *c, const struct broker_fh *fh, struct location *ret)
{
	return is_same_epoch(s, c) && locator_find(&s->locator, fh, ret) == REASON_NONE;
}

/* Watches the attributes of a file that the client is about to be told. */
static void watch_found(struct session *s, const struct name_change *c)
{
	struct location at;

	if (find_place(s, c, &c->found.fh, &at))
		(void)listener_watch(s->listener, at.mount, &at.handle, &c->found.fh, S_ISDIR(c->found.attr.mode));
}

/* The client goes on to know the names of a directory that it has made: it is told of those that others make. */
static void watch_made(struct session *s, struct name_change *c)
{
	struct location at;

	{
		LOCKED(&s->relief.lock);
		if (find_place(s, c, &c->made.fh, &at))
			c->made.open.watched = listener_watch(s->listener, at.mount, &at.handle, &c->made.fh, true);
	}
	if (c->made.open.watched)
		names_look_into_made(c);
}

/* Grants a regular file that is made. Returns the descriptor for the client, or -1. */
static int grant_file(struct session *s, struct name_change *c)
{
	const struct broker_make *body = &c->request.make;
	struct location at;
	struct grant_context g = context(s, &at);
	struct grant grant;
	bool place;

	if (!find_place(s, c, &c->made.fh, &at)) {
		c->made.open.reason = REASON_REVOKED;
		return -1;
	}
	place = session_take_place(s, body->open_flags);
	g.fuse_fd = s->fuse_fd;
	g.own_rights = !s->claims.any;
	g.trusted = s->trusted;
	g.may_register = place;
	names_grant_made(c, &g, &grant);
	session_settle_grant(s, place, &c->made.fh, body->open_flags, &c->made.open, &grant, at.mount);
	return grant.given;
}

/* True if the change has made something of this type, which the reply describes. */
static bool has_made(const struct name_change *c, mode_t type)
{
	return c->type == BROKER_MAKE && c->made.fh.length > 0 && (c->request.make.mode & S_IFMT) == type;
}

int session_make_change(void *session, struct name_change *c, uint64_t request)
{
	struct session *s = session;
	_cleanup_close_ int given = -1;
	int r = 0;

	lend(s, c);
	name_change_run(c);
	if (has_made(c, S_IFDIR))
		watch_made(s, c);
	LOCKED(&s->relief.lock);
	if (c->type == BROKER_LOOKUP && c->found.error == 0)
		watch_found(s, c);
	if (has_made(c, S_IFREG))
		given = grant_file(s, c);
	if (!is_same_epoch(s, c))
		c->found.watched = c->made.open.watched = 0;
	if (name_change_took(c))
		r = session_tell(s, true);
	/*
	 * With the lock: what the reply grants is told before it is taken back. So the others wait for this reply, if
	 * the client does not read; but not for one after the other.
	 */
	if (r >= 0)
		r = s->mute ? -EPIPE
			    : packet_reply(s->client->socket, s->client->broker->counters, c->type, request,
				      name_change_reply(c), given);
	s->mute = s->mute || r < 0;
	return r;
}

/* ---- the preparation ---- */

/* An empty change, which the keeper makes if it may. NULL without memory. */
static struct name_change *change_new(struct session *s, uint32_t type, uint32_t flags)
{
	/* Names are stable before the answer where the server does that, too. */
	bool stable = s->locator.table->server->syncs_names && (flags & BROKER_CHANGE_LAZY) == 0;
	struct name_change *c = name_change_new(type, stable, !stable && relief_may_leave(&s->relief));

	if (c != NULL)
		c->epoch = s->epoch;
	return c;
}

/* Replies to the request for a change that is not made. Takes the change over. */
static int refuse(struct session *s, const struct packet *p, struct name_change *c, int error, enum reason reason)
{
	struct name_change none = {.type = p->header.type};
	int r;

	name_change_refuse(c != NULL ? c : &none, error, reason);
	r = session_reply(s, p, name_change_reply(c != NULL ? c : &none), -1);
	(void)name_change_free(c);
	return r;
}

/* Makes the prepared change, or gives it to a worker; refuses it after an error. Takes the change over. */
static int start(struct session *s, const struct packet *p, struct name_change *c, int r, enum reason reason)
{
	struct file_job job = {.type = p->header.type, .request = p->header.id, .fd = -1, .target = -1, .names = c};

	if (c == NULL)
		return refuse(s, p, NULL, -ENOMEM, REASON_LIMIT);
	if (r < 0)
		return refuse(s, p, c, r, reason);
	if (!c->now) {
		r = file_jobs_add(&s->jobs, &job);
		return r >= 0 ? 0 : refuse(s, p, c, r, REASON_LIMIT);
	}
	relief_leave(&s->relief);
	r = session_make_change(s, c, p->header.id);
	(void)name_change_free(c); /* which may be the end of a large file */
	relief_return(&s->relief);
	return r;
}

int session_on_lookup(struct session *s, struct packet *p)
{
	const struct broker_lookup *body = &p->body.lookup;
	struct name_change *c = change_new(s, p->header.type, BROKER_CHANGE_LAZY);
	struct location at;
	enum reason reason = find(s, &body->dir, &body->cred, &at);
	struct grant_context g = context(s, &at);
	int r = reason != REASON_NONE ? session_error_of(reason) : 0;

	/* Before the name is looked up, so that each change is either seen here or noticed. */
	if (r >= 0 && c != NULL)
		c->found.watched = listener_watch(s->listener, at.mount, &at.handle, &body->dir, true);
	if (r >= 0 && c != NULL)
		r = name_change_lookup(c, &g, body);
	return start(s, p, c, r, reason != REASON_NONE ? reason : REASON_SERVER_DECIDES);
}

int session_on_make(struct session *s, struct packet *p)
{
	const struct broker_make *body = &p->body.make;
	struct name_change *c = change_new(s, p->header.type, body->flags);
	struct location at;
	enum reason reason = find(s, &body->dir, &body->cred, &at);
	struct grant_context g = context(s, &at);
	int r = reason != REASON_NONE ? session_error_of(reason) : c != NULL ? name_change_make(c, &g, body) : 0;

	return start(s, p, c, r, reason != REASON_NONE ? reason : REASON_SERVER_DECIDES);
}

int session_on_symlink(struct session *s, struct packet *p)
{
	const struct broker_symlink *body = &p->body.symlink;
	struct name_change *c = change_new(s, p->header.type, body->flags);
	struct location at;
	enum reason reason = find(s, &body->dir, &body->cred, &at);
	struct grant_context g = context(s, &at);
	int r = reason != REASON_NONE ? session_error_of(reason) : c != NULL ? name_change_symlink(c, &g, body) : 0;

	return start(s, p, c, r, reason != REASON_NONE ? reason : REASON_SERVER_DECIDES);
}

/* True if both places are below one mount of one export. */
static bool is_same_export(const struct location *a, const struct location *b)
{
	return a->slot == b->slot && a->mount == b->mount && a->entry == b->entry;
}

int session_on_remove(struct session *s, struct packet *p)
{
	const struct broker_remove *body = &p->body.remove;
	struct name_change *c = change_new(s, p->header.type, body->flags);
	struct location at;
	enum reason reason = find(s, &body->dir, &body->cred, &at);
	struct grant_context g = context(s, &at);
	int r = reason != REASON_NONE ? session_error_of(reason) : c != NULL ? name_change_remove(c, &g, body) : 0;

	if (r >= 0 && c != NULL && backing_table_count(&s->ids) > 0)
		c->mount = at.mount;
	return start(s, p, c, r, reason != REASON_NONE ? reason : REASON_SERVER_DECIDES);
}

int session_on_rename(struct session *s, struct packet *p)
{
	const struct broker_rename *body = &p->body.rename;
	struct name_change *c = change_new(s, p->header.type, body->flags);
	struct location at, at2;
	enum reason reason = find(s, &body->dir, &body->cred, &at);
	struct grant_context g = context(s, &at), g2 = context(s, &at2);
	int r;

	if (reason == REASON_NONE)
		reason = find(s, &body->dir2, &body->cred, &at2);
	r = reason != REASON_NONE ? session_error_of(reason) : is_same_export(&at, &at2) ? 0 : -EXDEV;
	if (r >= 0 && c != NULL)
		r = name_change_rename(c, &g, &g2, body);
	if (r >= 0 && c != NULL && backing_table_count(&s->ids) > 0)
		c->mount = at.mount;
	return start(s, p, c, r, reason != REASON_NONE ? reason : REASON_SERVER_DECIDES);
}

int session_on_link(struct session *s, struct packet *p)
{
	const struct broker_link *body = &p->body.link;
	struct name_change *c = change_new(s, p->header.type, body->flags);
	struct location at, at2;
	enum reason reason = find(s, &body->dir, &body->cred, &at);
	struct grant_context g = context(s, &at), g2 = context(s, &at2);
	int r;

	if (reason == REASON_NONE)
		reason = find(s, &body->fh, &body->cred, &at2);
	r = reason != REASON_NONE ? session_error_of(reason) : is_same_export(&at, &at2) ? 0 : -EXDEV;
	if (r >= 0 && c != NULL)
		r = name_change_link(c, &g, &g2, body);
	return start(s, p, c, r, reason != REASON_NONE ? reason : REASON_SERVER_DECIDES);
}

int session_on_setattr(struct session *s, struct packet *p)
{
	const struct broker_setattr *body = &p->body.setattr;
	struct name_change *c = change_new(s, p->header.type, body->flags);
	struct location at;
	enum reason reason = find(s, &body->fh, &body->cred, &at);
	struct grant_context g = context(s, &at);
	int r = reason != REASON_NONE ? session_error_of(reason) : 0;

	if (r >= 0 && c != NULL) {
		c->file = backing_table_copy(&s->ids, &body->fh, at.mount);
		r = name_change_setattr(c, &g, body);
	}

	return start(s, p, c, r, reason != REASON_NONE ? reason : REASON_SERVER_DECIDES);
}
