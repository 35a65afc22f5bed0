/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sidecar/broker.h"

#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "log.h"
#include "probe/registry.h"
#include "sidecar/nonce_match.h"
#include "sidecar/session.h"

#define STACK_SIZE   (256 * 1024)
#define STOP_WAIT_MS 2000
#define HALVE_IDS_MS 3600000

/*
 * The ids that a uid's sessions have registered and not given back. Ids outlive their session; a mount
 * that ends takes its own along and tells nobody, so half of the count is forgotten every hour.
 */
struct uid_ids {
	struct list node;
	uid_t uid;
	unsigned ids;
	uint64_t halved_ms;
};

static void wake(int event_fd)
{
	uint64_t one = 1;

	(void)!write(event_fd, &one, sizeof(one)); /* full: it is awake anyway */
}

/* A socket file whose owner is gone refuses connections. */
static int remove_stale(int registry, const struct sockaddr_un *address)
{
	_cleanup_close_ int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0)
		return -errno;
	if (connect(fd, (const struct sockaddr *)address, sizeof(*address)) == 0 || errno == EAGAIN)
		return -EADDRINUSE;
	if (unlinkat(registry, BROKER_SOCKET_NAME, 0) < 0 && errno != ENOENT)
		return -errno;
	return 0;
}

int broker_start(struct broker *b, struct export_store *exports, int registry, int nonces)
{
	struct sockaddr_un address;
	int r;

	*b = (struct broker){.lock = PTHREAD_MUTEX_INITIALIZER,
		.exports = exports,
		.registry = registry,
		.nonces = nonces,
		.listener = -1,
		.reap_fd = -1};
	list_init(&b->sessions);
	list_init(&b->uids);
	registry_socket_address(registry, &address);
	r = remove_stale(registry, &address);
	if (r < 0)
		return r;
	b->reap_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	b->listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (b->reap_fd < 0 || b->listener < 0)
		return -errno;
	if (bind(b->listener, (const struct sockaddr *)&address, sizeof(address)) < 0) {
		r = -errno;
		b->listener = close_fd(b->listener); /* then the name is not ours to remove */
		return r;
	}
	/* Everyone may connect: the session is worth what its nonce and its peer are. */
	if (fchmodat(registry, BROKER_SOCKET_NAME, 0666, 0) < 0 || listen(b->listener, 64) < 0)
		return -errno;
	return 0;
}

bool broker_full(const struct broker *b)
{
	return b->nsessions >= BROKER_MAX_SESSIONS;
}

/* Half of the places are root's alone, since another user may own many uids. */
static bool over_limit(const struct broker *b, uid_t uid)
{
	unsigned same = 0, unmatched = 0, users = 0;

	LIST_FOREACH(pos, &b->sessions)
	{
		const struct session *s = CONTAINER_OF(pos, struct session, node);

		same += s->uid == uid;
		unmatched += s->uid == uid && !s->matched;
		users += s->uid != 0;
	}
	return same >= BROKER_MAX_SESSIONS_PER_UID || unmatched >= BROKER_MAX_UNMATCHED_PER_UID ||
		(uid != 0 && users >= BROKER_MAX_SESSIONS - BROKER_MAX_SESSIONS_PER_UID);
}

static int start_thread(struct session *s)
{
	pthread_attr_t attr;
	int r = pthread_attr_init(&attr);

	if (r != 0)
		return -r;
	(void)pthread_attr_setstacksize(&attr, STACK_SIZE);
	r = pthread_create(&s->thread, &attr, session_run, s);
	(void)pthread_attr_destroy(&attr);
	return -r;
}

static void add_session(struct broker *b, struct session *s)
{
	int socket = s->socket, r;

	{
		LOCKED(&b->lock);
		s->refused = over_limit(b, s->uid);
		list_append(&b->sessions, &s->node);
		b->nsessions++;
	}
	r = start_thread(s);
	if (r < 0) {
		log_error("no thread for a session: %s", strerror(-r));
		LOCKED(&b->lock);
		list_remove(&s->node);
		b->nsessions--;
		(void)close_fd(s->event_fd);
		free(s);
	} else {
		/* Until it has its own descriptor table ours must stay as it is. */
		while (sem_wait(&s->ready) < 0 && errno == EINTR)
			;
	}
	(void)close_fd(socket);
}

void broker_accept(struct broker *b)
{
	struct timeval timeout = {.tv_sec = 5};
	struct ucred cred;
	socklen_t len = sizeof(cred);
	_cleanup_close_ int fd = accept4(b->listener, NULL, NULL, SOCK_CLOEXEC);
	struct session *s;

	if (fd < 0)
		return;
	/* A client that does not read its replies must not hold its session for ever. */
	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &len) < 0 ||
		setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &timeout, sizeof(timeout)) < 0)
		return;
	s = calloc(1, sizeof(*s));
	if (s == NULL)
		return;
	s->broker = b;
	s->uid = cred.uid;
	s->pid = cred.pid;
	s->event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (s->event_fd < 0) {
		free(s);
		return;
	}
	(void)sem_init(&s->ready, 0, 0);
	s->socket = steal_fd(&fd);
	add_session(b, s);
}

void broker_reap(struct broker *b)
{
	struct list finished;
	uint64_t n;

	(void)!read(b->reap_fd, &n, sizeof(n));
	list_init(&finished);
	{
		LOCKED(&b->lock);
		LIST_FOREACH(pos, &b->sessions)
		{
			if (!CONTAINER_OF(pos, struct session, node)->finished)
				continue;
			list_remove(pos);
			list_append(&finished, pos);
			b->nsessions--;
		}
	}
	LIST_FOREACH(pos, &finished)
	{
		struct session *s = CONTAINER_OF(pos, struct session, node);

		(void)pthread_join(s->thread, NULL); /* it has nothing left to do */
		(void)close_fd(s->event_fd);
		free(s);
	}
}

void broker_exports_changed(struct broker *b)
{
	LOCKED(&b->lock);
	LIST_FOREACH(pos, &b->sessions)
		wake(CONTAINER_OF(pos, struct session, node)->event_fd);
}

void broker_stop(struct broker *b)
{
	uint64_t deadline = now_ms() + STOP_WAIT_MS;
	struct pollfd ending = {.fd = b->reap_fd, .events = POLLIN};

	if (b->listener >= 0)
		(void)unlinkat(b->registry, BROKER_SOCKET_NAME, 0);
	b->listener = close_fd(b->listener);
	{
		LOCKED(&b->lock);
		LIST_FOREACH(pos, &b->sessions)
		{
			struct session *s = CONTAINER_OF(pos, struct session, node);

			s->stop = true;
			wake(s->event_fd);
		}
	}
	/* One whose client's descriptor hangs ends with the process. */
	while (b->nsessions > 0 && now_ms() < deadline) {
		broker_reap(b);
		if (b->nsessions > 0)
			(void)poll(&ending, 1, (int)(deadline - now_ms()));
	}
	if (b->nsessions > 0)
		log_warning("%u sessions did not end in time", b->nsessions);
	LIST_FOREACH(pos, &b->uids)
	{
		if (b->nsessions == 0)
			free(CONTAINER_OF(pos, struct uid_ids, node));
	}
}

static struct session *find_nonce(struct broker *b, const uint8_t nonce[16])
{
	LIST_FOREACH(pos, &b->sessions)
	{
		struct session *s = CONTAINER_OF(pos, struct session, node);

		if (s->announced && !s->finished && memcmp(s->nonce, nonce, sizeof(s->nonce)) == 0)
			return s;
	}
	return NULL;
}

int broker_announce(struct session *s, const struct broker_announce *announced)
{
	LOCKED(&s->broker->lock);
	if (find_nonce(s->broker, announced->nonce) != NULL)
		return -EEXIST;
	memcpy(s->nonce, announced->nonce, sizeof(s->nonce));
	memcpy(s->proof, announced->proof, sizeof(s->proof));
	s->announced = true;
	return 0;
}

bool broker_expects(struct broker *b, const uint8_t uuid[16])
{
	const struct session *s;

	LOCKED(&b->lock);
	s = find_nonce(b, uuid);
	return s != NULL && !s->matched;
}

static struct uid_ids *ids_of(struct broker *b, uid_t uid)
{
	struct uid_ids *u;

	LIST_FOREACH(pos, &b->uids)
	{
		u = CONTAINER_OF(pos, struct uid_ids, node);
		if (u->uid == uid)
			return u;
	}
	u = calloc(1, sizeof(*u));
	if (u == NULL)
		return NULL;
	u->uid = uid;
	u->halved_ms = now_ms();
	list_append(&b->uids, &u->node);
	return u;
}

int broker_take_id(struct session *s)
{
	struct uid_ids *u;

	LOCKED(&s->broker->lock);
	u = ids_of(s->broker, s->uid);
	if (u == NULL)
		return -ENOMEM;
	for (; u->ids > 0 && now_ms() - u->halved_ms >= HALVE_IDS_MS; u->halved_ms += HALVE_IDS_MS)
		u->ids /= 2;
	if (u->ids == 0)
		u->halved_ms = now_ms();
	if (u->ids >= BROKER_MAX_IDS_PER_UID)
		return -EUSERS;
	u->ids++;
	return 0;
}

void broker_give_id(struct session *s)
{
	struct uid_ids *u;

	LOCKED(&s->broker->lock);
	u = ids_of(s->broker, s->uid);
	if (u != NULL && u->ids > 0)
		u->ids--;
}

bool broker_matched(struct session *s, struct ip_address *ret_peer, uint16_t *ret_port, bool *ret_trusted)
{
	LOCKED(&s->broker->lock);
	if (!s->matched)
		return false;
	*ret_peer = s->peer;
	*ret_port = s->peer_port;
	*ret_trusted = s->trusted;
	return true;
}

int broker_match(
	struct broker *b, const uint8_t uuid[16], const struct ip_address *peer, uint16_t port)
{
	uint8_t proof[NONCE_PROOF_BYTES];
	struct session *s;
	bool trusted;
	uid_t uid;
	int r;

	{
		LOCKED(&b->lock);
		s = find_nonce(b, uuid);
		if (s == NULL || s->matched)
			return -ENOENT;
		uid = s->uid;
		memcpy(proof, s->proof, sizeof(proof));
	}
	r = nonce_match(b->nonces, uuid, proof, uid, &trusted);
	if (r < 0)
		return r;
	LOCKED(&b->lock);
	s = find_nonce(b, uuid); /* it may have gone meanwhile */
	if (s == NULL || s->matched || s->uid != uid || memcmp(s->proof, proof, sizeof(proof)) != 0)
		return -ENOENT;
	s->matched = true;
	s->trusted = trusted;
	s->peer = *peer;
	s->peer_port = port;
	wake(s->event_fd);
	return 0;
}
