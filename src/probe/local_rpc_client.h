/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Asks UUID_IS_LOCAL of the sidecar on the server's host. Blocks until the deadline; the probe's
 * thread only. What it returns is for the reason shown to people: the answer proves nothing.
 */
#pragma once

#include <sys/socket.h>

#include "localiofs/reason.h"
#include "util.h"

struct local_rpc_question {
	struct sockaddr_storage server; /* address of the NFS connection; its port is replaced */
	unsigned port;                  /* probeport= */
	bool reserved_port;             /* try a source port below 1024 */
	uint8_t uuid[16];
	unsigned timeout_ms;
	int stop_fd; /* readable: give up; or -1 */
};

/*
 * REASON_NONE when the question was answered with success, else why not: PROBE_REFUSED,
 * PROBE_TIMEOUT, PROBE_DENIED.
 */
enum reason local_rpc_ask(const struct local_rpc_question *q);
