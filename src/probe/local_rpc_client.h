/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Asks the sidecar on the server's host the question UUID_IS_LOCAL without ever blocking. While "answer" is
 * REASON_PROBING the owner polls "fd" for "events", until the time "until", and then calls local_rpc_step(). The answer
 * only serves as a reason for people: it proves nothing.
 *
 * One question at a time. The struct belongs to one thread.
 */
#pragma once

#include <sys/socket.h>

#include "localiofs/reason.h"
#include "wire/oncrpc.h"
#include "base/util.h"

struct local_rpc_question {
	struct sockaddr_storage server; /* address of the NFS connection; its port is replaced */
	unsigned port;                  /* of the sidecar */
	bool reserved_port;             /* try a source port below 1024 */
	uint8_t uuid[16];
	unsigned timeout_ms;
};

struct local_rpc {
	int fd;         /* -1: nothing to poll */
	short events;   /* of poll(2) */
	uint64_t until; /* now_ms() */
	/*
	 * REASON_PROBING while the question is under way, REASON_NONE after a good answer, or REASON_PROBE_REFUSED,
	 * _TIMEOUT or _DENIED.
	 */
	enum reason answer;
	struct sockaddr_storage source; /* address and port of this end of the connection */

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

/* Closes the connection, if one is open. */
void local_rpc_end(struct local_rpc *l);
