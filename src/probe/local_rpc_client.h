/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Asks UUID_IS_LOCAL of the sidecar on the server's host, without ever waiting: the owner polls fd for events until
 * the time "until" and calls local_rpc_step() then, as long as "answer" is REASON_PROBING. The answer
 * is for the reason that people are shown: it proves nothing.
 *
 * One question at a time; the thread that owns the struct.
 */
#pragma once

#include <sys/socket.h>

#include "localiofs/reason.h"
#include "wire/oncrpc.h"
#include "base/util.h"

struct local_rpc_question {
	struct sockaddr_storage server; /* address of the NFS connection; its port is replaced */
	unsigned port;                  /* where the sidecar listens */
	bool reserved_port;             /* try a source port below 1024 */
	uint8_t uuid[16];
	unsigned timeout_ms;
};

struct local_rpc {
	int fd;         /* -1 when there is nothing to poll */
	short events;   /* of poll(2) */
	uint64_t until; /* now_ms() */
	/*
	 * REASON_PROBING until it is over, then REASON_NONE when the question was answered with success, else why not:
	 * PROBE_REFUSED, PROBE_TIMEOUT, PROBE_DENIED.
	 */
	enum reason answer;
	struct sockaddr_storage source; /* the address and port that the question came from, as this host sees them */

	uint32_t xid;
	size_t size, received;
	uint8_t record[ONCRPC_MAX_RECORD]; /* the question, then the answer */
};

#define LOCAL_RPC_NONE   \
	{                \
		.fd = -1 \
	}

void local_rpc_begin(struct local_rpc *l, const struct local_rpc_question *q);
void local_rpc_step(struct local_rpc *l);

/* Closes the connection, if there is any. */
void local_rpc_end(struct local_rpc *l);
