/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * One connection to the NFS server: a libnfs context on a socket that this file opens, and the calls that the
 * connection carries. struct nfs3 owns the connection. One thread at a time uses it. Any thread may call
 * connection_send(), connection_poll(), and connection_flush() while the connection is up: they do not call the sink.
 * Only the loop thread calls the other functions. No function blocks.
 *
 * libnfs does not open the socket because libnfs would bind any port. The reply cache of a server knows a client by
 * address and port (fs/nfsd/nfscache.c nfsd_cache_key_cmp; Ganesha's nfs_dupreq.c drc_recycle_cmpf), so a connection
 * uses the same port each time. libnfs does not reconnect because its reconnect has no backoff.
 *
 * A connection is up when the server has answered a NULL call: a program that listens on the port need not be an NFS
 * server. A call stays with its connection until its end: when the connection is lost and comes back, the call is sent
 * again as the same bytes.
 */
#pragma once

#include <stdatomic.h>

#include "pacing/backoff.h"
#include "io/server.h"

struct nfs_context;
struct rpc_context;

/* The waits between attempts: short while the server answers calls but the connection breaks, or is on this host. */
static const struct backoff_limits connection_backoff_short = {.least_ms = 20, .most_ms = 1000, .jitter_part = 2};
static const struct backoff_limits connection_backoff_long = {.least_ms = 20, .most_ms = 15000, .jitter_part = 2};

enum connection_state {
	CONNECTION_DOWN,       /* until retry_at; then struct nfs3 decides */
	CONNECTION_CONNECTING, /* until the deadline */
	CONNECTION_ASKING,     /* a NULL call was sent; until the deadline */
	CONNECTION_UP,
};

/* The owner of the connection: struct nfs3. */
struct connection_sink {
	/*
	 * A call was answered, and belongs to the sink again. If error is 0, nfs3_decode() takes data and buffer.
	 * Otherwise the server denied the RPC, and error is nfs3_denial()'s.
	 */
	void (*answered)(void *arg, struct nfs_call *call, int error, void *data, void *buffer);
	/* The server answered the NULL call: the connection is up. */
	void (*up)(void *arg, struct connection *c);
	void *arg;
};

struct connection {
	const struct connection_sink *sink;
	bool reserved; /* use a source port below 1024, if the process may */
	enum connection_state state;
	int fd;        /* while connecting; then libnfs has the descriptor */
	unsigned port; /* the source port, kept for the next time */
	struct nfs_context *nfs;
	struct rpc_context *rpc;
	uint64_t retry_at, deadline; /* ms */
	uint64_t up_since;           /* ms */
	uint64_t heard;              /* ms: the time of the last answer */
	bool stuck;                  /* set by the owner, which then closes the connection */
	int broken;                  /* the same: a negative errno of connection_flush() on another thread */
	bool proven;                 /* the server has answered a call other than NULL */
	int null_error;              /* the server's denial of NULL, as a negative errno */
	struct backoff backoff;
	struct list in_flight; /* nfs_call.node, in the order of connection_send() */
	size_t count;          /* calls in in_flight */
	unsigned unsent;       /* messages since connection_flush(), at most */
	atomic_uint_fast64_t answered;
	atomic_uint_fast64_t repeated; /* calls that were sent again */
};

void connection_init(struct connection *c, bool reserved, const struct connection_sink *sink);

/* Begins to connect. Returns 0 or a negative errno. */
int connection_open(struct connection *c, const struct sockaddr_storage *to);

/* Returns the descriptor to poll, or -1; *ret_events are the events to wait for. */
int connection_poll(const struct connection *c, short *ret_events);

/*
 * Reads, writes, and calls the sink. A negative errno means that the connection must be closed: -ECONNRESET if it
 * broke, -EPFNOSUPPORT and other denials if the port has no NFSv3 server.
 */
int connection_service(struct connection *c, int revents, uint32_t null_xid);

/*
 * Queues a call that has an xid; connection_flush() writes the queue to the socket. On a negative errno the call still
 * belongs to the caller.
 */
int connection_send(struct connection *c, struct nfs_call *call);
int connection_flush(struct connection *c);

/* Sends a call again, unless the socket's queue is not empty: then the copy could only come late. */
void connection_send_again(struct connection *c, struct nfs_call *call);

/* Gives a call back to the caller. The server's answer will be dropped. */
void connection_take(struct connection *c, struct nfs_call *call);

/* Closes the connection. Its calls stay, and are sent again when the connection is up. */
void connection_close(struct connection *c);

/*
 * Sets retry_at: each attempt without success doubles the wait, to which jitter is added. near: the server is on this
 * host, so the waits stay short.
 */
void connection_back_off(struct connection *c, uint64_t now, bool near);
