/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sidecar/session/session.h"

#include <fcntl.h>
#include <linux/falloc.h>
#include <poll.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/log.h"
#include "sidecar/session/backing_table.h"
#include "sidecar/broker/broker.h"
#include "sidecar/session/file_jobs.h"
#include "sidecar/backing/fuse_device.h"
#include "sidecar/grant/grant.h"
#include "sidecar/session/guarded_receive.h"
#include "sidecar/grant/locator.h"
#include "sidecar/registry/owner_check.h"
#include "sidecar/broker/packet.h"

#define MAX_IDS 16384
/* of RLIMIT_NOFILE, for all that is no backing file */
#define SPARE_FDS       (2 * FILE_JOBS_PENDING + 3 * FILE_JOBS_WORKERS + 3 * LOCATOR_MAX_MOUNTS + 64)
#define ANNOUNCE_MS     10000
#define MATCH_MS        (NONCE_LIFETIME_S * 1000)
#define HELLO_MS        10000
#define IDLE_MS         60000 /* without a request and without ids: the exports' mounts are let go */
#define FIRST_FREE_PORT 1024  /* below: reserved for root */

enum state {
	NEW,
	ANNOUNCED,
	MATCHED,
	READY
};

/* The thread's own; nobody else sees it. */
struct run {
	struct session *s;
	enum state state;
	uint64_t deadline_ms;     /* of the state; of READY: how long the last match is believed */
	unsigned matches;         /* that were handled */
	struct owner_proof proof; /* what PROVE's descriptor is to carry */
	struct locator locator;
	int fuse_fd;
	int judged;   /* of what came with PROVE or HELLO: judge_descriptor() */
	bool trusted; /* the client owns this machine anyway */
	unsigned max_ids;
	struct backing_table ids;
	struct file_jobs jobs;
};

static int compare_int(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

/* A descriptor table of our own with stderr, our socket, the two wake-ups and the account's in it. */
static int own_descriptors(const struct session *s)
{
	const struct account *a = &s->broker->account;
	int keep[] = {STDERR_FILENO, s->socket, s->wake.fd, s->broker->reap.fd, a->inotify_fd, a->fusectl_fd};
	unsigned first = 0;

	if (unshare(CLONE_FILES) < 0)
		return -errno;
	qsort(keep, ARRAY_SIZE(keep), sizeof(keep[0]), compare_int);
	for (size_t i = 0; i < ARRAY_SIZE(keep); i++) {
		if (keep[i] < 0)
			continue;
		if ((unsigned)keep[i] > first && close_range(first, (unsigned)keep[i] - 1, 0) < 0)
			return -errno;
		first = (unsigned)keep[i] + 1;
	}
	return close_range(first, ~0U, 0) < 0 ? -errno : 0;
}

static void enter(struct run *x, enum state state, unsigned ms)
{
	x->state = state;
	x->deadline_ms = now_ms() + ms;
}

static int error_of(enum reason reason)
{
	return reason == REASON_BAD_HANDLE || reason == REASON_WRONG_EXPORT || reason == REASON_NOT_EXPORTED ? -ESTALE
													     : -EACCES;
}

/* A client of another version is told by the one message that all versions know. */
static int refuse_version(const struct run *x)
{
	(void)packet_send_status(x->s->socket, BROKER_GOODBYE, 0, -EPROTONOSUPPORT, REASON_VERSION);
	return -EPROTONOSUPPORT;
}

static int on_announce(struct run *x, const struct packet *p)
{
	struct broker_announced reply = {0};
	int r;

	if (x->state != NEW && x->state != READY)
		return -EPROTO;
	r = broker_announce(x->s, p->body.announce.uuid, &reply);
	reply.error = r;
	reply.reason = r == -EFAULT ? REASON_BAD_REGISTRY : r < 0 ? REASON_REGISTRY_FULL : REASON_NONE;
	memcpy(reply.challenge, x->proof.challenge, sizeof(reply.challenge));
	if (r >= 0 && x->state == NEW)
		enter(x, ANNOUNCED, MATCH_MS);
	return packet_send(x->s->socket, BROKER_ANNOUNCE | BROKER_REPLY, p->header.id, &reply, -1);
}

/* In guarded_receive(): PROVE's descriptor serves there, HELLO's goes on. */
static int judge_descriptor(const struct packet *p, void *arg)
{
	const struct run *x = arg;

	if (p->header.type == BROKER_PROVE)
		return owner_check(p->fd, x->s->broker->memfd_device, &x->proof) ? 1 : -EPERM;
	return fuse_device_identify(p->fd);
}

static int on_prove(struct run *x, const struct packet *p)
{
	if (x->state != MATCHED)
		return -EPROTO;
	x->trusted = x->judged == 1;
	return packet_send_status(x->s->socket, BROKER_PROVE | BROKER_REPLY, p->header.id, x->trusted ? 0 : -EPERM,
		x->trusted ? REASON_NONE : REASON_PROTOCOL);
}

/* Fills the reply; REASON_NONE when the root is what this host has under that handle. */
static enum reason look_at_root(struct run *x, const struct broker_fh *fh, struct broker_hello_reply *reply)
{
	struct location at;
	struct statx stx;
	enum reason reason = locator_find(&x->locator, fh, &at);
	_cleanup_close_ int fd = -1;

	if (reason != REASON_NONE)
		return reason;
	fd = export_mount_resolve(at.mount, &at.handle);
	if (fd == -EPERM)
		log_warning_limited(
			"open_by_handle_at(2) is not permitted: a seccomp filter forbids it, perhaps a container "
			"engine's");
	if (fd < 0 || grant_attributes(fd, &stx, &reply->root) < 0)
		return REASON_WRONG_EXPORT;
	(void)snprintf(reply->export_path, sizeof(reply->export_path), "%s", at.entry->path);
	reply->server_remembers = at.perms.remembers;
	return REASON_NONE;
}

static int on_hello(struct run *x, struct packet *p)
{
	struct broker_hello_reply reply = {0};
	enum reason reason;
	int r;

	if (x->state != MATCHED)
		return -EPROTO;
	x->fuse_fd = steal_fd(&p->fd);
	r = x->judged;
	if (r >= 0 && x->fuse_fd >= 0 && p->body.hello.version == BROKER_VERSION) {
		r = account_connect(&x->s->broker->account, &x->s->account, x->fuse_fd);
		if (r < 0 && r != -ENOTCONN) {
			log_warning_limited("uid %u gets no backing ids: %s", x->s->account.uid, strerror(-r));
			r = 0;
		}
	}
	if (p->body.hello.version != BROKER_VERSION)
		reason = REASON_VERSION;
	else if (r < 0)
		reason = REASON_BAD_DESCRIPTOR;
	else
		reason = look_at_root(x, &p->body.hello.root, &reply);
	if (reason != REASON_NONE) {
		reply.error = reason == REASON_BAD_DESCRIPTOR ? -EBADF : error_of(reason);
		reply.reason = reason;
	}
	r = packet_send(x->s->socket, BROKER_HELLO | BROKER_REPLY, p->header.id, &reply, -1);
	if (r < 0)
		return r;
	if (reason != REASON_NONE)
		return reply.error;
	enter(x, READY, x->s->broker->recheck_s * 1000);
	return 0;
}

/* For a descriptor that is sent away. No other session uses it, so that nobody gives back another's. */
static int32_t descriptor_number(void)
{
	static atomic_uint last;

	return INT32_MIN + (int32_t)(atomic_fetch_add(&last, 1) % INT32_MAX);
}

static int keep_grant(struct run *x, const struct broker_open_reply *reply, const struct grant *grant,
	struct export_mount *mount)
{
	const struct backing b = {.id = reply->backing_id,
		.fd = grant->kept,
		.writable = grant->writable,
		.cred = grant->cred,
		.mount = mount};

	return backing_table_add(&x->ids, &b);
}

static int on_open(struct run *x, const struct packet *p)
{
	bool place = (p->body.open.flags & (BROKER_OPEN_WANT_ID | BROKER_OPEN_WANT_FD)) != 0 &&
		     backing_table_count(&x->ids) < x->max_ids &&
		     (x->fuse_fd < 0 || x->s->account.connection != NULL) &&
		     account_take(&x->s->broker->account, &x->s->account) >= 0;
	struct location at;
	struct grant_context g = {.server = x->locator.table->server,
		.at = &at,
		.fuse_fd = x->fuse_fd,
		.trusted = x->trusted,
		.may_register = place};
	struct broker_open_reply reply = {0};
	enum reason reason = locator_find(&x->locator, &p->body.open.fh, &at);
	struct grant grant = {.kept = -1, .given = -1};
	int r;

	if (reason != REASON_NONE) {
		reply.error = error_of(reason);
		reply.reason = reason;
	} else {
		grant_open(&g, &p->body.open, &reply, &grant);
	}
	if (grant.given >= 0)
		reply.backing_id = descriptor_number();
	if (reply.backing_id != 0 && keep_grant(x, &reply, &grant, at.mount) < 0) {
		if (reply.backing_id > 0)
			(void)fuse_device_backing_close(x->fuse_fd, reply.backing_id);
		close_fdp(&grant.kept);
		close_fdp(&grant.given);
		reply.backing_id = 0;
		reply.writable = 0;
		reply.reason = REASON_LIMIT;
	}
	if (place && reply.backing_id == 0)
		account_give(&x->s->broker->account, &x->s->account);
	if (reply.backing_id > 0)
		account_keep(&x->s->broker->account, &x->s->account);
	r = packet_send(x->s->socket, BROKER_OPEN | BROKER_REPLY, p->header.id, &reply, grant.given);
	(void)close_fd(grant.given);
	return r;
}

static int on_release(struct run *x, const struct packet *p)
{
	struct account *account = &x->s->broker->account;
	int32_t id = p->body.release.backing_id;
	int removed, r = 0;

	if (id > 0)
		r = account_is_witness(account, &x->s->account, id) ? -ENOENT
								    : fuse_device_backing_close(x->fuse_fd, id);
	removed = backing_table_remove(&x->ids, id); /* not there: an earlier session's */
	if (id <= 0)
		r = removed;
	if (r >= 0 && id > 0)
		account_closed(account, &x->s->account, removed >= 0);
	else if (r >= 0)
		account_give(account, &x->s->account);
	return packet_send_status(x->s->socket, BROKER_RELEASE | BROKER_REPLY, p->header.id, r, REASON_NONE);
}

/* The descriptor, still the table's; -ENOENT for an id of another session, or of what was sent away. */
static int find_file(const struct run *x, int32_t id, int *ret)
{
	const struct backing *b = backing_table_find(&x->ids, id);

	*ret = b != NULL ? b->fd : -1;
	return *ret >= 0 ? 0 : -ENOENT;
}

static int find_target(const struct run *x, int32_t id, struct file_job *ret)
{
	const struct backing *b = backing_table_find(&x->ids, id);
	int r = find_file(x, id, &ret->target);

	if (r >= 0)
		ret->cred = b->cred;
	return r >= 0 && !b->writable ? -EBADF : r;
}

/* A worker answers; when it cannot come to that, this does. */
static int add_job(struct run *x, const struct packet *p, int r, struct file_job *job)
{
	job->type = p->header.type;
	job->request = p->header.id;
	if (r >= 0)
		r = file_jobs_add(&x->jobs, job);
	return r >= 0 ? 0 : file_jobs_refuse(&x->jobs, job, r);
}

static int on_commit(struct run *x, const struct packet *p)
{
	struct file_job job = {.target = -1};

	return add_job(x, p, find_file(x, p->body.commit.backing_id, &job.fd), &job);
}

static int on_seek(struct run *x, const struct packet *p)
{
	const struct broker_range *range = &p->body.range;
	struct file_job job = {.target = -1, .range = *range};
	int r = find_file(x, range->backing_id, &job.fd);

	if ((range->how != SEEK_DATA && range->how != SEEK_HOLE) || range->offset > INT64_MAX)
		r = -EINVAL;
	return add_job(x, p, r, &job);
}

static int on_fallocate(struct run *x, const struct packet *p)
{
	const struct broker_range *range = &p->body.range;
	struct file_job job = {.fd = -1, .range = *range};
	int r = find_target(x, range->backing_id, &job);

	/* What a FUSE file may be asked for: fs/fuse/file.c fuse_file_fallocate */
	if ((range->how & ~(uint32_t)(FALLOC_FL_KEEP_SIZE | FALLOC_FL_PUNCH_HOLE | FALLOC_FL_ZERO_RANGE)) != 0)
		r = -EOPNOTSUPP;
	if (range->offset > INT64_MAX || range->length > INT64_MAX)
		r = -EINVAL;
	return add_job(x, p, r, &job);
}

static int on_copy(struct run *x, const struct packet *p)
{
	const struct broker_copy *copy = &p->body.copy;
	struct file_job job = {.target = -1, .copy = *copy};
	int r = find_file(x, copy->from, &job.fd);

	if (r >= 0)
		r = find_target(x, copy->to, &job);
	if (copy->from_offset > INT64_MAX || copy->to_offset > INT64_MAX)
		r = -EINVAL;
	return add_job(x, p, r, &job);
}

static int on_truncate(struct run *x, const struct packet *p)
{
	const struct broker_truncate *body = &p->body.truncate;
	struct file_job job = {.fd = -1, .size = body->size};
	_cleanup_close_ int fd = -1;
	struct location at;
	struct grant_context g = {.server = x->locator.table->server, .at = &at, .fuse_fd = -1};
	enum reason reason = locator_find(&x->locator, &body->fh, &at);
	int r = reason != REASON_NONE ? error_of(reason) : grant_truncate(&g, body, &job.cred);

	if (r >= 0)
		fd = r;
	if (body->size > INT64_MAX)
		r = -EINVAL;
	job.target = fd;
	return add_job(x, p, r, &job);
}

static int on_sync_dir(struct run *x, const struct packet *p)
{
	const struct broker_sync_dir *body = &p->body.sync_dir;
	struct file_job job = {.target = -1};
	struct location at;
	struct grant_context g = {.server = x->locator.table->server, .at = &at, .fuse_fd = -1};
	enum reason reason = locator_find(&x->locator, &body->fh, &at);
	int r = reason != REASON_NONE ? error_of(reason) : grant_directory(&g, body, &reason);
	_cleanup_close_ int fd = r;

	if (r < 0)
		return packet_send_status(x->s->socket, BROKER_SYNC_DIR | BROKER_REPLY, p->header.id, r, reason);
	job.fd = fd;
	return add_job(x, p, 0, &job);
}

static int dispatch(struct run *x, struct packet *p)
{
	switch (p->header.type) {
	case BROKER_ANNOUNCE:
		return on_announce(x, p);
	case BROKER_PROVE:
		return on_prove(x, p);
	case BROKER_HELLO:
		return on_hello(x, p);
	case BROKER_PING:
		return packet_send_status(x->s->socket, BROKER_PING | BROKER_REPLY, p->header.id, 0, REASON_NONE);
	}
	if (x->state != READY)
		return -EPROTO;
	switch (p->header.type) {
	case BROKER_OPEN:
		return on_open(x, p);
	case BROKER_RELEASE:
		return on_release(x, p);
	case BROKER_COMMIT:
		return on_commit(x, p);
	case BROKER_FALLOCATE:
		return on_fallocate(x, p);
	case BROKER_SEEK:
		return on_seek(x, p);
	case BROKER_COPY:
		return on_copy(x, p);
	case BROKER_TRUNCATE:
		return on_truncate(x, p);
	case BROKER_SYNC_DIR:
		return on_sync_dir(x, p);
	}
	return -EPROTO;
}

static int say_matched(const struct run *x, const struct ip_address *peer, uint16_t port)
{
	struct broker_matched m = {.reserved_port = port < FIRST_FREE_PORT};

	ip_address_format_port(peer, port, m.peer);
	return packet_send(x->s->socket, BROKER_MATCHED, 0, &m, -1);
}

/* The match has come: tells the client who it is to us. */
static int on_match(struct run *x, const struct ip_address *peer, uint16_t port)
{
	int r = locator_set_peer(&x->locator, peer, port);
	const int on = 1;

	if (r < 0)
		return r;
	enter(x, MATCHED, HELLO_MS);
	/* PROVE and HELLO bring descriptors. */
	(void)setsockopt(x->s->socket, SOL_SOCKET, SO_PASSRIGHTS, &on, sizeof(on));
	r = say_matched(x, peer, port);
	log_debug("session of uid %u pid %d is local", x->s->account.uid, x->s->account.pid);
	return r;
}

/* The session's auth domain is the address that it began with, and a source port below 1024 where it had one. */
static int on_match_again(struct run *x, const struct ip_address *peer, uint16_t port)
{
	const struct peer *p = &x->locator.peer;

	if (!ip_address_equal(&p->address, peer) || (p->port < FIRST_FREE_PORT && port >= FIRST_FREE_PORT)) {
		(void)packet_send_status(x->s->socket, BROKER_GOODBYE, 0, -EACCES, REASON_PEER_CHANGED);
		return -EACCES;
	}
	enter(x, READY, x->s->broker->recheck_s * 1000);
	return say_matched(x, peer, port);
}

/* Takes over a new export table; what this session used and is not as it was, is revoked. */
static int follow_exports(struct run *x)
{
	struct export_table *now = export_store_get(x->s->broker->exports);
	struct broker_revoke revoke = {.reason = REASON_REVOKED};
	int r;

	if (now == x->locator.table) {
		(void)export_table_unref(now);
		return 0;
	}
	r = locator_follow(&x->locator, now);
	if (r <= 0)
		return r;
	backing_table_withdraw(&x->ids);
	r = file_jobs_withdraw(&x->jobs);
	return r < 0 ? r : packet_send(x->s->socket, BROKER_REVOKE, 0, &revoke, -1);
}

static int on_event(struct run *x)
{
	struct ip_address peer;
	uint16_t port;

	wake_take(x->s->wake);
	if (x->s->stop) {
		/* Who hears of it asks the server, behind what is under way here. */
		file_jobs_done(&x->jobs);
		(void)packet_send_status(x->s->socket, BROKER_GOODBYE, 0, -ESHUTDOWN, REASON_SIDECAR_STOPPED);
		return -ESHUTDOWN;
	}
	if (broker_matched(x->s, &x->matches, &peer, &port)) {
		int r = x->state == READY       ? on_match_again(x, &peer, port)
			: x->state == ANNOUNCED ? on_match(x, &peer, port)
						: -EPROTO;

		if (r < 0)
			return r;
	}
	return follow_exports(x);
}

static int on_timeout(struct run *x)
{
	(void)packet_send_status(x->s->socket, BROKER_GOODBYE, 0, -ETIMEDOUT,
		x->state == ANNOUNCED || x->state == READY ? REASON_NOT_MATCHED : REASON_PROTOCOL);
	return -ETIMEDOUT;
}

static int loop(struct run *x)
{
	struct pollfd fds[] = {{.fd = x->s->socket, .events = POLLIN}, {.fd = x->s->wake.fd, .events = POLLIN}};
	struct packet p;
	int r;

	for (;;) {
		int64_t left = (int64_t)(x->deadline_ms - now_ms());
		bool pins = x->state == READY && x->locator.nslots > 0 && backing_table_count(&x->ids) == 0;

		if (left <= 0)
			return on_timeout(x);
		r = poll(fds, ARRAY_SIZE(fds), (int)(pins ? MIN(left, IDLE_MS) : left));
		if (r < 0 && errno != EINTR)
			return -errno;
		if (r == 0 && pins)
			locator_drop_mounts(&x->locator);
		if (r <= 0)
			continue;
		/* Options that changed before a request came hold for it. */
		if (fds[1].revents != 0) {
			r = on_event(x);
			if (r < 0)
				return r;
		}
		if (fds[0].revents == 0)
			continue;
		/* Only PROVE and HELLO carry a descriptor. */
		r = x->state == MATCHED ? guarded_receive(x->s->socket, judge_descriptor, x, &p, &x->judged)
					: packet_receive(x->s->socket, false, &p);
		if (r == -EAGAIN)
			continue;
		if (r == -EPROTONOSUPPORT)
			return refuse_version(x);
		if (r >= 0) {
			r = dispatch(x, &p);
			(void)close_fd(p.fd);
		}
		if (r < 0)
			return r;
	}
}

static void serve(struct run *x)
{
	struct rlimit limit;
	int r;

	x->fuse_fd = -1;
	r = locator_init(&x->locator, export_store_get(x->s->broker->exports));
	if (r < 0)
		return;
	x->max_ids = MAX_IDS;
	if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < MAX_IDS + SPARE_FDS)
		x->max_ids = limit.rlim_cur > SPARE_FDS ? (unsigned)limit.rlim_cur - SPARE_FDS : 0;
	x->proof.device = x->s->broker->socket.device;
	x->proof.inode = x->s->broker->socket.inode;
	if (getrandom(x->proof.challenge, sizeof(x->proof.challenge), 0) != sizeof(x->proof.challenge))
		return;
	backing_table_init(&x->ids);
	file_jobs_init(&x->jobs, x->s->socket);
	enter(x, NEW, ANNOUNCE_MS);
	r = loop(x);

	/* First of all: a copy kept open would turn the daemon's death into a hang. */
	x->fuse_fd = close_fd(x->fuse_fd);
	file_jobs_done(&x->jobs);
	log_debug("session of uid %u pid %d ended: %s; %zu ids", x->s->account.uid, x->s->account.pid, strerror(-r),
		backing_table_count(&x->ids));
	backing_table_done(&x->ids);
	locator_done(&x->locator);
}

void *session_run(void *arg)
{
	struct session *s = arg;
	struct run *x = calloc(1, sizeof(*x));
	struct wake reap = s->broker->reap; /* its number holds in our table too */
	int r;

	(void)prctl(PR_SET_NAME, "session", 0, 0, 0);
	r = own_descriptors(s);
	s->has_table = r >= 0;
	(void)sem_post(&s->ready);
	while (r >= 0 && sem_wait(&s->alone) < 0 && errno == EINTR)
		;
	if (r < 0 || x == NULL) {
		log_error("a session cannot start: %s", strerror(r < 0 ? -r : ENOMEM));
	} else {
		x->s = s;
		serve(x);
	}
	free(x);
	broker_forget(s);
	if (r >= 0) /* our table's copy; without one it was never ours */
		(void)close_fd(s->socket);
	s->finished = true;
	wake_up(reap); /* s belongs to the main thread from here on */
	return NULL;
}
