/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "probe/local_rpc_client.h"

#include <poll.h>
#include <string.h>
#include <sys/random.h>

#include "localiofs/local_rpc.h"
#include "probe/oncrpc.h"
#include "tcp.h"

/* 1 when the socket is ready, 0 at the deadline or when stopped. */
static int wait_ready(const struct local_rpc_question *q, int fd, short events, uint64_t until)
{
	for (;;) {
		struct pollfd fds[2] = {{.fd = fd, .events = events}, {.fd = q->stop_fd, .events = POLLIN}};
		uint64_t now = now_ms();
		int n = now >= until ? 0 : poll(fds, 2, (int)(until - now));

		if (n < 0 && errno == EINTR)
			continue;
		return n > 0 && !fds[1].revents;
	}
}

static enum reason connect_reason(int error)
{
	return error == ETIMEDOUT ? REASON_PROBE_TIMEOUT : REASON_PROBE_REFUSED;
}

static enum reason read_answer(const struct local_rpc_question *q, int fd, uint32_t xid, uint64_t until)
{
	uint8_t buf[ONCRPC_MAX_RECORD];
	size_t received = 0;

	for (;;) {
		enum oncrpc_result result;
		ssize_t n = oncrpc_record_size(buf, received, sizeof(buf));

		if (n < 0)
			return REASON_PROBE_DENIED;
		if (n > 0) {
			if (oncrpc_decode_reply(buf, (size_t)n, xid, &result, NULL, NULL) < 0)
				return REASON_PROBE_DENIED;
			return result == ONCRPC_SUCCESS ? REASON_NONE : REASON_PROBE_DENIED;
		}
		if (wait_ready(q, fd, POLLIN, until) == 0)
			return REASON_PROBE_TIMEOUT;
		n = recv(fd, buf + received, sizeof(buf) - received, 0);
		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			continue;
		if (n <= 0)
			return REASON_PROBE_REFUSED;
		received += (size_t)n;
	}
}

enum reason local_rpc_ask(const struct local_rpc_question *q)
{
	struct sockaddr_storage server = q->server;
	_cleanup_close_ int fd = -1;
	struct oncrpc_call call = {.program = LOCAL_RPC_PROGRAM,
		.version = LOCAL_RPC_VERSION,
		.procedure = LOCAL_RPC_UUID_IS_LOCAL,
		.flavor = ONCRPC_AUTH_UNIX,
		.uid = geteuid(),
		.gid = getegid(),
		.args = q->uuid,
		.args_length = sizeof(q->uuid)};
	uint8_t record[ONCRPC_MAX_RECORD];
	uint64_t until = now_ms() + q->timeout_ms;
	unsigned source = 0;
	ssize_t size;
	int r;

	(void)getrandom(&call.xid, sizeof(call.xid), GRND_NONBLOCK);
	size = oncrpc_encode_call(&call, record, sizeof(record));
	if (size < 0)
		return REASON_PROBE_DENIED;
	address_set_port(&server, q->port);
	r = tcp_open(&server, q->reserved_port, &source);
	if (r < 0)
		return connect_reason(-r);
	fd = r;
	if (wait_ready(q, fd, POLLOUT, until) == 0)
		return REASON_PROBE_TIMEOUT;
	r = tcp_opened(fd);
	if (r < 0)
		return connect_reason(-r);
	/* A fresh connection takes a message this small at once. */
	if (send(fd, record, (size_t)size, MSG_NOSIGNAL) != size)
		return REASON_PROBE_REFUSED;
	return read_answer(q, fd, call.xid, until);
}
