/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sidecar/broker/account.h"

#include <fcntl.h>
#include <inttypes.h>
#include <linux/magic.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>

#include "base/log.h"
#include "base/text.h"
#include "base/whole_io.h"
#include "sidecar/backing/fuse_device.h"
#include "sidecar/registry/peer_process.h"

/* The counts of one uid, or of one client. Exists while a session or connection refers to it. */
struct tally {
	struct list node;
	bool is_uid, root;
	uint64_t key; /* a uid, or an inode number in cgroupfs; 0: the cgroup is unknown */
	unsigned sessions, unmatched, ids;
	unsigned refs; /* sessions and connections */
};

struct account_connection {
	struct list node;
	struct tally *of_uid, *of_client;
	unsigned sessions;
	bool gone;           /* the witness is gone, and the connection in no list; freed with its last session */
	unsigned ids;        /* ACCOUNT_CONNECTION included */
	int watch;           /* inotify's watch of the witness */
	int32_t witness;     /* the witness's id */
	uint64_t dev, inode; /* of the connection's directory in fusectl; dev 0: unknown */
};

/* ---- the client of a process ---- */

static int cgroup_root(void)
{
	static const char *const places[] = {"/sys/fs/cgroup", "/sys/fs/cgroup/unified"};

	for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
		_cleanup_close_ int fd = open(places[i], O_PATH | O_DIRECTORY | O_CLOEXEC);
		struct statfs fs;

		if (fd >= 0 && fstatfs(fd, &fs) == 0 && fs.f_type == CGROUP2_SUPER_MAGIC)
			return steal_fd(&fd);
	}
	return -ENOENT;
}

/*
 * The inode of the first directory on the path to a cgroup that is not root's, or of the cgroup itself. Writes to path.
 */
static uint64_t confining_directory(char *path)
{
	_cleanup_close_ int fd = cgroup_root();
	char *save = NULL;
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return 0;
	for (char *name = strtok_r(path, "/", &save); name != NULL && st.st_uid == 0;
		name = strtok_r(NULL, "/", &save)) {
		int next =
			strcmp(name, "..") == 0 ? -1 : openat(fd, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

		(void)close_fd(fd);
		fd = next;
		if (fd < 0 || fstat(fd, &st) < 0)
			return 0;
	}
	return st.st_ino;
}

/* text: the content of /proc/PID/cgroup. Writes to text. */
static uint64_t cgroup_of(char *text)
{
	char *path;

	path = strncmp(text, "0::", 3) == 0 ? text : strstr(text, "\n0::");
	if (path == NULL)
		return 0;
	path = strchr(path, '/');
	if (path == NULL)
		return 0;
	path[strcspn(path, "\n")] = '\0';
	return confining_directory(path);
}

/* -ESRCH if the process has ended: its pid may belong to a process of another client by now. */
static int client_of(int socket, pid_t pid, uint64_t *ret)
{
	char name[64], text[4096];
	ssize_t n;

	*ret = 0;
	if (pid <= 0) /* in a pid namespace that the sidecar does not see */
		return 0;
	(void)snprintf(name, sizeof(name), "/proc/%d/cgroup", pid);
	n = read_small_file(name, text, sizeof(text));
	if (n == -ENOENT || n == -ESRCH || !peer_process_is_there(socket))
		return -ESRCH;
	if (n > 0)
		*ret = cgroup_of(text);
	return 0;
}

/* ---- tallies ---- */

/* The caller holds the lock. A tally with a new reference, or NULL without memory. */
static struct tally *tally_ref(struct account *a, bool is_uid, bool root, uint64_t key)
{
	struct tally *t;

	LIST_FOREACH (pos, &a->tallies) {
		t = CONTAINER_OF(pos, struct tally, node);
		if (t->is_uid == is_uid && t->root == root && t->key == key) {
			t->refs++;
			return t;
		}
	}
	t = calloc(1, sizeof(*t));
	if (t == NULL)
		return NULL;
	*t = (struct tally){.is_uid = is_uid, .root = root, .key = key, .refs = 1};
	list_append(&a->tallies, &t->node);
	return t;
}

/* Under the lock. Takes NULL. */
static void tally_unref(struct tally *t)
{
	if (t == NULL || --t->refs > 0)
		return;
	list_remove(&t->node);
	free(t);
}

/* The caller holds the lock. Counts n more ids, or fewer if n is negative. */
static void count(struct account *a, struct tally *of_uid, struct tally *of_client, int n)
{
	of_uid->ids += (unsigned)n;
	of_client->ids += (unsigned)n;
	a->ids[of_uid->root] += (unsigned)n;
}

static void count_ids(struct account *a, struct account_connection *c, int n)
{
	c->ids += (unsigned)n;
	count(a, c->of_uid, c->of_client, n);
}

static bool too_many_ids(const struct account *a, const struct tally *of_uid, const struct tally *of_client,
	unsigned more)
{
	return a->ids[of_uid->root] + more > ACCOUNT_IDS / 2 || of_client->ids + more > ACCOUNT_IDS_ONE ||
	       (!of_uid->root && of_uid->ids + more > ACCOUNT_IDS_ONE);
}

/* Under the lock. Takes NULL. */
static void leave(struct account_connection *c)
{
	if (c != NULL && --c->sessions == 0 && c->gone)
		free(c);
}

/* ---- sessions ---- */

static bool too_many_sessions(const struct account *a, const struct account_session *s)
{
	/* uid 0 exists in every container, so its sessions are limited per client. */
	const struct tally *one = s->uid == 0 ? s->of_client : s->of_uid;

	return a->sessions[s->uid == 0] >= ACCOUNT_SESSIONS / 2 || s->of_client->sessions >= ACCOUNT_SESSIONS_ONE ||
	       one->sessions >= ACCOUNT_SESSIONS_ONE || one->unmatched >= ACCOUNT_UNMATCHED_ONE;
}

int account_begin(struct account *a, int socket, struct account_session *ret)
{
	struct account_session s = {.connection = NULL};
	struct ucred cred;
	socklen_t size = sizeof(cred);
	uint64_t client;
	int r = 0;

	if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &cred, &size) < 0)
		return -errno;
	s.uid = ret->uid = cred.uid;
	s.pid = ret->pid = cred.pid;
	r = client_of(socket, cred.pid, &client);
	if (r < 0)
		return r;
	LOCKED(&a->lock);
	s.of_uid = tally_ref(a, true, s.uid == 0, s.uid);
	s.of_client = tally_ref(a, false, s.uid == 0, client);
	if (s.of_uid == NULL || s.of_client == NULL)
		r = -ENOMEM;
	else if (too_many_sessions(a, &s))
		r = -EUSERS;
	if (r < 0) {
		tally_unref(s.of_uid);
		tally_unref(s.of_client);
		return r;
	}
	a->sessions[s.uid == 0]++;
	s.of_uid->sessions++;
	s.of_uid->unmatched++;
	s.of_client->unmatched++;
	s.of_client->sessions++;
	*ret = s;
	return 0;
}

void account_matched(struct account *a, struct account_session *s)
{
	LOCKED(&a->lock);
	if (!s->matched) {
		s->of_uid->unmatched--;
		s->of_client->unmatched--;
	}
	s->matched = true;
}

void account_end(struct account *a, struct account_session *s)
{
	LOCKED(&a->lock);
	leave(s->connection);
	count(a, s->of_uid, s->of_client, -(int)s->held);
	a->sessions[s->uid == 0]--;
	s->of_uid->sessions--;
	s->of_uid->unmatched -= s->matched ? 0 : 1;
	s->of_client->unmatched -= s->matched ? 0 : 1;
	s->of_client->sessions--;
	tally_unref(s->of_uid);
	tally_unref(s->of_client);
	*s = (struct account_session){.connection = NULL};
}

/* ---- connections ---- */

/* The caller holds the lock. The witness with this watch is gone. */
static void forget(struct account *a, int watch)
{
	LIST_FOREACH (pos, &a->connections) {
		struct account_connection *c = CONTAINER_OF(pos, struct account_connection, node);

		if (c->watch != watch)
			continue;
		count_ids(a, c, -(int)c->ids);
		list_remove(&c->node);
		tally_unref(c->of_uid);
		tally_unref(c->of_client);
		c->gone = true;
		if (c->sessions == 0)
			free(c);
		return;
	}
}

/* The caller holds the lock. Reads inotify's events, and removes the connections that are gone. */
static void sweep(struct account *a)
{
	union {
		struct inotify_event align;
		char bytes[4096];
	} room;
	ssize_t n;

	while ((n = read(a->inotify_fd, room.bytes, sizeof(room.bytes))) > 0) {
		for (char *at = room.bytes; at < room.bytes + n;) {
			struct inotify_event e;

			memcpy(&e, at, sizeof(e));
			at += sizeof(e) + e.len;
			if ((e.mask & IN_DELETE_SELF) != 0)
				forget(a, e.wd);
			if ((e.mask & IN_Q_OVERFLOW) != 0)
				log_warning_limited("inotify lost events: the ids of some ended FUSE connections count "
						    "until the sidecar ends");
		}
	}
}

/* Identifies the connection of a descriptor. 0, with *ret_dev 0 if it is unknown; -ENOTCONN if the mount is gone. */
static int identify(const struct account *a, int fuse_fd, uint64_t *ret_dev, uint64_t *ret_inode)
{
	struct pollfd alive = {.fd = fuse_fd};
	char name[32];
	struct stat st;

	*ret_dev = *ret_inode = 0;
	if (a->fusectl_fd >= 0 && read_fdinfo(fuse_fd, "fuse_connection", ret_dev) == 0) {
		(void)snprintf(name, sizeof(name), "%" PRIu64, *ret_dev);
		if (fstatat(a->fusectl_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
			*ret_dev = 0;
		else
			*ret_inode = st.st_ino;
	}
	/*
	 * fuse_dev_poll() reports an error for an aborted connection. An unmounted connection is aborted before its
	 * number can be reused.
	 */
	return poll(&alive, 1, 0) >= 0 && (alive.revents & (POLLERR | POLLNVAL)) == 0 ? 0 : -ENOTCONN;
}

/* Under the lock. */
static struct account_connection *find_connection(struct account *a, uint64_t dev, uint64_t inode)
{
	LIST_FOREACH (pos, &a->connections) {
		struct account_connection *c = CONTAINER_OF(pos, struct account_connection, node);

		if (dev != 0 && c->dev == dev && c->inode == inode)
			return c;
	}
	return NULL;
}

/* A file that no process can change, even if the connection lets a process open it. */
static int make_witness(void)
{
	_cleanup_close_ int fd = memfd_create("localiofs-witness", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	if (fd < 0 || fcntl(fd, F_ADD_SEALS, F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE) < 0)
		return -errno;
	return steal_fd(&fd);
}

/* Watches the witness, and registers it as an id. */
static int register_witness(const struct account *a, int fuse_fd, int witness, struct account_connection *c)
{
	char path[64];

	(void)snprintf(path, sizeof(path), "/proc/thread-self/fd/%d", witness);
	c->watch = inotify_add_watch(a->inotify_fd, path, IN_DELETE_SELF);
	if (c->watch < 0)
		return -errno;
	c->witness = fuse_device_backing_open(fuse_fd, witness);
	return c->witness;
}

/* Takes over c, also on failure. */
static int add_connection(struct account *a, struct account_session *s, struct account_connection *c)
{
	LOCKED(&a->lock);
	sweep(a);
	c->of_uid = s->of_uid;
	c->of_client = s->of_client;
	if (too_many_ids(a, c->of_uid, c->of_client, ACCOUNT_CONNECTION)) {
		(void)inotify_rm_watch(a->inotify_fd, c->watch);
		free(c);
		return -EUSERS;
	}
	c->of_uid->refs++;
	c->of_client->refs++;
	count_ids(a, c, ACCOUNT_CONNECTION);
	list_append(&a->connections, &c->node);
	c->sessions = 1;
	s->connection = c;
	return 0;
}

static int new_connection(struct account *a, struct account_session *s, int fuse_fd, uint64_t dev, uint64_t inode)
{
	_cleanup_close_ int witness = make_witness(); /* closed last: then only the connection refers to the file */
	struct account_connection *c = witness >= 0 ? calloc(1, sizeof(*c)) : NULL;
	int32_t id;
	int r;

	if (c == NULL)
		return witness < 0 ? witness : -ENOMEM;
	c->dev = dev;
	c->inode = inode;
	r = register_witness(a, fuse_fd, witness, c);
	if (r < 0) {
		if (c->watch >= 0)
			(void)inotify_rm_watch(a->inotify_fd, c->watch);
		free(c);
		return r;
	}
	id = c->witness;
	r = add_connection(a, s, c);
	if (r < 0)
		(void)fuse_device_backing_close(fuse_fd, id);
	return r;
}

int account_connect(struct account *a, struct account_session *s, int fuse_fd)
{
	uint64_t dev, inode;
	int r = identify(a, fuse_fd, &dev, &inode);

	if (r < 0 || a->inotify_fd < 0)
		return r < 0 ? r : -EOPNOTSUPP;
	{
		LOCKED(&a->lock);
		s->connection = find_connection(a, dev, inode);
		if (s->connection != NULL) {
			s->connection->sessions++;
			return 0;
		}
	}
	return new_connection(a, s, fuse_fd, dev, inode);
}

int account_take(struct account *a, struct account_session *s)
{
	LOCKED(&a->lock);
	if (too_many_ids(a, s->of_uid, s->of_client, 1))
		sweep(a);
	if (too_many_ids(a, s->of_uid, s->of_client, 1))
		return -EUSERS;
	count(a, s->of_uid, s->of_client, 1);
	s->held++;
	return 0;
}

void account_give(struct account *a, struct account_session *s)
{
	LOCKED(&a->lock);
	count(a, s->of_uid, s->of_client, -1);
	s->held--;
}

void account_keep(struct account *a, struct account_session *s)
{
	LOCKED(&a->lock);
	count(a, s->of_uid, s->of_client, -1);
	s->held--;
	if (!s->connection->gone)
		count_ids(a, s->connection, 1);
}

void account_closed(struct account *a, struct account_session *s, bool own)
{
	struct account_connection *c = s->connection;

	LOCKED(&a->lock);
	if (c != NULL && !c->gone && c->ids > ACCOUNT_CONNECTION && (own || c->dev != 0))
		count_ids(a, c, -1);
}

void account_totals(struct account *a, struct account_totals *ret)
{
	LOCKED(&a->lock);
	sweep(a);
	memcpy(ret->sessions, a->sessions, sizeof(ret->sessions));
	memcpy(ret->ids, a->ids, sizeof(ret->ids));
}

bool account_is_witness(struct account *a, const struct account_session *s, int32_t id)
{
	LOCKED(&a->lock);
	LIST_FOREACH (pos, &a->connections) {
		const struct account_connection *c = CONTAINER_OF(pos, struct account_connection, node);

		/* The witness of an unidentified connection may be of this session's connection. */
		if (c->witness == id && (c == s->connection || c->dev == 0))
			return true;
	}
	return false;
}

/* ---- the account ---- */

static int open_fusectl(void)
{
	_cleanup_close_ int fs = fsopen("fusectl", FSOPEN_CLOEXEC), mnt = -1;
	int fd;

	if (fs < 0 || fsconfig(fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0) < 0)
		return -errno;
	mnt = fsmount(fs, FSMOUNT_CLOEXEC, 0);
	fd = mnt < 0 ? -1 : openat(mnt, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

void account_init(struct account *a)
{
	*a = (struct account){.lock = PTHREAD_MUTEX_INITIALIZER};
	list_init(&a->tallies);
	list_init(&a->connections);
	a->fusectl_fd = open_fusectl();
	if (a->fusectl_fd < 0)
		log_debug("fusectl cannot be mounted: %s; each session counts as a FUSE connection of its own",
			strerror(-a->fusectl_fd));
	a->inotify_fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	if (a->inotify_fd < 0)
		log_warning("inotify: %s: backing ids cannot be counted, so no client gets any", strerror(errno));
}
