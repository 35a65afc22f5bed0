/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "io/nfs3.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/random.h>

#include <nfsc/libnfs.h>
#include <nfsc/libnfs-raw.h>
#include <nfsc/libnfs-raw-nfs.h>

#include "io/nfs3_codec.h"
#include "log.h"

#define BACKOFF_MIN_MS 20
#define BACKOFF_MAX_MS 10000
#define CONNECT_TIMEOUT_MS 10000
#define DEAD_PEER_MS 60000 /* TCP_USER_TIMEOUT: a peer that acknowledges nothing is gone */

enum link_state {
	LINK_DOWN,       /* waiting for retry_at */
	LINK_CONNECTING, /* libnfs connects and sends NULL */
	LINK_UP,
};

struct nfs3 {
	struct transport transport;
	char *server;
	unsigned port;
	void (*connection_changed)(void *arg, bool connected);
	void *arg;
	pthread_t thread;
	int wake_fd;
	atomic_bool stopping;

	/* Under the lock: what other threads touch. */
	pthread_mutex_t lock;
	struct list submitted;
	bool stopped; /* nobody takes from submitted any more */
	struct transport_stats stats;

	/* The loop thread's own. */
	struct nfs_context *nfs;
	struct rpc_context *rpc;
	enum link_state state;
	bool broken;            /* the connection failed inside a libnfs callback */
	bool ever_up;
	bool said_down;
	uint64_t retry_at;      /* ms */
	uint64_t connect_until; /* ms */
	unsigned backoff_ms;
	struct list waiting;    /* to be sent */
	struct list in_flight;  /* libnfs has them */
	struct list failed;     /* answered with an RPC error in this round, or never */
	struct list delayed;    /* JUKEBOX */
};

static void finish(struct nfs3 *c, struct nfs_call *call)
{
	void *allocation = NULL;

	if (call->error < 0)
		nfs3_discard(call);
	else
		allocation = nfs3_allocation(call);
	/* Removed by the call's first copy, whose answer was lost. */
	if (call->resent && call->error == -ENOENT &&
		(call->proc == NFS_REMOVE || call->proc == NFS_RMDIR))
		call->error = 0;
	call->resent = false;
	{
		LOCKED(&c->lock);
		c->stats.calls[call->proc]++;
	}
	call->done(call);
	free(allocation);
}

static void finish_all(struct nfs3 *c, struct list *calls, int error)
{
	struct list mine;

	list_init(&mine);
	list_splice(&mine, calls);
	while (!list_empty(&mine)) {
		struct nfs_call *call = CONTAINER_OF(mine.next, struct nfs_call, node);

		list_remove(&call->node);
		call->error = error;
		finish(c, call);
	}
}

/* libnfs hands its callbacks the call only; which loop runs is the thread's. */
static _Thread_local struct nfs3 *this_loop;

static void answered(struct rpc_context *rpc, int status, void *data, void *private_data)
{
	struct nfs3 *c = this_loop;
	struct nfs_call *call = private_data;

	list_remove(&call->node);
	if (status != RPC_STATUS_SUCCESS || !data) {
		/* The connection broke, or the server denied the RPC: service() knows after it. */
		if (status == RPC_STATUS_ERROR && data)
			log_debug("%s: %s", nfs_proc_name(call->proc), (const char *)data);
		nfs3_discard(call);
		list_append(&c->failed, &call->node);
		return;
	}
	if (nfs3_decode(call, data)) {
		nfs3_discard(call);
		call->not_before = now_ms() + NFS3_JUKEBOX_MS;
		list_append(&c->delayed, &call->node);
		return;
	}
	finish(c, call);
}

static void set_connected(struct nfs3 *c, bool connected)
{
	{
		LOCKED(&c->lock);
		if (c->stats.connected == connected)
			return;
		c->stats.connected = connected;
		if (connected) {
			socklen_t len = sizeof(c->stats.peer);

			c->stats.reconnects += c->ever_up;
			(void)getpeername(rpc_get_fd(c->rpc), (struct sockaddr *)&c->stats.peer, &len);
		}
	}
	if (connected && c->said_down)
		log_info("NFS server %s answers again", c->server);
	c->said_down = false;
	c->ever_up |= connected;
	if (c->connection_changed)
		c->connection_changed(c->arg, connected);
}

/* Takes the connection down; what was in flight goes back to the head of the queue. */
static void disconnect(struct nfs3 *c)
{
	struct list again;
	uint32_t jitter = 0;

	c->state = LINK_DOWN;
	if (c->nfs) {
		nfs_destroy_context(STEAL_PTR(c->nfs)); /* runs answered() for all it has */
		c->rpc = NULL;
	}
	list_init(&again);
	list_splice(&again, &c->in_flight);
	list_splice(&again, &c->failed);
	LIST_FOREACH(pos, &again)
	{
		CONTAINER_OF(pos, struct nfs_call, node)->resent = true;
	}
	list_splice(&again, &c->waiting);
	list_splice(&c->waiting, &again);
	set_connected(c, false);
	c->broken = false;
	(void)getrandom(&jitter, sizeof(jitter), GRND_NONBLOCK);
	c->retry_at = now_ms() + c->backoff_ms + jitter % (c->backoff_ms / 2 + 1);
	c->backoff_ms = MIN(c->backoff_ms * 2, BACKOFF_MAX_MS);
}

static void connected(struct rpc_context *rpc, int status, void *data, void *private_data)
{
	struct nfs3 *c = private_data;
	int on = 1;
	unsigned dead_ms = DEAD_PEER_MS;

	if (c->state != LINK_CONNECTING)
		return; /* libnfs repeats the callback when the context goes down */
	if (status != RPC_STATUS_SUCCESS) {
		/* Before the first connection it is the mount that fails, and says so. */
		if (!c->said_down)
			log_message(c->ever_up ? LOG_WARNING : LOG_DEBUG,
				"NFS server %s port %u does not answer: %s; trying again", c->server,
				c->port, data ? (const char *)data : "connection refused or lost");
		c->said_down = true;
		c->broken = true;
		return;
	}
	(void)setsockopt(rpc_get_fd(rpc), SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
	(void)setsockopt(rpc_get_fd(rpc), IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	(void)setsockopt(
		rpc_get_fd(rpc), IPPROTO_TCP, TCP_USER_TIMEOUT, &dead_ms, sizeof(dead_ms));
	c->state = LINK_UP;
	c->backoff_ms = BACKOFF_MIN_MS;
	set_connected(c, true);
}

static void start_connect(struct nfs3 *c)
{
	c->nfs = nfs_init_context();
	if (!c->nfs) {
		disconnect(c);
		return;
	}
	c->rpc = nfs_get_rpc_context(c->nfs);
	nfs_set_autoreconnect(c->nfs, 0);
	c->state = LINK_CONNECTING;
	c->connect_until = now_ms() + CONNECT_TIMEOUT_MS;
	if (rpc_connect_port_async(c->rpc, c->server, (int)c->port, NFS_PROGRAM, NFS_V3, connected, c) != 0)
		disconnect(c);
}

static void send_waiting(struct nfs3 *c)
{
	bool sent = false;

	{
		LOCKED(&c->lock);
		list_splice(&c->waiting, &c->submitted);
	}
	if (c->state != LINK_UP)
		return;
	while (!list_empty(&c->waiting)) {
		struct nfs_call *call = CONTAINER_OF(c->waiting.next, struct nfs_call, node);
		int r;

		list_remove(&call->node);
		list_append(&c->in_flight, &call->node);
		r = nfs3_encode(c->rpc, call, answered);
		if (r < 0) {
			list_remove(&call->node);
			call->error = r;
			finish(c, call);
			continue;
		}
		sent = true;
	}
	if (sent && rpc_service(c->rpc, POLLOUT) < 0)
		c->broken = true;
}

/* Lets libnfs read and write; afterwards it is known why the failed calls failed. */
static void service(struct nfs3 *c, int revents)
{
	if (rpc_service(c->rpc, revents) < 0)
		c->broken = true;
}

static void after_service(struct nfs3 *c)
{
	if (c->broken) {
		disconnect(c);
		return;
	}
	/* The connection stands, so these were denied: AUTH_ERROR and the like. */
	finish_all(c, &c->failed, -EACCES);
}

static void wake_delayed(struct nfs3 *c, uint64_t now)
{
	LIST_FOREACH(pos, &c->delayed)
	{
		struct nfs_call *call = CONTAINER_OF(pos, struct nfs_call, node);

		if (call->not_before > now)
			break; /* in order of time */
		list_remove(pos);
		list_append(&c->waiting, pos);
	}
}

/* Milliseconds until something is due without an event; -1 for never. */
static int next_timeout(struct nfs3 *c, uint64_t now)
{
	uint64_t due = UINT64_MAX;

	if (c->state == LINK_DOWN)
		due = c->retry_at;
	if (c->state == LINK_CONNECTING)
		due = c->connect_until;
	if (!list_empty(&c->delayed))
		due = MIN(due, CONTAINER_OF(c->delayed.next, struct nfs_call, node)->not_before);
	if (due == UINT64_MAX)
		return -1;
	return due <= now ? 0 : (int)MIN(due - now, 60000U);
}

static bool any_submitted(struct nfs3 *c)
{
	LOCKED(&c->lock);
	return !list_empty(&c->submitted);
}

static void *loop(void *arg)
{
	struct nfs3 *c = arg;

	this_loop = c;
	while (!c->stopping) {
		uint64_t now = now_ms();
		struct pollfd fds[2] = {{.fd = c->wake_fd, .events = POLLIN}, {.fd = -1}};

		wake_delayed(c, now);
		if (c->state == LINK_DOWN && now >= c->retry_at)
			start_connect(c);
		else if (c->state == LINK_CONNECTING && now >= c->connect_until)
			c->broken = true;
		send_waiting(c);
		after_service(c);
		if (c->rpc) {
			fds[1].fd = rpc_get_fd(c->rpc);
			fds[1].events = (short)rpc_which_events(c->rpc);
		}
		/* What done() submitted since send_waiting() woke nobody. */
		if (poll(fds, 2, any_submitted(c) ? 0 : next_timeout(c, now_ms())) < 0)
			continue;
		if (fds[0].revents) {
			uint64_t n;

			(void)!read(c->wake_fd, &n, sizeof(n));
		}
		if (fds[1].revents && c->rpc) {
			service(c, fds[1].revents);
			after_service(c);
		}
	}
	if (c->nfs)
		nfs_destroy_context(c->nfs);
	list_splice(&c->waiting, &c->in_flight);
	list_splice(&c->waiting, &c->failed);
	list_splice(&c->waiting, &c->delayed);
	{
		LOCKED(&c->lock);
		list_splice(&c->waiting, &c->submitted);
		c->stopped = true;
	}
	finish_all(c, &c->waiting, -ENOTCONN);
	return NULL;
}

static void wake(struct nfs3 *c)
{
	uint64_t one = 1;

	(void)!write(c->wake_fd, &one, sizeof(one));
}

static void nfs3_submit(struct transport *t, struct nfs_call *call)
{
	struct nfs3 *c = CONTAINER_OF(t, struct nfs3, transport);
	bool first, stopped;

	{
		LOCKED(&c->lock);
		first = list_empty(&c->submitted);
		stopped = c->stopped;
		if (!stopped)
			list_append(&c->submitted, &call->node);
	}
	if (stopped) {
		call->error = -ENOTCONN;
		call->done(call);
	} else if (first && this_loop != c) {
		wake(c);
	}
}

static void nfs3_stats(struct transport *t, struct transport_stats *ret)
{
	struct nfs3 *c = CONTAINER_OF(t, struct nfs3, transport);

	LOCKED(&c->lock);
	*ret = c->stats;
}

static void nfs3_stop(struct transport *t)
{
	struct nfs3 *c = CONTAINER_OF(t, struct nfs3, transport);

	if (atomic_exchange(&c->stopping, true))
		return;
	wake(c);
	(void)pthread_join(c->thread, NULL);
}

static void nfs3_free(struct transport *t)
{
	struct nfs3 *c = CONTAINER_OF(t, struct nfs3, transport);

	nfs3_stop(t);
	(void)close_fd(c->wake_fd);
	(void)pthread_mutex_destroy(&c->lock);
	free(c->server);
	free(c);
}

int nfs3_new(const struct nfs3_options *options, struct transport **ret)
{
	static const struct transport_ops ops = {
		.submit = nfs3_submit, .stats = nfs3_stats, .stop = nfs3_stop, .free = nfs3_free};
	struct nfs3 *c = calloc(1, sizeof(*c));
	int r;

	if (!c)
		return -ENOMEM;
	c->transport.ops = &ops;
	c->port = options->port ? options->port : NFS3_PORT;
	c->connection_changed = options->connection_changed;
	c->arg = options->arg;
	c->backoff_ms = BACKOFF_MIN_MS;
	list_init(&c->submitted);
	list_init(&c->waiting);
	list_init(&c->in_flight);
	list_init(&c->failed);
	list_init(&c->delayed);
	(void)pthread_mutex_init(&c->lock, NULL);
	c->server = strdup(options->server);
	c->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	r = !c->server ? -ENOMEM : c->wake_fd < 0 ? -errno : -pthread_create(&c->thread, NULL, loop, c);
	if (r < 0) {
		(void)close_fd(c->wake_fd);
		free(c->server);
		free(c);
		return r;
	}
	*ret = &c->transport;
	return 0;
}
