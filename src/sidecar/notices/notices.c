/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sidecar/notices/notices.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <linux/magic.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fanotify.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/list.h"
#include "base/log.h"
#include "base/util.h"

#define BUFFER   65536
#define MINUTE   60000 /* ms */
#define MOUNTS   16    /* filesystems of one session */
#define MAX_MARK 64    /* filesystems of all sessions */

/* A filesystem that the group watches for some sessions. */
struct mark {
	uint32_t fsid[2];
	unsigned users;
};

struct notices {
	pthread_mutex_t lock;
	int group;
	struct wake wake; /* of the thread */
	pthread_t thread;
	atomic_bool stopping;
	struct list listeners;
	struct mark marks[MAX_MARK];
	unsigned nmarks;
	unsigned overflows; /* since minute_ms */
	uint64_t minute_ms, rest_until_ms;
	uint64_t events, lost; /* since the start: events of the kernel, and overflows */
	uint8_t buffer[BUFFER];
};

struct listener {
	struct list node;
	struct notices *all;
	struct wake wake;
	const struct own_threads *own;
	struct told_table told;
	struct export_mount *mounts[MOUNTS];
	unsigned nmounts;
	bool doubt; /* comes before the queue, which is empty then */
	bool waken; /* the session has to be woken up */
	unsigned first, count;
	struct change queue[NOTICES_QUEUE];
};

/* ---- what happened, to whom ---- */

/* True if the session's client has asked for the change, and it was no write: a write's reply says no attributes. */
static bool is_own(const struct listener *l, const struct notice_event *e)
{
	return (e->mask & FAN_CLOSE_WRITE) == 0 && own_threads_have(l->own, e->thread);
}

/* The caller holds the lock. */
static void put_in_doubt(struct listener *l)
{
	l->doubt = l->waken = true;
	l->first = l->count = 0;
	told_forget(&l->told);
}

/* An entry at the end of the queue; NULL if it is full, and the session is in doubt. The caller holds the lock. */
static struct change *append(struct listener *l)
{
	if (l->count == NOTICES_QUEUE) {
		put_in_doubt(l);
		return NULL;
	}
	l->waken = true;
	return &l->queue[(l->first + l->count++) % NOTICES_QUEUE];
}

/* Adds a change of attributes, unless it is the newest in the queue. */
static void append_attributes(struct listener *l, const struct change *added)
{
	struct change *last = &l->queue[(l->first + l->count - 1) % NOTICES_QUEUE], *c;

	if (l->count > 0 && last->kind == added->kind && memcmp(&last->fh, &added->fh, sizeof(added->fh)) == 0 &&
		last->child_length == added->child_length &&
		memcmp(last->child, added->child, added->child_length) == 0)
		return;
	c = append(l);
	if (c != NULL)
		*c = *added;
}

static void add_attributes(struct listener *l, struct told *e, bool own)
{
	struct change added = {.kind = BROKER_NOTICE_ATTR};

	told_handle(e, &added.fh);
	e->names = TOLD_NAMES_UNDECIDED;
	e->turn++;
	if (!own)
		append_attributes(l, &added);
}

static void set_directory(struct change *c, const struct told *dir)
{
	c->names = dir->names;
	c->turn = dir->turn;
	c->dir_type = dir->type;
	c->dir_length = dir->fid_length;
	memcpy(c->dir, dir->bytes, dir->fid_length);
	told_handle(dir, &c->fh);
	memcpy(c->fsid, dir->fsid, sizeof(c->fsid));
}

/* False if the event names no object, or by a longer handle than a server can tell. */
static bool set_child(struct change *c, const struct event_fid *object)
{
	if (object->length == 0 || object->length > sizeof(c->child))
		return false;
	c->child_type = object->type;
	c->child_length = object->length;
	memcpy(c->child, object->bytes, object->length);
	return true;
}

/*
 * Mode, owner or ACL of a file have changed whose directory the session was told, but not the file: the client may know
 * it from a listing by the NFS server.
 */
static void add_child(struct listener *l, const struct told *dir, const struct event_fid *object)
{
	struct change added = {.kind = BROKER_NOTICE_ATTR};

	set_directory(&added, dir);
	if (set_child(&added, object))
		append_attributes(l, &added);
}

static void add_name(struct listener *l, const struct told *dir, const struct notice_event *e)
{
	struct change *c = append(l);
	int state = event_name_state(e);

	if (c == NULL)
		return;
	c->kind = BROKER_NOTICE_DIRECTORY;
	set_directory(c, dir);
	c->state = state < 0 ? BROKER_NAME_UNKNOWN : state == 0 ? BROKER_NAME_ABSENT : BROKER_NAME_PRESENT;
	c->child_length = 0;
	if (e->name == NULL || strlen(e->name) >= sizeof(c->name))
		return;
	c->kind = BROKER_NOTICE_NAME;
	memset(c->name, 0, sizeof(c->name));
	memcpy(c->name, e->name, strlen(e->name));
	if (state == 1 && !set_child(c, &e->object))
		c->state = BROKER_NAME_UNKNOWN;
}

/* The client's own thread has made a directory, which the client takes for watched. The caller holds the lock. */
static void watch_new(struct listener *l, const struct notice_event *e)
{
	const struct told *dir = told_find(&l->told, &e->dir);

	if (dir != NULL && !told_add_beside(&l->told, dir, &e->object))
		put_in_doubt(l);
}

/* The kernel merges the events of making and of removing a directory: it is gone then. */
static bool is_new_directory(const struct notice_event *e)
{
	return (e->mask & (FAN_ONDIR | FAN_CREATE | FAN_DELETE)) == (FAN_ONDIR | FAN_CREATE);
}

/* The caller holds the lock. */
static void distribute(struct notices *n, const struct notice_event *e)
{
	unsigned changes = event_changes(e);

	LIST_FOREACH (pos, &n->listeners) {
		struct listener *l = CONTAINER_OF(pos, struct listener, node);
		bool own = is_own(l, e);
		struct told *t;

		t = (changes & EVENT_NAME) != 0 && !own ? told_find(&l->told, &e->dir) : NULL;
		if (t != NULL)
			add_name(l, t, e);
		if (is_new_directory(e) && own_threads_is_setter(l->own, e->thread))
			watch_new(l, e);
		t = (changes & EVENT_ATTRIBUTES) != 0 ? told_find(&l->told, &e->object) : NULL;
		if (t != NULL)
			add_attributes(l, t, own);
		else if ((e->mask & FAN_ATTRIB) != 0 && !own && (t = told_find(&l->told, &e->dir)) != NULL)
			add_child(l, t, &e->object);
		/* Of a queue that is full nothing is told any more. */
		t = t != NULL && !l->doubt ? told_find(&l->told, &e->object) : NULL;
		if (t != NULL && ((t->once && !own) || ((e->mask & FAN_DELETE) != 0 && event_name_state(e) == 0)))
			told_remove(&l->told, t);
	}
}

/* The caller holds the lock. */
static void on_overflow(struct notices *n)
{
	uint64_t now = now_ms();

	n->lost++;
	if (time_since(n->minute_ms, now) > MINUTE) {
		n->minute_ms = now;
		n->overflows = 0;
	}
	if (++n->overflows >= NOTICES_OVERFLOWS) {
		n->rest_until_ms = now + NOTICES_REST_MS;
		log_info_limited("the filesystems change too fast for change notices; for %d s there are none",
			NOTICES_REST_MS / 1000);
	}
	LIST_FOREACH (pos, &n->listeners) {
		put_in_doubt(CONTAINER_OF(pos, struct listener, node));
	}
}

/* Reads events once; returns how many. The caller holds the lock. */
static unsigned read_events(struct notices *n)
{
	ssize_t bytes = read(n->group, n->buffer, sizeof(n->buffer));
	size_t at = 0, length;
	unsigned count = 0;
	struct notice_event e;

	for (; bytes > 0 && at < (size_t)bytes; at += length) {
		length = event_parse(n->buffer + at, (size_t)bytes - at, &e);
		if (length == 0 || e.overflow)
			on_overflow(n);
		else
			distribute(n, &e);
		if (length == 0)
			break;
		count++;
	}
	n->events += count;
	return count;
}

/* ---- the group and its thread ---- */

/*
 * Wakes the sessions with changes up; false if there are none. Only on the thread: the table of a session has no
 * descriptor of others.
 */
static bool wake_sessions(struct notices *n)
{
	bool any = false;

	LIST_FOREACH (pos, &n->listeners) {
		struct listener *l = CONTAINER_OF(pos, struct listener, node);

		if (l->waken)
			wake_up(l->wake);
		any |= l->waken;
		l->waken = false;
	}
	return any;
}

static void drop_capabilities(void)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct none[2] = {{0}};

	if (syscall(SYS_capset, &header, none) < 0)
		log_error("the thread of the change notices keeps its capabilities: %s", strerror(errno));
}

/* Distributes the events of one read. False if they concern no session. */
static bool tell_all(struct notices *n)
{
	LOCKED(&n->lock);
	(void)read_events(n);
	return wake_sessions(n);
}

static void *run(void *arg)
{
	struct notices *n = arg;
	struct pollfd fds[] = {{.fd = n->group, .events = POLLIN}, {.fd = n->wake.fd, .events = POLLIN}};

	(void)prctl(PR_SET_NAME, "notices", 0, 0, 0);
	drop_capabilities();
	while (!n->stopping) {
		if (poll(fds, ARRAY_SIZE(fds), -1) < 0)
			continue;
		if (fds[1].revents != 0)
			wake_take(n->wake);
		if (!tell_all(n))
			(void)poll(&fds[1], 1, NOTICES_PAUSE_MS);
	}
	return NULL;
}

int notices_new(struct notices **ret)
{
	struct notices *n = calloc(1, sizeof(*n));
	int r;

	if (n == NULL)
		return -ENOMEM;
	n->wake = WAKE_CLOSED;
	list_init(&n->listeners);
	(void)pthread_mutex_init(&n->lock, NULL);
	n->group = fanotify_init(FAN_CLASS_NOTIF | FAN_CLOEXEC | FAN_NONBLOCK | FAN_REPORT_TID |
					 FAN_REPORT_DFID_NAME_TARGET,
		O_RDONLY);
	r = n->group < 0 ? -errno : wake_open(&n->wake);
	if (r >= 0)
		r = -pthread_create(&n->thread, NULL, run, n);
	if (r < 0) {
		wake_close(&n->wake);
		(void)close_fd(n->group);
		(void)pthread_mutex_destroy(&n->lock);
		free(n);
		return r;
	}
	*ret = n;
	return 0;
}

struct notices *notices_free(struct notices *n)
{
	if (n == NULL)
		return NULL;
	n->stopping = true;
	wake_up(n->wake);
	(void)pthread_join(n->thread, NULL);
	wake_close(&n->wake);
	(void)close_fd(n->group);
	(void)pthread_mutex_destroy(&n->lock);
	free(n);
	return NULL;
}

int notices_group_fd(const struct notices *n)
{
	return n != NULL ? n->group : -1;
}

int notices_wake_fd(const struct notices *n)
{
	return n != NULL ? n->wake.fd : -1;
}

void notices_look(struct notices *n, struct notices_state *ret)
{
	*ret = (struct notices_state){0};
	if (n == NULL)
		return;
	LOCKED(&n->lock);
	ret->watching = now_ms() >= n->rest_until_ms;
	ret->filesystems = n->nmarks;
	ret->events = n->events;
	ret->overflows = n->lost;
	LIST_FOREACH (pos, &n->listeners) {
		ret->sessions++;
		ret->objects += CONTAINER_OF(pos, struct listener, node)->told.all.count;
	}
}

/* ---- marks ---- */

static struct mark *find_mark(struct notices *n, const uint32_t fsid[2])
{
	for (unsigned i = 0; i < n->nmarks; i++)
		if (memcmp(n->marks[i].fsid, fsid, sizeof(n->marks[i].fsid)) == 0)
			return &n->marks[i];
	return NULL;
}

/*
 * Watches the filesystem of a mount. -EXDEV for a subvolume of btrfs, which has another fsid than its filesystem. The
 * caller holds the lock.
 */
static int add_mark(struct notices *n, const struct export_mount *m)
{
	struct mark *mark = find_mark(n, m->id.fsid);

	if (mark == NULL && n->nmarks == MAX_MARK)
		return -ENOSPC;
	/* Again for each user: another filesystem with this fsid may have been mounted before. */
	if (fanotify_mark(n->group, FAN_MARK_ADD | FAN_MARK_FILESYSTEM, EVENT_MASK, m->root, NULL) < 0)
		return -errno;
	if (mark == NULL) {
		mark = &n->marks[n->nmarks++];
		memcpy(mark->fsid, m->id.fsid, sizeof(mark->fsid));
		mark->users = 0;
	}
	mark->users++;
	return 0;
}

static void remove_mark(struct notices *n, const struct export_mount *m)
{
	struct mark *mark = find_mark(n, m->id.fsid);

	if (mark == NULL || --mark->users > 0)
		return;
	(void)fanotify_mark(n->group, FAN_MARK_REMOVE | FAN_MARK_FILESYSTEM, EVENT_MASK, m->root, NULL);
	*mark = n->marks[--n->nmarks];
}

/* ---- listeners ---- */

int listener_new(struct notices *n, struct wake wake, const struct own_threads *own, struct listener **ret)
{
	struct listener *l = calloc(1, sizeof(*l));

	if (l == NULL)
		return -ENOMEM;
	l->all = n;
	l->wake = wake;
	l->own = own;
	told_init(&l->told);
	LOCKED(&n->lock);
	list_append(&n->listeners, &l->node);
	*ret = l;
	return 0;
}

/* Lets go of the mounts, which may close their last descriptors: without the lock. */
static void let_mounts_go(struct listener *l)
{
	struct export_mount *mounts[MOUNTS];
	unsigned count;

	{
		LOCKED(&l->all->lock);
		count = l->nmounts;
		memcpy(mounts, l->mounts, sizeof(mounts));
		l->nmounts = 0;
		for (unsigned i = 0; i < count; i++)
			remove_mark(l->all, mounts[i]);
	}
	for (unsigned i = 0; i < count; i++)
		(void)export_mount_unref(mounts[i]);
}

struct listener *listener_free(struct listener *l)
{
	if (l == NULL)
		return NULL;
	let_mounts_go(l);
	{
		LOCKED(&l->all->lock);
		list_remove(&l->node);
	}
	told_done(&l->told);
	free(l);
	return NULL;
}

/* ctime has the resolution of nanoseconds, and advances with each change that follows a look (Linux 6.13). */
static bool has_exact_times(const struct export_mount *m)
{
	return m->id.type == EXT4_SUPER_MAGIC || m->id.type == XFS_SUPER_MAGIC || m->id.type == BTRFS_SUPER_MAGIC ||
	       m->id.type == TMPFS_MAGIC;
}

/* True if the filesystem of the mount is watched for this session. The caller holds the lock. */
static bool use_mount(struct listener *l, struct export_mount *m)
{
	for (unsigned i = 0; i < l->nmounts; i++)
		if (l->mounts[i] == m)
			return true;
	if (l->nmounts == MOUNTS || !has_exact_times(m) || add_mark(l->all, m) < 0)
		return false;
	l->mounts[l->nmounts++] = export_mount_ref(m);
	return true;
}

/* The object of a handle as fanotify names it. *root is memory for it. False if the filesystem does not say. */
static bool find_fid(const struct export_mount *m, const struct nfs_handle *h, struct nfs_handle *root,
	struct event_fid *ret)
{
	if (h->is_root) {
		if (nfs_handle_read(m->root, root) < 0)
			return false;
		h = root;
	}
	*ret = (struct event_fid){.type = h->kernel_type, .length = h->kernel_length, .bytes = h->kernel};
	memcpy(ret->fsid, m->id.fsid, sizeof(ret->fsid));
	return true;
}

bool listener_watch(struct listener *l, struct export_mount *m, const struct nfs_handle *h, const struct broker_fh *fh,
	bool directory)
{
	struct nfs_handle root;
	struct event_fid fid;

	if (l == NULL || !find_fid(m, h, &root, &fid))
		return false;
	LOCKED(&l->all->lock);
	return work_ms() >= l->all->rest_until_ms && use_mount(l, m) && told_add(&l->told, &fid, fh, directory);
}

bool listener_watches(struct listener *l, const struct export_mount *m, const struct nfs_handle *h)
{
	struct nfs_handle root;
	struct event_fid fid;
	const struct told *e;

	if (l == NULL || !find_fid(m, h, &root, &fid))
		return false;
	LOCKED(&l->all->lock);
	e = told_find(&l->told, &fid);
	return e != NULL && !e->once;
}

void listener_forget(struct listener *l)
{
	if (l == NULL)
		return;
	{
		LOCKED(&l->all->lock);
		if (l->nmounts > 0)
			put_in_doubt(l);
	}
	let_mounts_go(l);
}

void listener_drain(struct listener *l)
{
	struct notices *n = l != NULL ? l->all : NULL;
	bool others = false;
	int bytes = 0;

	if (n == NULL)
		return;
	{
		LOCKED(&n->lock);
		if (l->nmounts == 0)
			return;
		if (ioctl(n->group, FIONREAD, &bytes) < 0 || bytes <= 0)
			return;
		for (unsigned left = (unsigned)bytes / FAN_EVENT_METADATA_LEN, got; left > 0; left -= MIN(got, left)) {
			got = read_events(n);
			if (got == 0)
				break;
		}
		l->waken = false;
		LIST_FOREACH (pos, &n->listeners) {
			others |= CONTAINER_OF(pos, struct listener, node)->waken;
		}
	}
	if (others)
		wake_up(n->wake);
}

bool listener_take(struct listener *l, struct change *ret)
{
	if (l == NULL)
		return false;
	LOCKED(&l->all->lock);
	l->waken = false;
	if (l->doubt) {
		l->doubt = false;
		*ret = (struct change){.kind = BROKER_NOTICE_DOUBT};
		return true;
	}
	if (l->count == 0)
		return false;
	*ret = l->queue[l->first];
	l->first = (l->first + 1) % NOTICES_QUEUE;
	l->count--;
	return true;
}

void listener_judge(struct listener *l, const struct change *c, bool open)
{
	struct event_fid fid = {.type = c->dir_type, .length = c->dir_length, .bytes = c->dir};
	struct told *e;

	memcpy(fid.fsid, c->fsid, sizeof(fid.fsid));
	LOCKED(&l->all->lock);
	e = told_find(&l->told, &fid);
	if (e != NULL && e->turn == c->turn)
		e->names = open ? TOLD_NAMES_OPEN : TOLD_NAMES_SECRET;
}
