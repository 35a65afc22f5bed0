/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "probe/local_rpc_client.h"

#include <poll.h>
#include <string.h>
#include <sys/random.h>

#include "base/clock.h"
#include "localiofs/local_rpc.h"
#include "net/tcp.h"

static void finish(struct local_rpc *l, enum reason answer)
{
	l->answer = answer;
	local_rpc_end(l);
}

static void finish_unconnected(struct local_rpc *l, int error)
{
	finish(l, error == -ETIMEDOUT ? REASON_PROBE_TIMEOUT : REASON_PROBE_REFUSED);
}

void local_rpc_end(struct local_rpc *l)
{
	l->fd = close_fd(l->fd);
}

void local_rpc_begin(struct local_rpc *l, const struct local_rpc_question *q)
{
	struct sockaddr_storage server = q->server;
	struct oncrpc_call call = {.program = LOCAL_RPC_PROGRAM,
		.version = LOCAL_RPC_VERSION,
		.procedure = LOCAL_RPC_UUID_IS_LOCAL,
		.flavor = ONCRPC_AUTH_UNIX,
		.uid = geteuid(),
		.gid = getegid(),
		.args = q->uuid,
		.args_length = sizeof(q->uuid)};
	unsigned source = 0;
	ssize_t size;
	int r;

	*l = (struct local_rpc){.fd = -1,
		.events = POLLOUT,
		.until = now_ms() + q->timeout_ms,
		.answer = REASON_PROBING};
	(void)!getrandom(&call.xid, sizeof(call.xid), GRND_NONBLOCK);
	l->xid = call.xid;
	size = oncrpc_encode_call(&call, l->record, sizeof(l->record));
	if (size < 0) {
		finish(l, REASON_PROBE_DENIED);
		return;
	}
	l->size = (size_t)size;
	address_set_port(&server, q->port);
	r = tcp_open(&server, q->reserved_port, &source);
	if (r < 0)
		finish_unconnected(l, r);
	else
		l->fd = r;
}

static void ask(struct local_rpc *l)
{
	socklen_t len = sizeof(l->source);
	int r = tcp_opened(l->fd);

	if (r == 0 && getsockname(l->fd, (struct sockaddr *)&l->source, &len) < 0)
		r = -errno;
	if (r < 0) {
		finish_unconnected(l, r);
		return;
	}
	/* A fresh connection takes such a small message at once. */
	if (send(l->fd, l->record, l->size, MSG_NOSIGNAL) != (ssize_t)l->size) {
		finish(l, REASON_PROBE_REFUSED);
		return;
	}
	l->events = POLLIN;
}

static enum reason judge(const struct local_rpc *l, size_t size)
{
	enum oncrpc_result result;

	if (oncrpc_decode_reply(l->record, size, l->xid, &result, NULL, NULL) < 0 || result != ONCRPC_SUCCESS)
		return REASON_PROBE_DENIED;
	return REASON_NONE;
}

static void read_answer(struct local_rpc *l)
{
	ssize_t n = recv(l->fd, l->record + l->received, sizeof(l->record) - l->received, 0);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		finish(l, REASON_PROBE_REFUSED);
		return;
	}
	l->received += (size_t)n;
	n = oncrpc_record_size(l->record, l->received, sizeof(l->record));
	if (n < 0)
		finish(l, REASON_PROBE_DENIED);
	else if (n > 0)
		finish(l, judge(l, (size_t)n));
}

void local_rpc_step(struct local_rpc *l)
{
	struct pollfd fd = {.fd = l->fd, .events = l->events};

	if (l->answer != REASON_PROBING)
		return;
	if (poll(&fd, 1, 0) > 0) {
		if (l->events == POLLOUT)
			ask(l);
		else
			read_answer(l);
	} else if (now_ms() >= l->until) {
		finish(l, REASON_PROBE_TIMEOUT);
	}
}
