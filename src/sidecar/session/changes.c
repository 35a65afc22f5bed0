/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The requests that change names and attributes, and LOOKUP and LIST. With the lock, a request becomes a change with
 * the places of its handles. The keeper makes the change if that need not wait for a disk and if the keeper may leave
 * for it. Otherwise a worker does.
 */
#include "sidecar/session/session.h"

#include "base/clock.h"
#include "base/util.h"
#include "sidecar/names/change.h"
#include "wire/broker_messages.h"

/* ---- the change, without the lock ---- */

/* Lends a REMOVE or RENAME the session's descriptor of the file that will lose its last name. */
static void lend(struct session *s, struct name_change *c)
{
	struct broker_fh victim;

	if (!c->may_lend || !name_change_victim(c, &victim))
		return;
	LOCKED(&s->relief.lock);
	c->kept = backing_table_lend(&s->ids, &victim, c->mount);
}

/* True if the session has not ended, and goes by what the request was read with. */
static bool is_same_epoch(const struct session *s, const struct name_change *c)
{
	return s->error == 0 && s->epoch == c->epoch;
}

/* The file's place; false if it must not be granted or watched. */
static bool find_place(struct session *s, const struct name_change *c, const struct broker_fh *fh, struct location *ret)
{
	/* A change that has lasted until another thread keeps the session is judged by the present time. */
	if (!relief_is_keeper(&s->relief))
		work_ends();
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
		name_change_look_into(c);
}

/* Grants a regular file that is made. Returns the descriptor for the client, or -1. */
static int grant_file(struct session *s, struct name_change *c)
{
	const struct broker_make *body = &c->request.make;
	struct location at;
	struct grant_context g = {.server = c->server,
		.at = &at,
		.fuse_fd = s->fuse_fd,
		.own_rights = !s->claims.any,
		.trusted = s->trusted};
	struct grant grant;

	if (!find_place(s, c, &c->made.fh, &at)) {
		c->made.open.reason = REASON_REVOKED;
		return -1;
	}
	g.may_register = session_take_place(s, body->open_flags);
	name_change_grant(c, &g, &grant);
	session_settle_grant(s, g.may_register, &c->made.fh, body->open_flags, &c->made.open, &grant, at.mount);
	return grant.given >= 0
		       ? grant.given
		       : session_descriptor_to_look(s, &g, &c->made.fh, body->open_flags, &grant, &c->made.open);
}

/* True if the change has made something of this type, which the reply describes. */
static bool has_made(const struct name_change *c, mode_t type)
{
	return c->type == BROKER_MAKE && c->made.fh.length > 0 && (c->request.make.mode & S_IFMT) == type;
}

static int reply_to(struct session *s, struct name_change *c, uint64_t request, int given)
{
	struct counters *counters = s->client->broker->counters;
	size_t size = broker_packet_length(c->type | BROKER_REPLY) + c->entries_used;

	if (c->type != BROKER_LIST || c->listed.error < 0)
		return packet_reply(s->client->socket, counters, c->type, request, name_change_reply(c), given);
	if (packet_has_room(s->client->socket, size))
		return packet_reply_listed(s->client->socket, counters, request, &c->listed, c->entries,
			c->entries_used);
	name_change_refuse(c, -E2BIG, REASON_SERVER_DECIDES);
	return packet_reply(s->client->socket, counters, c->type, request, name_change_reply(c), -1);
}

int session_make_change(void *session, struct name_change *c, uint64_t request)
{
	struct session *s = session;
	_cleanup_close_ int given = -1;
	int r = 0;

	if (name_change_prepare(c)) {
		lend(s, c);
		name_change_run(c);
	}
	if (has_made(c, S_IFDIR))
		watch_made(s, c);
	LOCKED(&s->relief.lock);
	if (c->type == BROKER_LOOKUP && c->found.fh.length > 0)
		watch_found(s, c);
	if (has_made(c, S_IFREG)) {
		given = grant_file(s, c);
		/* The client may remove the file as soon as it has the reply: then nobody may have it open. */
		close_fdp(&c->file);
	}
	if (!is_same_epoch(s, c))
		c->found.watched = c->listed.watched = c->made.open.watched = 0;
	if (name_change_took(c))
		r = session_tell(s, true);
	/*
	 * With the lock: what the reply grants is told before it is taken back. So the others wait for this reply, if
	 * the client does not read; but not for one after the other.
	 */
	if (r >= 0)
		r = s->mute ? -EPIPE : reply_to(s, c, request, given);
	s->mute = s->mute || r < 0;
	return r;
}

/* ---- the request, with the lock ---- */

/* What a change needs of its request to find its files. */
struct target {
	const struct broker_fh *fh, *fh2; /* fh2: NULL if the change has one file */
	const struct broker_cred *cred;
	uint32_t flags; /* enum broker_change_flags */
};

#define TARGET(q, first, second) ((struct target){&(q).first, second, &(q).cred, (q).flags})
/* Makes nothing that could be stable. */
#define READING_TARGET(q) ((struct target){&(q).dir, NULL, &(q).cred, BROKER_CHANGE_LAZY})

static struct target target_of(const struct name_change *c)
{
	switch (c->type) {
	case BROKER_MAKE:
		return TARGET(c->request.make, dir, NULL);
	case BROKER_SYMLINK:
		return TARGET(c->request.symlink, dir, NULL);
	case BROKER_REMOVE:
		return TARGET(c->request.remove, dir, NULL);
	case BROKER_RENAME:
		return TARGET(c->request.rename, dir, &c->request.rename.dir2);
	case BROKER_LINK:
		return TARGET(c->request.link, dir, &c->request.link.fh);
	case BROKER_SETATTR:
		return TARGET(c->request.setattr, fh, NULL);
	case BROKER_LIST:
		return READING_TARGET(c->request.list);
	default:
		return READING_TARGET(c->request.lookup);
	}
}

/* The place of a handle, for a change by the credential. */
static enum reason find(struct session *s, const struct broker_fh *fh, const struct broker_cred *cred,
	struct location *ret)
{
	enum reason reason = session_find_claimed(s, fh, cred, ret);

	return reason == REASON_NONE && !locator_same_view(&s->locator, ret) ? REASON_OTHER_MOUNTS : reason;
}

/* True if both places are below one mount of one export. */
static bool is_same_export(const struct location *a, const struct location *b)
{
	return a->slot == b->slot && a->mount == b->mount && a->entry == b->entry;
}

/* 0, or a negative errno and a reason. */
static int find_places(struct session *s, struct name_change *c, const struct target *t, enum reason *ret_reason)
{
	*ret_reason = find(s, t->fh, t->cred, &c->at);
	if (*ret_reason == REASON_NONE && t->fh2 != NULL)
		*ret_reason = find(s, t->fh2, t->cred, &c->at2);
	if (*ret_reason != REASON_NONE)
		return session_error_of(*ret_reason);
	*ret_reason = REASON_SERVER_DECIDES;
	if (t->fh2 != NULL && !is_same_export(&c->at, &c->at2))
		return -EXDEV;
	c->mount = export_mount_ref(c->at.mount);
	c->at.entry = c->at2.entry = NULL;
	c->at.slot = c->at2.slot = NULL;
	return 0;
}

/* Which directories of the change the session has notices of. */
static void find_notices(struct session *s, struct name_change *c, const struct target *t)
{
	c->noticed = listener_watches(s->listener, c->mount, &c->at.handle);
	c->noticed2 = t->fh2 != NULL && listener_watches(s->listener, c->mount, &c->at2.handle);
}

/* What the session adds to the change. */
static void add_own(struct session *s, struct name_change *c, const struct target *t)
{
	c->epoch = s->epoch;
	/* Before names are looked up or read, so that each change is either seen here or noticed. */
	if (c->type == BROKER_LOOKUP)
		c->found.watched = listener_watch(s->listener, c->mount, &c->at.handle, t->fh, true);
	else if (c->type == BROKER_LIST)
		c->listed.watched = listener_watch(s->listener, c->mount, &c->at.handle, t->fh, true);
	else
		find_notices(s, c, t);
	if (c->type == BROKER_SETATTR)
		c->file = backing_table_copy(&s->ids, t->fh, c->mount);
	c->may_lend = backing_table_count(&s->ids) > 0;
}

/* Replies to a change that is not made. Takes the change over. */
static int refuse(struct session *s, const struct packet *p, struct name_change *c, int error, enum reason reason)
{
	int r;

	name_change_refuse(c, error, reason);
	r = session_reply(s, p, name_change_reply(c), -1);
	(void)name_change_free(c);
	return r;
}

static int refuse_without_memory(struct session *s, const struct packet *p)
{
	struct name_change none = {.type = p->header.type};

	name_change_refuse(&none, -ENOMEM, REASON_LIMIT);
	return session_reply(s, p, name_change_reply(&none), -1);
}

/* Makes the change, or gives it to a worker. Takes the change over. */
static int start(struct session *s, const struct packet *p, struct name_change *c)
{
	struct file_job job = {.type = p->header.type, .request = p->header.id, .fd = -1, .target = -1, .names = c};
	int r;

	if (c->stable || !relief_may_leave(&s->relief)) {
		r = file_jobs_add(&s->jobs, &job);
		return r >= 0 ? 0 : refuse(s, p, c, r, REASON_LIMIT);
	}
	relief_leave(&s->relief);
	r = session_make_change(s, c, p->header.id);
	(void)name_change_free(c); /* which may be the end of a large file */
	relief_return(&s->relief);
	return r;
}

int session_on_change(struct session *s, struct packet *p)
{
	const struct server_kind *server = s->locator.table->server;
	struct name_change *c = name_change_new(p->header.type, server, &p->body, p->header.length - sizeof(p->header));
	enum reason reason;
	struct target t;
	int r;

	if (c == NULL)
		return refuse_without_memory(s, p);
	t = target_of(c);
	/* Names are stable before the answer where the server does that, too. */
	c->stable = server->syncs_names && (t.flags & BROKER_CHANGE_LAZY) == 0;
	r = find_places(s, c, &t, &reason);
	if (r < 0)
		return refuse(s, p, c, r, reason);
	add_own(s, c, &t);
	return start(s, p, c);
}
