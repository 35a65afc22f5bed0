/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "fuse/lease/lease.h"

#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "fuse/fs/convert.h"
#include "fuse/known/known.h"

/* A notice that waits for the answer to a change by this mount. */
struct waiting {
	struct list node;
	struct inode *inode; /* a reference */
	uint64_t until_ms;
	struct broker_notice notice;
};

struct lease {
	struct fs *fs;
	struct broker_call ping;
	bool pinging;
	uint64_t pinged_ms;
	uint64_t number; /* of the last lease */
	atomic_bool wanted;
	atomic_uint_fast64_t used_ms; /* when the sidecar last said that it watches; 0: never */
	uint64_t rest_until_ms;       /* until then no new lease begins */
	uint64_t forgot_ms;           /* when the kernel last forgot its names */
	bool forgets;                 /* it has to forget them LEASE_FORGET_MS after that */
	uint64_t second_ms;           /* when a second began, and how many foreign changes came since */
	unsigned changes;
	struct list later;
	atomic_uint nlater;
};

int lease_new(struct fs *fs)
{
	struct lease *l = calloc(1, sizeof(*l));

	if (!l)
		return -ENOMEM;
	l->fs = fs;
	list_init(&l->later);
	fs->lease = l;
	return 0;
}

static void drop(struct lease *l, struct waiting *w)
{
	list_remove(&w->node);
	l->nlater--;
	(void)inode_unref(l->fs->inodes, w->inode);
	free(w);
}

static void drop_all(struct lease *l)
{
	LIST_FOREACH (pos, &l->later) {
		drop(l, CONTAINER_OF(pos, struct waiting, node));
	}
}

struct lease *lease_free(struct lease *l)
{
	if (l)
		drop_all(l);
	free(l);
	return NULL;
}

/* ---- the kernel forgets ---- */

static void forget_now(struct lease *l)
{
	l->forgets = false;
	l->forgot_ms = work_ms();
	l->fs->counters.notices_forgets++;
	known_make_kernel_forget(l->fs);
}

static void forget(struct lease *l)
{
	if (time_since(l->forgot_ms, work_ms()) >= LEASE_FORGET_MS)
		forget_now(l);
	else
		l->forgets = true;
}

/* The sidecar must say again of the directories that the daemon has made that they are watched. */
static void doubt_born(struct lease *l)
{
	l->fs->born = ++l->number;
	if (atomic_exchange(&l->fs->has_born, false))
		forget(l);
}

static void end(struct lease *l, const char *why, unsigned rest_ms)
{
	l->wanted = false;
	l->rest_until_ms = work_ms() + rest_ms;
	drop_all(l);
	if (l->fs->leased == 0)
		return;
	l->fs->leased = l->fs->born = 0;
	log_debug("the lease on names ends: %s", why);
	forget_now(l);
}

/* ---- the lease ---- */

/* Ends a lease that nobody has used for so long that neither kernel nor daemon believes anything by it. */
static void end_unused(struct lease *l)
{
	if (l->fs->leased == 0 || time_since(l->used_ms, work_ms()) <= KNOWN_WATCHED_MS + LEASE_SPARE_MS)
		return;
	log_debug("the lease on names ends: it is not used");
	l->fs->leased = l->fs->born = 0;
	l->wanted = false;
	drop_all(l);
}

static void on_ping_answered(struct broker_call *call, int error, const void *body)
{
	struct lease *l = CONTAINER_OF(call, struct lease, ping);

	(void)body;
	l->pinging = false;
	/* That PING has asked for notices. A mount that nobody uses keeps no lease, which would wake it up for ever. */
	if (l->used_ms == 0)
		l->wanted = false;
	if (error < 0 || l->fs->leased != 0 || !l->wanted || work_ms() < l->rest_until_ms)
		return;
	l->fs->leased_from = attr_clock_tick();
	l->fs->leased = ++l->number;
	l->fs->born = ++l->number;
	log_debug("the lease on names begins");
}

static void ping(struct lease *l)
{
	l->pinging = true;
	l->pinged_ms = work_ms();
	l->ping.done = on_ping_answered;
	probe_send(l->fs->probe, &l->ping, BROKER_PING, NULL, 0);
}

void lease_want(struct fs *fs)
{
	struct lease *l = fs->lease;

	if (!l || !fs->forgets_names || fs->options->nonotices)
		return;
	l->used_ms = work_ms();
	if (fs->leased == 0 && !atomic_exchange(&l->wanted, true))
		probe_wake(fs->probe);
}

bool lease_is_watched(const struct fs *fs)
{
	return fs->lease && fs->lease->used_ms != 0;
}

void lease_change_ended(struct fs *fs)
{
	if (fs->lease && fs->lease->nlater > 0)
		probe_wake(fs->probe);
}

void lease_session(struct fs *fs, bool up)
{
	struct lease *l = fs->lease;

	if (!l)
		return;
	if (!up)
		end(l, "the session with the sidecar has ended", 0);
	l->used_ms = 0;
	l->wanted = up && fs->forgets_names && !fs->options->nonotices;
}

/* ---- notices ---- */

static struct known_notice take_apart(const struct broker_notice *n)
{
	const struct broker_version *v = &n->version;
	struct known_notice k = {.has_version = n->has_version != 0};

	k.version.size = v->size;
	k.version.mtime = (struct timespec){.tv_sec = v->mtime_sec, .tv_nsec = v->mtime_nsec};
	k.version.ctime = (struct timespec){.tv_sec = v->ctime_sec, .tv_nsec = v->ctime_nsec};
	if (n->kind != BROKER_NOTICE_NAME || memchr(n->name, '\0', sizeof(n->name)) == NULL)
		return k;
	k.name = n->name;
	k.has_state = n->state == BROKER_NAME_ABSENT ||
		      (n->state == BROKER_NAME_PRESENT && nfs_fh_of_broker(&n->child, &k.fh));
	return k;
}

static void count_change(struct lease *l)
{
	uint64_t now = work_ms();

	if (time_since(l->second_ms, now) >= 1000) {
		l->second_ms = now;
		l->changes = 0;
	}
	if (++l->changes > LEASE_CHANGES)
		end(l, "too many changes by others", LEASE_STORM_MS);
}

/* False if the notice has to wait. */
static bool obey(struct lease *l, struct inode *i, const struct broker_notice *n, bool overdue)
{
	struct known_notice k = take_apart(n);
	enum known_noticed r = n->kind == BROKER_NOTICE_ATTR || i->type != S_IFDIR
				       ? known_notice_attributes(l->fs, i, &k, overdue)
				       : known_notice_name(l->fs, i, &k, overdue);

	if (r == NOTICED_LATER)
		return false;
	if (r == NOTICED_FORGET)
		forget(l);
	if (r != NOTICED_OWN && n->kind != BROKER_NOTICE_ATTR)
		doubt_born(l);
	if (r != NOTICED_OWN)
		count_change(l);
	return true;
}

/* Lets the notice wait; takes the reference to the inode. False without room. */
static bool keep(struct lease *l, struct inode *i, const struct broker_notice *n)
{
	struct waiting *w = l->nlater < LEASE_LATER ? calloc(1, sizeof(*w)) : NULL;

	if (!w)
		return false;
	w->inode = i;
	w->until_ms = work_ms() + LEASE_LATER_MS;
	w->notice = *n;
	list_append(&l->later, &w->node);
	l->nlater++;
	return true;
}

void lease_notice(struct fs *fs, const struct broker_notice *n)
{
	struct lease *l = fs->lease;
	struct nfs_fh fh;
	struct inode *i;

	if (!l)
		return;
	fs->counters.notices++;
	if (n->kind == BROKER_NOTICE_DOUBT) {
		end(l, "the sidecar has lost notices", LEASE_REST_MS);
		return;
	}
	if (fs->leased == 0 || !nfs_fh_of_broker(&n->fh, &fh))
		return;
	/* Answers on their way may be older than the change, and no inode remembers that. */
	i = inode_table_find(fs->inodes, &fh);
	if (!i) {
		fs->leased_from = attr_clock_tick();
		doubt_born(l); /* it may be of a directory that the daemon is making */
	} else if (obey(l, i, n, false) || (!keep(l, i, n) && obey(l, i, n, true)))
		(void)inode_unref(fs->inodes, i);
}

/* Looks at the notices that wait. Returns the milliseconds until the first is overdue, or -1. */
static int look_again(struct lease *l)
{
	uint64_t now = work_ms();

	LIST_FOREACH (pos, &l->later) {
		struct waiting *w = CONTAINER_OF(pos, struct waiting, node);

		if (l->fs->leased != 0 && obey(l, w->inode, &w->notice, now >= w->until_ms) && l->fs->leased != 0)
			drop(l, w);
		if (l->fs->leased == 0)
			break;
	}
	if (l->fs->leased == 0)
		drop_all(l);
	return l->nlater > 0 ? LEASE_LATER_MS : -1;
}

/* The smaller of two times, of which -1 is none. */
static int sooner(int a, int b)
{
	return a < 0 || b < 0 ? MAX(a, b) : MIN(a, b);
}

/* When the next PING may be sent. */
static uint64_t ping_due(const struct lease *l)
{
	return l->fs->leased != 0 ? l->pinged_ms + LEASE_PING_MS : MAX(l->pinged_ms + LEASE_BEGIN_MS, l->rest_until_ms);
}

int lease_housekeep(struct fs *fs)
{
	struct lease *l = fs->lease;
	uint64_t now = work_ms();
	int next;

	if (!l)
		return -1;
	next = look_again(l);
	if (l->forgets && time_since(l->forgot_ms, now) >= LEASE_FORGET_MS)
		forget_now(l);
	if (l->forgets)
		next = sooner(next, LEASE_FORGET_MS);
	end_unused(l);
	if (l->pinging && fs->leased != 0 && time_since(l->pinged_ms, now) >= LEASE_PATIENCE_MS)
		end(l, "the sidecar does not answer", 0);
	if (!l->pinging && (fs->leased != 0 || l->wanted)) {
		uint64_t due = ping_due(l);

		if (now >= due)
			ping(l);
		next = sooner(next, (int)(due > now ? due - now : LEASE_PING_MS));
	} else if (l->pinging && fs->leased != 0) {
		next = sooner(next,
			(int)(LEASE_PATIENCE_MS - MIN(time_since(l->pinged_ms, now), LEASE_PATIENCE_MS - 1)));
	}
	return next;
}
