/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The loop thread of an NFSv3 server: it receives the answers, and handles timeouts and a server that is away (nfs3.h).
 * Private to io/nfs3.
 *
 * A call is sent by the thread that submits it, if that thread gets the turn at once. The loop thread has the turn
 * except while it sleeps; whoever has it looks for further submitted calls afterwards. So an RPC costs no wake-up of
 * the loop thread before its answer. No thread waits for the turn but the loop thread, and only the loop thread calls
 * back.
 *
 * nfs3.c makes struct nfs3, and frees it after the thread's end. The lock is taken inside the turn.
 */
#pragma once

#include <stdatomic.h>

#include "io/libnfs/connection.h"
#include "net/addresses.h"
#include "net/wake.h"

struct nfs3 {
	struct server server;
	struct server_options options; /* without its strings */
	char *name;                    /* the server's name in the log */
	unsigned tick_ms;
	uint64_t major_ms; /* a call that waits longer is overdue */
	pthread_t thread;
	struct wake wake;
	atomic_bool stopping;
	atomic_bool near; /* a session has found the server on this host once */
	atomic_uint_fast64_t calls[NFS_PROC_COUNT], round_trip_ns[NFS_PROC_COUNT];

	/* Under the lock. */
	pthread_mutex_t lock;
	struct list submitted;
	bool stopped; /* no call is submitted any more */
	struct server_stats stats;

	/* Under the turn. */
	pthread_mutex_t turn;
	uint64_t sleeps_until; /* ms: the loop thread acts then at the latest; 0: it was woken up */
	struct addresses addresses;
	struct connection connections[SERVER_CONNECTIONS_MAX]; /* the first one leads */
	struct connection_sink sink;
	unsigned next; /* the connection at which choose() begins */
	bool ever_up;
	bool away; /* the log says that the server does not respond */
	uint32_t xid;
	uint64_t next_tick;  /* ms */
	struct list waiting; /* calls that are not yet on a connection */
	struct list delayed; /* calls after JUKEBOX or with delay_ms, in order of wire.due */
};

#define FOREACH_CONNECTION(it, c) \
	for (struct connection *it = (c)->connections; it < (c)->connections + (c)->options.nconnect; it++)

/* Starts the thread. */
int nfs3_loop_start(struct nfs3 *c);

/* Ends the thread, and all calls with -ENOTCONN. Further calls do nothing. */
void nfs3_loop_stop(struct nfs3 *c);

/* server_submit() and server_submit_all(). */
void nfs3_loop_submit(struct server *s, struct nfs_call *call);
void nfs3_loop_submit_all(struct server *s, struct list *calls);

/* A sentence for server_stats.last_error. */
const char *nfs3_loop_why_away(int error);
