/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sidecar/session/session.h"

#include <inttypes.h>
#include <poll.h>
#include <sched.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "base/log.h"
#include "sidecar/notices/tell.h"
#include "sidecar/session/guarded_receive.h"

#define MAX_IDS 16384
/* descriptors of RLIMIT_NOFILE that no backing file may use */
#define SPARE_FDS   (2 * FILE_JOBS_PENDING + 5 * (FILE_JOBS_WORKERS + 1) + 3 * LOCATOR_MAX_MOUNTS + 64)
#define ANNOUNCE_MS 10000
#define IDLE_MS     60000 /* without requests and ids for so long, a session drops its references to the mounts */

static int compare_int(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

/*
 * Gives the thread a descriptor table of its own, which keeps stderr, the session's socket, both wake-ups and the
 * account's and the notices' descriptors.
 */
static int own_descriptors(const struct broker_session *s)
{
	const struct account *a = s->broker->account;
	const struct notices *n = s->broker->notices;
	int keep[] = {STDERR_FILENO, s->socket, s->wake.fd, s->broker->reap.fd, a->inotify_fd, a->fusectl_fd,
		notices_group_fd(n), notices_wake_fd(n)};
	unsigned first = 0;

	/* CLONE_FS: the thread's own umask, 0, since clients have applied theirs. */
	if (unshare(CLONE_FILES | CLONE_FS) < 0)
		return -errno;
	(void)umask(0);
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

void session_enter(struct session *s, enum session_state state, unsigned ms)
{
	s->state = state;
	s->deadline_ms = now_ms() + ms;
}

int session_tell(struct session *s, bool drain)
{
	const struct teller t = {.listener = s->listener,
		.locator = &s->locator,
		.wake = s->client->wake,
		.socket = s->client->socket,
		.claims_any = s->claims.any,
		.number = &s->notices,
		.counters = s->client->broker->counters};

	if (drain)
		listener_drain(s->listener);
	return tell_changes(&t);
}

int session_reply(struct session *s, const struct packet *p, const void *reply, int fd)
{
	return packet_reply(s->client->socket, s->client->broker->counters, p->header.type, p->header.id, reply, fd);
}

int session_error_of(enum reason reason)
{
	return reason == REASON_BAD_HANDLE || reason == REASON_WRONG_EXPORT || reason == REASON_NOT_EXPORTED ? -ESTALE
													     : -EACCES;
}

/* ---- requests ---- */

/* Handles a packet that packet_check() has accepted. */
static int dispatch(struct session *s, struct packet *p)
{
	const struct broker_message *m = broker_message_find(p->header.type);
	session_handler_fn handle = session_handler(p->header.type);

	if (m != NULL)
		log_debug("session %u: message %" PRIu64 ", %s", s->client->number, p->header.id, m->name);
	return m != NULL && (m->states & s->state) != 0 && handle != NULL ? handle(s, p) : -EPROTO;
}

/* All versions know GOODBYE: a client of another version learns the reason from it. */
static int refuse_version(const struct session *s)
{
	(void)packet_send_status(s->client->socket, BROKER_GOODBYE, 0, -EPROTONOSUPPORT, REASON_VERSION);
	return -EPROTONOSUPPORT;
}

/* Receives and handles one packet. Only PROVE and HELLO carry a descriptor, and only one state allows them. */
static int on_packet(struct session *s)
{
	struct packet p;
	int r = s->state == SESSION_MATCHED
			? guarded_receive(s->client->socket, session_judge_descriptor, s, &p, &s->judged)
			: packet_receive(s->client->socket, false, &p);

	if (r == -EAGAIN)
		return 0;
	if (r == -EPROTONOSUPPORT)
		return refuse_version(s);
	if (r >= 0 && p.header.type != BROKER_PING)
		s->used_ms = work_ms();
	if (r >= 0) {
		/* The answers to both are strict: the client hears of all changes before. */
		if (p.header.type == BROKER_OPEN || p.header.type == BROKER_PING)
			r = session_tell(s, true);
		r = r < 0 ? r : dispatch(s, &p);
		(void)close_fd(p.fd);
	}
	return r;
}

/* ---- events: the match, the export table, the end ---- */

/* Takes over a new export table. Revokes the grants when an export that this session used has changed. */
static int follow_exports(struct session *s)
{
	struct export_table *now = export_store_get(s->client->broker->exports);
	struct broker_revoke revoke = {.reason = REASON_REVOKED};
	int r;

	if (now == s->locator.table) {
		(void)export_table_unref(now);
		return 0;
	}
	listener_forget(s->listener);
	r = locator_follow(&s->locator, now);
	s->epoch++;
	if (r <= 0)
		return r;
	backing_table_withdraw(&s->ids);
	log_debug("session %u: its exports have changed, so its grants are void", s->client->number);
	r = file_jobs_withdraw(&s->jobs);
	return r < 0 ? r : packet_send(s->client->socket, BROKER_REVOKE, 0, &revoke, -1);
}

static int on_event(struct session *s)
{
	struct ip_address peer;
	uint16_t port;
	int r = 0;

	wake_take(s->client->wake);
	if (s->client->stop) {
		/*
		 * At GOODBYE the client turns to the server; its requests there must come after the jobs and the
		 * changes that run here. Workers may need the lock for the last of them.
		 */
		(void)pthread_mutex_unlock(&s->relief.lock);
		file_jobs_done(&s->jobs);
		(void)pthread_mutex_lock(&s->relief.lock);
		relief_all_back(&s->relief);
		(void)packet_send_status(s->client->socket, BROKER_GOODBYE, 0, -ESHUTDOWN, REASON_SIDECAR_STOPPED);
		return -ESHUTDOWN;
	}
	if (broker_take_match(s->client, &s->matches, &peer, &port))
		r = session_on_match(s, &peer, port);
	r = r < 0 ? r : follow_exports(s);
	return r < 0 ? r : session_tell(s, false);
}

static int on_timeout(struct session *s)
{
	(void)packet_send_status(s->client->socket, BROKER_GOODBYE, 0, -ETIMEDOUT,
		s->state == SESSION_ANNOUNCED || s->state == SESSION_READY ? REASON_NOT_MATCHED : REASON_PROTOCOL);
	return -ETIMEDOUT;
}

/* Waits for something to handle, without the lock. 0, or a negative errno. */
static int wait_for(struct session *s, struct pollfd *fds, nfds_t nfds, int64_t ms)
{
	int r;

	(void)pthread_mutex_unlock(&s->relief.lock);
	r = poll(fds, nfds, (int)ms) < 0 ? -errno : 0;
	(void)pthread_mutex_lock(&s->relief.lock);
	(void)work_begins();
	return r;
}

/* Waits for a packet, an event or a timeout, and handles all that has come. A negative errno ends the session. */
static int turn(struct session *s)
{
	struct pollfd fds[] = {{.fd = s->client->socket, .events = POLLIN},
		{.fd = s->client->wake.fd, .events = POLLIN},
		{.fd = s->locator.nslots > 0 ? s->locator.mounts_fd : -1, .events = POLLPRI}};
	uint64_t now = work_ms();
	int64_t left = (int64_t)(s->deadline_ms - now), unused = (int64_t)(s->used_ms + IDLE_MS - now);
	bool pins = s->state == SESSION_READY && s->locator.nslots > 0 && backing_table_count(&s->ids) == 0;
	int r;

	if (left <= 0)
		return on_timeout(s);
	if (pins && unused <= 0) {
		listener_forget(s->listener);
		locator_drop_mounts(&s->locator);
		s->epoch++;
		return session_tell(s, false);
	}
	r = wait_for(s, fds, ARRAY_SIZE(fds), pins ? MIN(left, unused) : left);
	if (r < 0)
		return r == -EINTR ? 0 : r;
	if (fds[2].revents != 0)
		locator_mounts_changed(&s->locator);
	/* New export options are valid for every request that comes after them. */
	r = fds[1].revents != 0 ? on_event(s) : 0;
	return r >= 0 && fds[0].revents != 0 ? on_packet(s) : r;
}

/* The session ends. Changes may still be under way. */
static void end(struct session *s, int error)
{
	s->error = error;
	broker_show(s->client, NULL);
	/* Closed first: while this copy is open, the mount of a daemon that has died hangs. */
	s->fuse_fd = close_fd(s->fuse_fd);
	relief_end(&s->relief);
}

/* A relief's begin(). */
static void begin_second(void *session)
{
	struct session *s = session;

	(void)prctl(PR_SET_NAME, "session-second", 0, 0, 0);
	own_threads_add(&s->own, gettid());
}

/* A relief's keep(). */
static void keep(void *session)
{
	struct session *s = session;
	int r = 0;

	(void)work_begins();
	while (r >= 0 && relief_is_keeper(&s->relief))
		r = turn(s);
	if (r < 0 && relief_is_keeper(&s->relief))
		end(s, r);
	else if (r < 0) /* the keeper sees the end of the connection */
		(void)shutdown(s->client->socket, SHUT_RD);
}

static const char *why_ended(const struct session *s, int error)
{
	switch (error) {
	case -ECONNRESET:
	case -EPIPE:
		return "its client has closed it";
	case -ESHUTDOWN:
		return "the sidecar ends";
	case -ETIMEDOUT:
		return s->begun ? "its client has not repeated the probe in time" : "its client was too slow";
	case -EACCES:
		return s->begun ? "its client's probes come from another address" : "it was refused";
	case -EPROTO:
		return "its client broke the protocol";
	default:
		return strerror(-error);
	}
}

static void log_end(const struct session *s, int error)
{
	const struct broker_session *c = s->client;

	if (s->begun)
		log_info_limited("session %u ends, of uid %u pid %d on %s with %zu ids: %s", c->number, c->account.uid,
			c->account.pid, c->export_path ? c->export_path : "?", backing_table_count(&s->ids),
			why_ended(s, error));
	else
		log_debug("session %u ends, of uid %u pid %d, before it began: %s", c->number, c->account.uid,
			c->account.pid, why_ended(s, error));
}

static void serve(struct session *s)
{
	struct rlimit limit;

	s->fuse_fd = -1;
	if (locator_init(&s->locator, export_store_get(s->client->broker->exports)) < 0)
		return;
	s->claims.any = !s->client->broker->claims_of_peer;
	if (!s->claims.any && claims_of_peer(&s->claims, s->client->socket) < 0) {
		(void)packet_send_status(s->client->socket, BROKER_GOODBYE, 0, -EACCES, REASON_CLAIMS);
		locator_done(&s->locator);
		return;
	}
	s->max_ids = MAX_IDS;
	if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < MAX_IDS + SPARE_FDS)
		s->max_ids = limit.rlim_cur > SPARE_FDS ? (unsigned)limit.rlim_cur - SPARE_FDS : 0;
	s->proof.device = s->client->mark.device;
	s->proof.inode = s->client->mark.inode;
	if (getrandom(s->proof.challenge, sizeof(s->proof.challenge), 0) != sizeof(s->proof.challenge))
		return;
	backing_table_init(&s->ids);
	own_threads_add(&s->own, gettid());
	relief_init(&s->relief, begin_second, keep, s);
	file_jobs_init(&s->jobs, s->client->socket, &s->own, s->client->broker->counters, session_make_change, s);
	session_enter(s, SESSION_NEW, ANNOUNCE_MS);
	s->used_ms = now_ms();
	broker_show(s->client, s);
	relief_run(&s->relief);
	file_jobs_done(&s->jobs);
	relief_done(&s->relief);
	log_end(s, s->error);
	s->listener = listener_free(s->listener);
	backing_table_done(&s->ids);
	locator_done(&s->locator);
}

void *session_thread(void *arg)
{
	struct broker_session *client = arg;
	struct session *s = calloc(1, sizeof(*s));
	struct wake reap = client->broker->reap; /* the number is the same in the thread's own table */
	int r;

	(void)prctl(PR_SET_NAME, "session", 0, 0, 0);
	r = own_descriptors(client);
	client->has_table = r >= 0;
	(void)sem_post(&client->ready);
	while (r >= 0 && sem_wait(&client->alone) < 0 && errno == EINTR)
		;
	if (r < 0 || s == NULL) {
		log_error_limited("a session cannot start: %s", strerror(r < 0 ? -r : ENOMEM));
	} else {
		s->client = client;
		serve(s);
	}
	free(s);
	broker_forget(client);
	if (r >= 0) /* without a table of its own, the thread has no copy to close */
		(void)close_fd(client->socket);
	client->finished = true;
	wake_up(reap); /* client belongs to the main thread from here on */
	return NULL;
}
