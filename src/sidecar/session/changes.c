/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The requests that change names and attributes. MAKE and SYMLINK are made here, because a MAKE grants a backing id,
 * which belongs to the session's thread; workers make the other changes (names/change.h), and sync names.
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

/* True if the sidecar must make names stable before it answers. */
static bool is_stable(const struct session *s, uint32_t flags)
{
	return s->locator.table->server->syncs_names && (flags & BROKER_CHANGE_LAZY) == 0;
}

/* ---- MAKE, SYMLINK ---- */

static int refuse_make(struct session *s, const struct packet *p, int error, enum reason reason)
{
	struct broker_made reply = {.error = error, .reason = reason};

	return session_reply(s, p, &reply, -1);
}

/*
 * Answers, or lets a worker answer after it has made the names stable. If no worker takes the job, this thread makes
 * them stable. Takes the descriptors over.
 */
static int answer_made(struct session *s, const struct packet *p, bool stable, struct names_directory *dir,
	const struct broker_made *reply, int given)
{
	struct name_change *c = stable && reply->error == 0 ? name_change_new(p->header.type, true) : NULL;
	struct file_job job = {.type = p->header.type, .request = p->header.id, .fd = -1, .target = -1, .names = c};
	struct broker_made made = *reply;
	int r;

	if (c != NULL) {
		c->dir = *dir;
		c->made = *reply;
		c->given = given;
		if (file_jobs_add(&s->jobs, &job) >= 0)
			return 0;
		name_change_run(c);
		made = c->made;
		c->dir.fd = c->given = -1;
		(void)name_change_free(c);
	} else if (stable && reply->error == 0) {
		made.error = names_directory_sync(dir);
	}
	r = session_reply(s, p, &made, given);
	(void)close_fd(given);
	names_directory_close(dir);
	return r;
}

/* The client goes on to know the names of a directory that it has made: it is told of those that others make. */
static void watch_new(struct session *s, const struct location *at, const char *name, const struct names_directory *dir,
	struct broker_made *reply)
{
	struct nfs_handle h;

	if (s->locator.table->server->decode(&reply->fh, &h) != REASON_NONE)
		return;
	reply->open.watched = listener_watch(s->listener, at->mount, &h, &reply->fh, true);
	if (reply->open.watched)
		names_look_into(dir, name, &reply->open.attr);
}

int session_on_make(struct session *s, struct packet *p)
{
	const struct broker_make *body = &p->body.make;
	struct location at;
	enum reason reason = find(s, &body->dir, &body->cred, &at);
	struct grant_context g = context(s, &at);
	struct grant grant = {.kept = -1, .given = -1};
	struct names_directory dir;
	struct broker_made reply;
	bool place;

	if (reason != REASON_NONE)
		return refuse_make(s, p, session_error_of(reason), reason);
	place = S_ISREG(body->mode) && session_take_place(s, body->open_flags);
	g.fuse_fd = s->fuse_fd;
	g.own_rights = !s->claims.any;
	g.trusted = s->trusted;
	g.may_register = place;
	names_make(&g, body, &dir, &reply, &grant);
	if (S_ISDIR(body->mode) && reply.error == 0 && reply.reason == REASON_NONE)
		watch_new(s, &at, body->name, &dir, &reply);
	session_settle_grant(s, place, &reply.fh, reply.error == 0 && S_ISREG(body->mode) ? body->open_flags : 0,
		&reply.open, &grant, at.mount);
	return answer_made(s, p, is_stable(s, body->flags), &dir, &reply, grant.given);
}

int session_on_symlink(struct session *s, struct packet *p)
{
	const struct broker_symlink *body = &p->body.symlink;
	struct location at;
	enum reason reason = find(s, &body->dir, &body->cred, &at);
	struct grant_context g = context(s, &at);
	struct names_directory dir;
	struct broker_made reply;

	if (reason != REASON_NONE)
		return refuse_make(s, p, session_error_of(reason), reason);
	names_symlink(&g, body, &dir, &reply);
	return answer_made(s, p, is_stable(s, body->flags), &dir, &reply, -1);
}

/* ---- REMOVE, RENAME, LINK, SETATTR ---- */

/* Gives the prepared change to a worker; refuses it after an error. Takes the change over. */
static int start(struct session *s, const struct packet *p, struct name_change *c, int r, enum reason reason)
{
	struct file_job job = {.type = p->header.type, .request = p->header.id, .fd = -1, .target = -1, .names = c};
	struct broker_changed refused;

	if (c == NULL) {
		r = -ENOMEM;
		reason = REASON_LIMIT;
	}
	if (r >= 0) {
		r = file_jobs_add(&s->jobs, &job);
		reason = REASON_LIMIT;
	}
	if (r >= 0)
		return 0;
	(void)name_change_free(c);
	refused = (struct broker_changed){.error = r, .reason = reason};
	return session_reply(s, p, &refused, -1);
}

/*
 * Lends a prepared change the session's descriptor of the file that will lose its last name. A RENAME to another
 * directory gets none: a waiting job has two descriptors at most (SPARE_FDS of session.c).
 */
static void lend(struct session *s, struct name_change *c, const struct export_mount *mount)
{
	struct broker_fh victim;

	if (c->dir2.fd < 0 && backing_table_count(&s->ids) > 0 && name_change_victim(c, &victim))
		c->kept = backing_table_lend(&s->ids, &victim, mount);
}

/* True if both places are below one mount of one export. */
static bool is_same_export(const struct location *a, const struct location *b)
{
	return a->slot == b->slot && a->mount == b->mount && a->entry == b->entry;
}

int session_on_remove(struct session *s, struct packet *p)
{
	const struct broker_remove *body = &p->body.remove;
	struct name_change *c = name_change_new(p->header.type, is_stable(s, body->flags));
	struct location at;
	enum reason reason = find(s, &body->dir, &body->cred, &at);
	struct grant_context g = context(s, &at);
	int r = reason != REASON_NONE ? session_error_of(reason) : c != NULL ? name_change_remove(c, &g, body) : 0;

	if (r >= 0 && c != NULL)
		lend(s, c, at.mount);
	return start(s, p, c, r, reason != REASON_NONE ? reason : REASON_SERVER_DECIDES);
}

int session_on_rename(struct session *s, struct packet *p)
{
	const struct broker_rename *body = &p->body.rename;
	struct name_change *c = name_change_new(p->header.type, is_stable(s, body->flags));
	struct location at, at2;
	enum reason reason = find(s, &body->dir, &body->cred, &at);
	struct grant_context g = context(s, &at), g2 = context(s, &at2);
	int r;

	if (reason == REASON_NONE)
		reason = find(s, &body->dir2, &body->cred, &at2);
	r = reason != REASON_NONE ? session_error_of(reason) : is_same_export(&at, &at2) ? 0 : -EXDEV;
	if (r >= 0 && c != NULL)
		r = name_change_rename(c, &g, &g2, body);
	if (r >= 0 && c != NULL)
		lend(s, c, at.mount);
	return start(s, p, c, r, reason != REASON_NONE ? reason : REASON_SERVER_DECIDES);
}

int session_on_link(struct session *s, struct packet *p)
{
	const struct broker_link *body = &p->body.link;
	struct name_change *c = name_change_new(p->header.type, is_stable(s, body->flags));
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
	struct name_change *c = name_change_new(p->header.type, is_stable(s, body->flags));
	struct location at;
	enum reason reason = find(s, &body->fh, &body->cred, &at);
	struct grant_context g = context(s, &at);
	int r = reason != REASON_NONE ? session_error_of(reason) : c != NULL ? name_change_setattr(c, &g, body) : 0;

	return start(s, p, c, r, reason != REASON_NONE ? reason : REASON_SERVER_DECIDES);
}
