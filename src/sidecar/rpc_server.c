/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sidecar/rpc_server.h"

#include <poll.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/socket.h>

#include "localiofs/local_rpc.h"
#include "log.h"
#include "probe/oncrpc.h"
#include "sidecar/nfs_server.h"
#include "sidecar/server_kind.h"

#define MAX_CONNECTIONS 64
#define MAX_OF_ADDRESS  8
#define LIFETIME_MS     10000 /* of a connection: a probe is one call */
#define FOLLOW_MS       1000 /* how often the NFS server's listeners are looked at */

struct listener {
	struct nfs_listener at;
	int fd;
};

struct connection {
	int fd; /* -1: the place is free */
	struct ip_address peer;
	uint16_t port;
	uint64_t accepted_ms;
	size_t received;
	uint8_t buf[ONCRPC_MAX_RECORD];
};

struct rpc_server {
	pthread_t thread;
	int stop_fd;
	uint16_t probeport;
	struct broker *broker;
	struct export_store *exports;
	/* the thread's own from here on */
	struct listener listeners[NFS_SERVER_MAX_LISTENERS];
	unsigned nlisteners;
	int last_error; /* of listening: said once, not every second */
	struct connection connections[MAX_CONNECTIONS];
};

static uint16_t nfs_port(struct rpc_server *s)
{
	struct export_table *t = export_store_get(s->exports);
	uint16_t port = t->server->port(t);

	(void)export_table_unref(t);
	return port;
}

static bool same_listener(const struct nfs_listener *a, const struct nfs_listener *b)
{
	return a->ipv4 == b->ipv4 && a->v6only == b->v6only &&
		ip_address_equal(&a->address, &b->address);
}

static int listen_at(const struct nfs_listener *at, uint16_t port)
{
	struct sockaddr_in in = {.sin_family = AF_INET, .sin_port = htons(port)};
	struct sockaddr_in6 in6 = {.sin6_family = AF_INET6, .sin6_port = htons(port)};
	const struct sockaddr *sa = at->ipv4 ? (void *)&in : (void *)&in6;
	socklen_t len = at->ipv4 ? sizeof(in) : sizeof(in6);
	_cleanup_close_ int fd = socket(
		at->ipv4 ? AF_INET : AF_INET6, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	int on = 1, v6only = at->v6only;

	memcpy(&in.sin_addr, at->address.bytes + 12, 4);
	memcpy(&in6.sin6_addr, at->address.bytes, 16);
	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) < 0 ||
		(!at->ipv4 &&
			setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &v6only, sizeof(v6only)) < 0) ||
		bind(fd, sa, len) < 0 || listen(fd, 16) < 0)
		return -errno;
	return steal_fd(&fd);
}

static void log_listener(const struct nfs_listener *at, uint16_t port, const char *what)
{
	char text[IP_ADDRESS_TEXT];

	ip_address_format_port(&at->address, port, text);
	log_info("%s %s%s", what, text, at->ipv4 ? " (IPv4)" : "");
}

/* Brings our listeners in line with the NFS server's. */
static void follow_server(struct rpc_server *s)
{
	struct nfs_listener want[NFS_SERVER_MAX_LISTENERS];
	int n = nfs_server_listeners(nfs_port(s), want), error = 0;

	if (n < 0) {
		error = n;
		n = 0;
	}
	for (unsigned i = 0; i < s->nlisteners; i++) {
		bool wanted = false;

		for (int j = 0; j < n; j++)
			wanted = wanted || same_listener(&s->listeners[i].at, &want[j]);
		if (wanted)
			continue;
		log_listener(&s->listeners[i].at, s->probeport, "the NFS server has gone from");
		(void)close_fd(s->listeners[i].fd);
		s->listeners[i--] = s->listeners[--s->nlisteners];
	}
	for (int j = 0; j < n; j++) {
		bool have = false;
		int fd;

		for (unsigned i = 0; i < s->nlisteners; i++)
			have = have || same_listener(&s->listeners[i].at, &want[j]);
		if (have || s->nlisteners == NFS_SERVER_MAX_LISTENERS)
			continue;
		fd = listen_at(&want[j], s->probeport);
		if (fd < 0) {
			error = fd;
			continue;
		}
		log_listener(&want[j], s->probeport, "answering on");
		s->listeners[s->nlisteners++] = (struct listener){.at = want[j], .fd = fd};
	}
	if (error != s->last_error && error < 0)
		log_error("cannot listen on port %u for probes: %s (--probeport= names another)",
			s->probeport, strerror(-error));
	s->last_error = error;
}

static void drop(struct connection *c)
{
	c->fd = close_fd(c->fd);
	c->received = 0;
}

static void accept_one(struct rpc_server *s, int listener)
{
	struct sockaddr_storage from;
	socklen_t len = sizeof(from);
	_cleanup_close_ int fd =
		accept4(listener, (struct sockaddr *)&from, &len, SOCK_NONBLOCK | SOCK_CLOEXEC);
	struct connection *place = NULL;
	struct ip_address peer;
	unsigned same = 0;
	uint16_t port;

	if (fd < 0 || ip_address_from_sockaddr(&from, &peer, &port) < 0)
		return;
	for (size_t i = 0; i < MAX_CONNECTIONS; i++) {
		struct connection *c = &s->connections[i];

		if (c->fd < 0)
			place = c;
		else if (ip_address_equal(&c->peer, &peer))
			same++;
	}
	if (place == NULL || same >= MAX_OF_ADDRESS)
		return;
	*place = (struct connection){
		.fd = steal_fd(&fd), .peer = peer, .port = port, .accepted_ms = now_ms()};
}

/* What UUID_IS_LOCAL sets off. Nothing of it shows in the reply. */
static void on_uuid(struct rpc_server *s, const struct connection *c, const uint8_t *uuid)
{
	uint16_t port = nfs_port(s);
	char text[IP_ADDRESS_TEXT];
	int r;

	ip_address_format_port(&c->peer, c->port, text);
	if (!broker_expects(s->broker, uuid)) {
		log_debug("probe from %s: nobody announced it", text);
		return;
	}
	follow_server(s);
	if (s->nlisteners == 0) {
		log_debug("probe from %s: the NFS server is not serving", text);
		return;
	}
	r = nfs_server_has_client(port, &c->peer);
	if (r <= 0) {
		log_debug("probe from %s: %s", text,
			r < 0 ? strerror(-r) : "no connection to the NFS server from there");
		return;
	}
	r = broker_match(s->broker, uuid, &c->peer, c->port);
	log_debug("probe from %s: %s", text, r < 0 ? strerror(-r) : "matched");
}

static enum oncrpc_result answer(
	struct rpc_server *s, const struct connection *c, const struct oncrpc_call *call)
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

/* One whole record; a negative errno when the connection is to be closed. */
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
	/* A peer that leaves no room for 28 bytes is not worth waiting for. */
	return send(c->fd, out, (size_t)n, MSG_NOSIGNAL | MSG_DONTWAIT) == n ? 0 : -EIO;
}

static void on_readable(struct rpc_server *s, struct connection *c)
{
	ssize_t n = recv(c->fd, c->buf + c->received, sizeof(c->buf) - c->received, 0);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		drop(c);
		return;
	}
	c->received += (size_t)n;
	for (;;) {
		ssize_t size = oncrpc_record_size(c->buf, c->received, sizeof(c->buf));

		if (size == 0)
			return;
		if (size < 0 || on_record(s, c, (size_t)size) < 0) {
			drop(c);
			return;
		}
		c->received -= (size_t)size;
		memmove(c->buf, c->buf + size, c->received);
	}
}

static void drop_old(struct rpc_server *s)
{
	uint64_t now = now_ms();

	for (size_t i = 0; i < MAX_CONNECTIONS; i++)
		if (s->connections[i].fd >= 0 && now - s->connections[i].accepted_ms > LIFETIME_MS)
			drop(&s->connections[i]);
}

static void *run(void *arg)
{
	struct rpc_server *s = arg;
	struct pollfd fds[1 + NFS_SERVER_MAX_LISTENERS + MAX_CONNECTIONS];
	uint64_t followed_ms = 0;

	(void)prctl(PR_SET_NAME, "rpc", 0, 0, 0);
	for (;;) {
		unsigned nlisteners;
		nfds_t n = 0;

		if (now_ms() - followed_ms >= FOLLOW_MS) {
			follow_server(s);
			drop_old(s);
			followed_ms = now_ms();
		}
		nlisteners = s->nlisteners;
		fds[n++] = (struct pollfd){.fd = s->stop_fd, .events = POLLIN};
		for (unsigned i = 0; i < nlisteners; i++)
			fds[n++] = (struct pollfd){.fd = s->listeners[i].fd, .events = POLLIN};
		for (size_t i = 0; i < MAX_CONNECTIONS; i++) /* poll skips those with -1 */
			fds[n++] = (struct pollfd){.fd = s->connections[i].fd, .events = POLLIN};
		if (poll(fds, n, FOLLOW_MS) <= 0)
			continue;
		if (fds[0].revents != 0)
			return NULL;
		/* Accepting first: it fills free places only, answering may close listeners. */
		for (unsigned i = 0; i < nlisteners; i++)
			if (fds[1 + i].revents != 0)
				accept_one(s, fds[1 + i].fd);
		for (size_t i = 0; i < MAX_CONNECTIONS; i++)
			if (fds[1 + nlisteners + i].revents != 0)
				on_readable(s, &s->connections[i]);
	}
}

int rpc_server_start(uint16_t probeport, struct broker *broker, struct export_store *exports,
	struct rpc_server **ret)
{
	struct rpc_server *s = calloc(1, sizeof(*s));
	int r;

	if (s == NULL)
		return -ENOMEM;
	s->probeport = probeport;
	s->broker = broker;
	s->exports = exports;
	for (size_t i = 0; i < MAX_CONNECTIONS; i++)
		s->connections[i].fd = -1;
	s->stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	r = s->stop_fd < 0 ? -errno : 0;
	/* Later on a port that is taken may become free; one that is taken now is somebody's for good. */
	follow_server(s);
	if (r >= 0 && s->nlisteners == 0)
		r = s->last_error;
	if (r >= 0) {
		r = -pthread_create(&s->thread, NULL, run, s);
		if (r < 0)
			log_error("no thread for probes: %s", strerror(-r));
	}
	if (r < 0) {
		for (unsigned i = 0; i < s->nlisteners; i++)
			(void)close_fd(s->listeners[i].fd);
		(void)close_fd(s->stop_fd);
		free(s);
		return r;
	}
	*ret = s;
	return 0;
}

struct rpc_server *rpc_server_stop(struct rpc_server *s)
{
	uint64_t one = 1;

	if (s == NULL)
		return NULL;
	(void)!write(s->stop_fd, &one, sizeof(one));
	(void)pthread_join(s->thread, NULL);
	for (unsigned i = 0; i < s->nlisteners; i++)
		(void)close_fd(s->listeners[i].fd);
	for (size_t i = 0; i < MAX_CONNECTIONS; i++)
		(void)close_fd(s->connections[i].fd);
	(void)close_fd(s->stop_fd);
	free(s);
	return NULL;
}
