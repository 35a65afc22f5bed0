/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "io/libnfs/connection.h"

#include <poll.h>
#include <string.h>

#include <nfsc/libnfs.h>
#include <nfsc/libnfs-raw.h>
#include <nfsc/libnfs-raw-nfs.h>

#include "io/libnfs/nfs3_codec.h"
#include "base/clock.h"
#include "base/log.h"
#include "net/tcp.h"

#define STEADY_MS          5000 /* a connection that was up for so long ends the backoff */
#define CONNECT_TIMEOUT_MS 10000
#define NULL_TIMEOUT_MS    10000
#define RESEND_TIMEOUT_MS  5000

static struct nfs_call *from_node(struct list *node)
{
	return CONTAINER_OF(node, struct nfs_call, node);
}

void connection_init(struct connection *c, bool reserved, const struct connection_sink *sink)
{
	memset(c, 0, sizeof(*c));
	c->sink = sink;
	c->reserved = reserved;
	c->fd = -1;
	list_init(&c->in_flight);
}

int connection_open(struct connection *c, const struct sockaddr_storage *to)
{
	int fd = tcp_open(to, c->reserved, &c->port);

	if (fd < 0)
		return fd;
	tcp_notice_dead_peer(fd);
	c->fd = fd;
	c->state = CONNECTION_CONNECTING;
	c->deadline = now_ms() + CONNECT_TIMEOUT_MS;
	c->proven = c->stuck = false;
	c->null_error = c->broken = 0;
	return 0;
}

int connection_poll(const struct connection *c, short *ret_events)
{
	*ret_events = c->state == CONNECTION_CONNECTING ? POLLOUT : c->rpc ? (short)rpc_which_events(c->rpc) : 0;
	return c->rpc ? rpc_get_fd(c->rpc) : c->fd;
}

/* Frees a ticket for which libnfs has called back, or will not call back. */
static void free_ticket(struct nfs3_ticket *ticket)
{
	list_remove(&ticket->node);
	free(ticket->buffer);
	free(ticket);
}

void connection_take(struct connection *c, struct nfs_call *call)
{
	LIST_FOREACH (pos, &call->wire.tickets) {
		list_remove(pos);
		CONTAINER_OF(pos, struct nfs3_ticket, node)->call = NULL;
	}
	list_remove(&call->node);
	call->wire.connection = NULL;
	c->count--;
}

static void call_answered(struct rpc_context *rpc, int status, void *data, void *private_data)
{
	struct nfs3_ticket *ticket = private_data;
	struct nfs_call *call = ticket->call;
	struct connection *c = ticket->connection;
	bool answered = status == RPC_STATUS_SUCCESS && data;
	int error = 0;

	c->heard = work_ms();
	if (!answered && status == RPC_STATUS_ERROR && data)
		error = nfs3_denial(data);
	if (error < 0 && call)
		log_debug("%s: %s", nfs_proc_name(call->proc), (const char *)data);
	/* Otherwise the connection breaks and the call waits for the next connection, or the call has ended. */
	if (call && (answered || error < 0)) {
		c->proven = true;
		c->answered++;
		connection_take(c, call);
		c->sink->answered(c->sink->arg, call, error, data, ticket->buffer);
	}
	free_ticket(ticket);
}

static int send_ticket(struct connection *c, struct nfs_call *call)
{
	struct nfs3_ticket *ticket = calloc(1, sizeof(*ticket));
	int r;

	if (!ticket)
		return -ENOMEM;
	ticket->call = call;
	ticket->connection = c;
	list_append(&call->wire.tickets, &ticket->node);
	r = nfs3_encode(c->rpc, ticket, call_answered);
	c->unsent++;
	call->wire.sent_ns = now_ns();
	if (r < 0)
		free_ticket(ticket);
	else
		call->wire.due = call->wire.sent_ns / 1000000 + call->wire.timeout_ms;
	return r;
}

int connection_send(struct connection *c, struct nfs_call *call)
{
	int r = send_ticket(c, call);

	if (r < 0)
		return r;
	call->wire.connection = c;
	list_append(&c->in_flight, &call->node);
	c->count++;
	return 0;
}

void connection_send_again(struct connection *c, struct nfs_call *call)
{
	/* If memory is short, the next timeout tries again. */
	if (c->state == CONNECTION_UP && !(rpc_which_events(c->rpc) & POLLOUT) && send_ticket(c, call) == 0)
		c->repeated++;
}

/* The connection is up: the calls of the lost connection are sent first. */
static void come_up(struct connection *c)
{
	c->state = CONNECTION_UP;
	c->up_since = c->heard = now_ms();
	LIST_FOREACH (pos, &c->in_flight) {
		struct nfs_call *call = from_node(pos);
		int r;

		/* A server that is still busy with the first copy may drop the second. */
		call->wire.timeout_ms = MIN(call->wire.timeout_ms, RESEND_TIMEOUT_MS);
		r = send_ticket(c, call);
		c->repeated += r == 0;
		if (r < 0) {
			connection_take(c, call);
			c->sink->answered(c->sink->arg, call, r, NULL, NULL);
		}
	}
	c->sink->up(c->sink->arg, c);
}

static void null_answered(struct rpc_context *rpc, int status, void *data, void *private_data)
{
	struct connection *c = private_data;

	if (c->state != CONNECTION_ASKING)
		return; /* the context is being destroyed */
	if (status == RPC_STATUS_ERROR && data)
		c->null_error = nfs3_denial(data);
	/* A server that demands a credential even for NULL (-EACCES) has answered, too. */
	if (status == RPC_STATUS_SUCCESS || c->null_error == -EACCES) {
		c->null_error = 0;
		come_up(c);
	}
}

static int ask_null(struct connection *c, uint32_t xid)
{
	rpc_set_next_xid(c->rpc, xid);
#ifdef LIBNFS_TASKS
	return rpc_nfs3_null_task(c->rpc, null_answered, c) ? 0 : -ENOMEM;
#else
	return rpc_nfs3_null_async(c->rpc, null_answered, c) == 0 ? 0 : -ENOMEM;
#endif
}

/* Gives the connected socket to libnfs, and sends NULL. */
static int hand_over(struct connection *c, uint32_t null_xid)
{
	int r = tcp_opened(c->fd);

	if (r < 0)
		return r;
	c->nfs = nfs_init_context();
	if (!c->nfs)
		return -ENOMEM;
	c->rpc = nfs_get_rpc_context(c->nfs);
	nfs_set_autoreconnect(c->nfs, 0);
	rpc_set_fd(c->rpc, steal_fd(&c->fd));
	/* libnfs takes a writable socket for connected. */
	if (rpc_service(c->rpc, POLLOUT) < 0)
		return -ECONNRESET;
	c->state = CONNECTION_ASKING;
	c->deadline = now_ms() + NULL_TIMEOUT_MS;
	r = ask_null(c, null_xid);
	return r < 0 ? r : connection_flush(c);
}

int connection_flush(struct connection *c)
{
	bool many = c->unsent > 1;
	int r;

	c->unsent = 0;
	if (!c->rpc || !(rpc_which_events(c->rpc) & POLLOUT))
		return 0;
	/* libnfs sends each message by itself, and each would wake the server up. */
	if (many)
		tcp_hold(rpc_get_fd(c->rpc), true);
	r = rpc_service(c->rpc, POLLOUT);
	if (many && r >= 0)
		tcp_hold(rpc_get_fd(c->rpc), false);
	return r < 0 ? -ECONNRESET : 0;
}

/* Ends calls without a ticket with -EIO: libnfs has given them up although the connection is up. */
static void end_orphans(struct connection *c)
{
	LIST_FOREACH (pos, &c->in_flight) {
		struct nfs_call *call = from_node(pos);

		if (!list_empty(&call->wire.tickets))
			continue;
		connection_take(c, call);
		c->sink->answered(c->sink->arg, call, -EIO, NULL, NULL);
	}
}

int connection_service(struct connection *c, int revents, uint32_t null_xid)
{
	if (c->state == CONNECTION_CONNECTING)
		return hand_over(c, null_xid);
	if (rpc_service(c->rpc, revents) < 0)
		return c->null_error < 0 ? c->null_error : -ECONNRESET;
	if (c->null_error < 0)
		return c->null_error;
	if (c->state == CONNECTION_UP)
		end_orphans(c);
	return 0;
}

void connection_close(struct connection *c)
{
	c->state = CONNECTION_DOWN;
	if (c->rpc && rpc_get_fd(c->rpc) >= 0)
		tcp_reset_on_close(rpc_get_fd(c->rpc));
	c->rpc = NULL;
	if (c->nfs)
		nfs_destroy_context(STEAL_PTR(c->nfs)); /* calls back for each ticket */
	c->fd = close_fd(c->fd);
}

void connection_back_off(struct connection *c, uint64_t now, bool near)
{
	const struct backoff_limits *limits = c->proven || near ? &connection_backoff_short : &connection_backoff_long;

	if (c->up_since > 0 && time_since(c->up_since, now) >= STEADY_MS)
		c->backoff.wait_ms = 0;
	c->up_since = 0;
	c->retry_at = now + backoff_next(&c->backoff, limits, backoff_random());
}
