/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sidecar/probes/rpc_server.h"

#include <poll.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>

#include "localiofs/local_rpc.h"
#include "base/clock.h"
#include "base/log.h"
#include "net/wake.h"
#include "wire/oncrpc.h"
#include "sidecar/host/nfs_server.h"
#include "sidecar/probes/probe_listeners.h"
#include "sidecar/exports/server_kind.h"

#define PLACES           192 /* for connections from ports that all processes may use */
#define RESERVED_PLACES  64  /* for connections from ports below 1024 */
#define MAX_CONNECTIONS  (PLACES + RESERVED_PLACES)
#define MAX_OF_ADDRESS   48 /* places of either kind per source address */
#define ACCEPTED_AT_ONCE 256
#define QUESTION_MS      3000 /* from the connection to its complete question */
#define STOP_WAIT_S      2
#define FOLLOW_MS        1000 /* between two looks at the NFS server's sockets, without questions */
#define LOOK_MS          100  /* between two looks with questions, at least */
#define LOOK_SHARE       10   /* looks use at most one tenth of the time ... */
#define LOOK_MOST_MS     1000 /* ... but the next look comes after so long at the latest */
#define FIRST_FREE_PORT  1024

struct connection {
	int fd; /* -1: the place is free */
	struct ip_address peer;
	uint16_t port;
	uint64_t accepted_ms;
	uint64_t number; /* increases with each connection, so that the oldest can be found */
	size_t received;
	uint8_t buf[ONCRPC_MAX_RECORD];
};

/* A question from an address that was no client of the NFS server at the last look, but may be a client now. */
struct question {
	uint8_t nonce[NONCE_BYTES];
	struct ip_address peer;
	uint16_t port;
};

struct rpc_server {
	pthread_t thread;
	struct wake stop;
	struct broker *brokers; /* one per registry; constant */
	unsigned nbrokers;
	struct export_store *exports;
	/* the fields below belong to the thread */
	struct probe_listeners listeners;
	struct nfs_clients clients;
	uint64_t looked_ms, look_again_ms;       /* the end of the last look, and the earliest time for the next */
	struct question waiting[REGISTRY_SLOTS]; /* questions that wait for the next look */
	unsigned nwaiting;
	uint64_t accepted;
	struct connection connections[MAX_CONNECTIONS]; /* PLACES, then RESERVED_PLACES */
};

static uint16_t nfs_port(struct rpc_server *s)
{
	struct export_table *t = export_store_get(s->exports);
	uint16_t port = t->server->port(t);

	(void)export_table_unref(t);
	return port;
}

/* True if a session of any registry waits for this nonce. */
static bool is_expected(struct rpc_server *s, const uint8_t uuid[NONCE_BYTES])
{
	for (unsigned n = 0; n < s->nbrokers; n++)
		if (broker_expects(&s->brokers[n], uuid))
			return true;
	return false;
}

/* ---- questions: only those of the NFS server's clients count ---- */

static void count_probe(struct rpc_server *s, enum counters_probe result)
{
	counters_add(&s->brokers[0].counters->probes[result]);
}

static void match(struct rpc_server *s, const struct question *q)
{
	char text[IP_ADDRESS_TEXT];
	int r = -ENOENT;

	for (unsigned n = 0; n < s->nbrokers && r == -ENOENT; n++)
		r = broker_match(&s->brokers[n], q->nonce, &q->peer, q->port);
	count_probe(s, r < 0 ? COUNTERS_PROBE_UNKNOWN_NONCE : COUNTERS_PROBE_MATCHED);
	ip_address_format_port(&q->peer, q->port, text);
	log_debug("probe from %s: %s", text, r < 0 ? strerror(-r) : "matched");
}

static void decide_waiting(struct rpc_server *s)
{
	for (unsigned i = 0; i < s->nwaiting; i++) {
		char text[IP_ADDRESS_TEXT];

		if (nfs_clients_have(&s->clients, &s->waiting[i].peer)) {
			match(s, &s->waiting[i]);
			continue;
		}
		count_probe(s, COUNTERS_PROBE_NOT_CONNECTED);
		ip_address_format_port(&s->waiting[i].peer, s->waiting[i].port, text);
		log_debug("probe from %s: this address has no connection to the NFS server", text);
	}
	s->nwaiting = 0;
}

/*
 * Updates the NFS server's listeners and clients, and decides the waiting questions. For the lists, the kernel visits
 * all of its TCP sockets. So one look serves all waiting questions, and slow looks are less frequent.
 */
static void look(struct rpc_server *s)
{
	uint64_t began = now_ms();
	uint16_t port = nfs_port(s);
	int r;

	probe_listeners_follow(&s->listeners, port);
	for (unsigned n = 0; n < s->nbrokers; n++)
		if (atomic_exchange(&s->brokers[n].probeport, s->listeners.port) != s->listeners.port)
			wake_up(s->brokers[n].reap); /* the main thread tells the service manager */
	r = nfs_clients_look(&s->clients, port, s->listeners.server, s->listeners.nserver);
	if (r < 0) {
		nfs_clients_done(&s->clients);
		log_warning_limited("the clients of the NFS server cannot be listed: %s", strerror(-r));
	}
	log_debug("looked at the NFS server's sockets: %u listen, %zu clients", s->listeners.nserver, s->clients.count);
	decide_waiting(s);
	s->looked_ms = now_ms();
	s->look_again_ms = s->looked_ms + MIN(MAX((s->looked_ms - began) * (LOOK_SHARE - 1), LOOK_MS), LOOK_MOST_MS);
}

/*
 * Drops the questions of sessions that have ended. The remaining questions fit, since each has a slot of the registry.
 */
static void forget_ended(struct rpc_server *s)
{
	unsigned n = 0;

	for (unsigned i = 0; i < s->nwaiting; i++)
		if (is_expected(s, s->waiting[i].nonce))
			s->waiting[n++] = s->waiting[i];
	s->nwaiting = n;
}

static void wait_for_look(struct rpc_server *s, const struct question *q)
{
	for (unsigned i = 0; i < s->nwaiting; i++)
		if (memcmp(s->waiting[i].nonce, q->nonce, sizeof(q->nonce)) == 0) {
			s->waiting[i] = *q;
			return;
		}
	if (s->nwaiting == ARRAY_SIZE(s->waiting))
		forget_ended(s);
	if (s->nwaiting < ARRAY_SIZE(s->waiting))
		s->waiting[s->nwaiting++] = *q;
}

/* Handles UUID_IS_LOCAL, at once or after the next look. The reply does not depend on it. */
static void on_uuid(struct rpc_server *s, const struct connection *c, const uint8_t *uuid)
{
	struct question q = {.peer = c->peer, .port = c->port};
	char text[IP_ADDRESS_TEXT];

	memcpy(q.nonce, uuid, sizeof(q.nonce));
	if (!is_expected(s, uuid)) {
		count_probe(s, COUNTERS_PROBE_UNKNOWN_NONCE);
		ip_address_format_port(&c->peer, c->port, text);
		log_debug("probe from %s: no session has announced its nonce", text);
		return;
	}
	if (nfs_clients_have(&s->clients, &q.peer) && now_ms() < s->look_again_ms) {
		match(s, &q);
		return;
	}
	wait_for_look(s, &q);
	if (now_ms() >= s->look_again_ms)
		look(s);
}

/* ---- connections ---- */

static void drop(struct connection *c)
{
	c->fd = close_fd(c->fd);
	c->received = 0;
}

/*
 * A place for a new connection: a free place, or the place of the oldest connection; the oldest from the same address,
 * if that address is at its limit. Complete questions are answered when they arrive, so only a connection whose
 * question is late can lose its place.
 */
static struct connection *make_place(struct rpc_server *s, const struct ip_address *peer, bool reserved)
{
	struct connection *first = s->connections + (reserved ? PLACES : 0);
	struct connection *end = first + (reserved ? RESERVED_PLACES : PLACES);
	struct connection *free_place = NULL, *oldest = NULL, *oldest_same = NULL;
	unsigned same = 0;

	for (struct connection *c = first; c < end; c++) {
		if (c->fd < 0) {
			free_place = c;
			continue;
		}
		if (oldest == NULL || c->number < oldest->number)
			oldest = c;
		if (!ip_address_equal(&c->peer, peer))
			continue;
		same++;
		if (oldest_same == NULL || c->number < oldest_same->number)
			oldest_same = c;
	}
	if (same < MAX_OF_ADDRESS && free_place != NULL)
		return free_place;
	if (same >= MAX_OF_ADDRESS)
		oldest = oldest_same;
	if (oldest != NULL) /* always true, since all places are taken */
		drop(oldest);
	return oldest;
}

static enum oncrpc_result answer(struct rpc_server *s, const struct connection *c, const struct oncrpc_call *call)
{
	if (call->program != LOCAL_RPC_PROGRAM)
		return ONCRPC_PROG_UNAVAIL;
	if (call->version != LOCAL_RPC_VERSION)
		return ONCRPC_PROG_MISMATCH;
	switch (call->procedure) {
	case LOCAL_RPC_NULL:
		return call->args_length == 0 ? ONCRPC_SUCCESS : ONCRPC_GARBAGE_ARGS;
	case LOCAL_RPC_UUID_IS_LOCAL:
		if (call->args_length != LOCAL_RPC_UUID_SIZE)
			return ONCRPC_GARBAGE_ARGS;
		on_uuid(s, c, call->args);
		return ONCRPC_SUCCESS;
	default:
		return ONCRPC_PROC_UNAVAIL;
	}
}

/* Answers one whole record. A negative errno if no reply could be sent. */
static int on_record(struct rpc_server *s, struct connection *c, size_t size)
{
	enum oncrpc_result result;
	struct oncrpc_call call;
	uint8_t out[64];
	ssize_t n;
	int r;

	r = oncrpc_decode_call(c->buf, size, &call, &result);
	if (r < 0)
		return r;
	if (result == ONCRPC_SUCCESS)
		result = answer(s, c, &call);
	n = oncrpc_encode_reply(call.xid, result, LOCAL_RPC_VERSION, out, sizeof(out));
	if (n < 0)
		return (int)n;
	/* The thread does not wait for a client whose socket has no room for a reply of 28 bytes. */
	return send(c->fd, out, (size_t)n, MSG_NOSIGNAL | MSG_DONTWAIT) == n ? 0 : -EIO;
}

/* Reads from a connection; one question is allowed per connection. */
static void on_readable(struct rpc_server *s, struct connection *c)
{
	ssize_t n = recv(c->fd, c->buf + c->received, sizeof(c->buf) - c->received, MSG_DONTWAIT);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		drop(c);
		return;
	}
	c->received += (size_t)n;
	n = oncrpc_record_size(c->buf, c->received, sizeof(c->buf));
	if (n == 0)
		return;
	if (n > 0)
		(void)on_record(s, c, (size_t)n);
	drop(c);
}

/* True if a connection was waiting. */
static bool accept_one(struct rpc_server *s, int listener)
{
	struct sockaddr_storage from, own;
	socklen_t len = sizeof(from), own_len = sizeof(own);
	_cleanup_close_ int fd = accept4(listener, (struct sockaddr *)&from, &len, SOCK_NONBLOCK | SOCK_CLOEXEC);
	struct ip_address peer, at;
	struct connection *place;
	uint16_t port;

	if (fd < 0)
		return errno == ECONNABORTED || errno == EINTR;
	if (ip_address_from_sockaddr(&from, &peer, &port) < 0 ||
		getsockname(fd, (struct sockaddr *)&own, &own_len) < 0 ||
		ip_address_from_sockaddr(&own, &at, NULL) < 0 ||
		!nfs_listeners_cover(s->listeners.server, s->listeners.nserver, &at))
		return true;
	place = make_place(s, &peer, port < FIRST_FREE_PORT);
	if (place == NULL)
		return true;
	*place = (struct connection){.fd = steal_fd(&fd),
		.peer = peer,
		.port = port,
		.accepted_ms = now_ms(),
		.number = ++s->accepted};
	/* Usually the question is already there; it is answered before another connection can take the place. */
	on_readable(s, place);
	return true;
}

static void drop_old(struct rpc_server *s)
{
	uint64_t now = now_ms();

	for (size_t i = 0; i < MAX_CONNECTIONS; i++)
		if (s->connections[i].fd >= 0 && time_since(s->connections[i].accepted_ms, now) > QUESTION_MS)
			drop(&s->connections[i]);
}

/*
 * Handles the result of poll(2); false if the thread is to end. Each answer may change the listeners, hence the checks.
 */
static bool handle(struct rpc_server *s, const struct pollfd *fds, unsigned nlisteners)
{
	if (fds[0].revents != 0)
		return false;
	for (size_t i = 0; i < MAX_CONNECTIONS; i++)
		if (fds[1 + nlisteners + i].revents != 0 && s->connections[i].fd == fds[1 + nlisteners + i].fd)
			on_readable(s, &s->connections[i]);
	for (unsigned i = 0; i < MIN(nlisteners, s->listeners.count); i++) {
		int fd = s->listeners.list[i].fd;

		for (unsigned n = 0; n < ACCEPTED_AT_ONCE && fd == fds[1 + i].fd && fds[1 + i].revents != 0; n++)
			if (!accept_one(s, fd) || i >= s->listeners.count || s->listeners.list[i].fd != fd)
				break;
	}
	return true;
}

static void *run(void *arg)
{
	struct rpc_server *s = arg;
	struct pollfd fds[1 + NFS_SERVER_MAX_LISTENERS + MAX_CONNECTIONS];

	(void)prctl(PR_SET_NAME, "rpc", 0, 0, 0);
	for (;;) {
		uint64_t next = s->nwaiting > 0 ? s->look_again_ms : MAX(s->looked_ms + FOLLOW_MS, s->look_again_ms);
		unsigned nlisteners;
		nfds_t n = 0;

		drop_old(s);
		if (now_ms() >= next) {
			look(s);
			continue;
		}
		nlisteners = s->listeners.count;
		fds[n++] = (struct pollfd){.fd = s->stop.fd, .events = POLLIN};
		for (unsigned i = 0; i < nlisteners; i++)
			fds[n++] = (struct pollfd){.fd = s->listeners.list[i].fd, .events = POLLIN};
		for (size_t i = 0; i < MAX_CONNECTIONS; i++) /* poll skips those with -1 */
			fds[n++] = (struct pollfd){.fd = s->connections[i].fd, .events = POLLIN};
		if (poll(fds, n, (int)MIN(next - MIN(now_ms(), next), FOLLOW_MS)) > 0 && !handle(s, fds, nlisteners))
			return NULL;
	}
}

static void close_all(struct rpc_server *s)
{
	probe_listeners_done(&s->listeners);
	nfs_clients_done(&s->clients);
	for (size_t i = 0; i < MAX_CONNECTIONS; i++)
		(void)close_fd(s->connections[i].fd);
	wake_close(&s->stop);
	free(s);
}

int rpc_server_start(uint16_t probeport, struct broker *brokers, unsigned nbrokers, struct export_store *exports,
	struct rpc_server **ret)
{
	struct rpc_server *s = calloc(1, sizeof(*s));
	int r;

	if (s == NULL)
		return -ENOMEM;
	probe_listeners_init(&s->listeners, probeport);
	s->brokers = brokers;
	s->nbrokers = nbrokers;
	s->exports = exports;
	for (size_t i = 0; i < MAX_CONNECTIONS; i++)
		s->connections[i].fd = -1;
	r = wake_open(&s->stop);
	look(s);
	if (r >= 0 && s->listeners.count == 0)
		r = s->listeners.last_error;
	if (r >= 0) {
		r = -pthread_create(&s->thread, NULL, run, s);
		if (r < 0)
			log_error("no thread for probes: %s", strerror(-r));
	}
	if (r < 0) {
		close_all(s);
		return r;
	}
	*ret = s;
	return 0;
}

struct rpc_server *rpc_server_stop(struct rpc_server *s)
{
	struct timespec deadline;

	if (s == NULL)
		return NULL;
	wake_up(s->stop);
	(void)clock_gettime(CLOCK_REALTIME, &deadline);
	deadline.tv_sec += STOP_WAIT_S;
	if (pthread_timedjoin_np(s->thread, NULL, &deadline) != 0) {
		log_warning("the thread for probes did not end in time");
		return s;
	}
	close_all(s);
	return NULL;
}
