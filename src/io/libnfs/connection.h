/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * One connection to the NFS server, a libnfs context on a socket of our own, and the calls that it
 * carries. struct nfs3 owns it and calls every function on its loop thread; nothing blocks.
 *
 * The socket is ours because libnfs would bind any port it likes: reply caches know a client by its
 * address and port (fs/nfsd/nfscache.c nfsd_cache_key_cmp; Ganesha's nfs_dupreq.c
 * drc_recycle_cmpf), so each connection comes from the port that it had before. The reconnect is
 * ours because libnfs's has no backoff.
 *
 * A connection is up when the server has answered a NULL on it: a port that somebody listens on is
 * no NFS server yet. Calls stay with their connection for as long as they wait: when it is lost and
 * comes back, they are sent again as the same bytes.
 */
#pragma once

#include <stdatomic.h>

#include "io/server.h"

struct nfs_context;
struct rpc_context;

enum connection_state {
	CONNECTION_DOWN,       /* until retry_at, and struct nfs3's decision */
	CONNECTION_CONNECTING, /* until the deadline */
	CONNECTION_ASKING,     /* NULL is on its way; until the deadline */
	CONNECTION_UP,
};

/* The owner of the connection: struct nfs3. */
struct connection_sink {
	/*
	 * A call was answered, and is the connection's no more. With error 0 data and buffer are for
	 * nfs3_decode(); otherwise that is how the server denied the RPC.
	 */
	void (*answered)(void *arg, struct nfs_call *call, int error, void *data, void *buffer);
	/* NULL was answered. */
	void (*up)(void *arg, struct connection *c);
	void *arg;
};

struct connection {
	const struct connection_sink *sink;
	bool reserved; /* come from a port below 1024 where that is allowed */
	enum connection_state state;
	int fd;        /* ours while connecting, libnfs's then */
	unsigned port; /* the source port, kept for the next time */
	struct nfs_context *nfs;
	struct rpc_context *rpc;
	uint64_t retry_at, deadline; /* ms */
	uint64_t up_since;           /* ms */
	uint64_t heard;              /* ms: when something was answered on it the last time */
	bool stuck;                  /* the owner's: it is to be closed */
	bool proven;                 /* the server answered a call on it, not only NULL */
	int null_error;              /* how it denied NULL */
	unsigned backoff_ms;
	struct list in_flight; /* nfs_call.node, in the order in which they were given */
	size_t count;          /* of these */
	atomic_uint_fast64_t answered;
};

void connection_init(struct connection *c, bool reserved, const struct connection_sink *sink);

/* Begins to connect; 0, or why that cannot be. */
int connection_open(struct connection *c, const struct sockaddr_storage *to);

/* What to poll, and for what; -1 for nothing. */
int connection_poll(const struct connection *c, short *ret_events);

/*
 * Reads, writes, and tells the sink. A negative errno means that the connection is of no use any
 * more: -ECONNRESET when it broke, -EPFNOSUPPORT and the like when there is no NFSv3 server.
 */
int connection_service(struct connection *c, int revents, uint32_t null_xid);

/*
 * Gives it a call that has an xid. Written by connection_flush(). When that cannot be a negative
 * errno, and the call is the caller's again.
 */
int connection_send(struct connection *c, struct nfs_call *call);
int connection_flush(struct connection *c);

/* Sends a call once more, unless something still waits to be written: then it would be late. */
void connection_send_again(struct connection *c, struct nfs_call *call);

/* Takes a call away; what the server answers to it is dropped. */
void connection_take(struct connection *c, struct nfs_call *call);

/* Closes it; calls stay, and are sent again when it is up. */
void connection_close(struct connection *c);

/* Sets when to try again: with jitter, the later the more often nothing came of it. */
void connection_back_off(struct connection *c, uint64_t now);
