/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The loop thread of an NFSv3 server: it sends calls, takes their answers, and does all that timeouts and a server that
 * is away demand (nfs3.h). Private to io/nfs3.
 *
 * struct nfs3 is made by nfs3.c, which frees it when the thread has ended. Other threads touch only what stands under
 * the lock, and the atomic members.
 */
#pragma once

#include <stdatomic.h>

#include "io/libnfs/connection.h"
#include "net/addresses.h"
#include "net/wake.h"

struct nfs3 {
	struct server server;
	struct server_options options; /* without its strings */
	char *name;                    /* the server's, in the log */
	unsigned tick_ms;
	uint64_t major_ms; /* after which a call has waited too long */
	pthread_t thread;
	struct wake wake;
	atomic_bool stopping;
	atomic_uint_fast64_t calls[NFS_PROC_COUNT];

	/* Under the lock. */
	pthread_mutex_t lock;
	struct list submitted;
	bool stopped; /* the thread takes no more calls from submitted */
	struct server_stats stats;

	/* The loop thread's own. */
	struct addresses addresses;
	struct connection connections[SERVER_CONNECTIONS_MAX]; /* the first one leads */
	struct connection_sink sink;
	unsigned next; /* connection, in turn */
	bool ever_up;
	bool away; /* and the log says so */
	uint32_t xid;
	uint64_t next_tick;  /* ms */
	struct list waiting; /* without a connection */
	struct list delayed; /* after JUKEBOX or by the caller's wish, in order of wire.due */
};

#define FOREACH_CONNECTION(it, c) \
	for (struct connection *it = (c)->connections; it < (c)->connections + (c)->options.nconnect; it++)

/* Starts the thread, which owns its members from then on. */
int nfs3_loop_start(struct nfs3 *c);

/* Ends the thread, and with -ENOTCONN all calls. Only the first call does anything. */
void nfs3_loop_stop(struct nfs3 *c);

/* server_submit(). */
void nfs3_loop_submit(struct server *s, struct nfs_call *call);

/* A sentence for server_stats.last_error. */
const char *nfs3_loop_why_away(int error);
