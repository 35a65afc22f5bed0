/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "probe/probe_internal.h"

#include <inttypes.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "localiofs/local_rpc.h"

/* ---- exchanges ---- */

static void on_reply(struct broker_call *call, int error, const void *body)
{
	struct exchange *x = CONTAINER_OF(call, struct exchange, call);

	x->answered = true;
	x->error = error;
	if (error < 0)
		return;
	if (call->type == BROKER_HELLO)
		memcpy(&x->body.hello, body, sizeof(x->body.hello));
	else if (call->type == BROKER_ANNOUNCE)
		memcpy(&x->body.announced, body, sizeof(x->body.announced));
	else
		memcpy(&x->body.status, body, sizeof(x->body.status));
}

void probe_begin_exchange(struct probe *p, struct exchange *x, uint32_t type, const void *body, size_t length, int fd)
{
	memset(x, 0, sizeof(*x));
	x->call.done = on_reply;
	broker_client_send(p->broker, &x->call, type, body, length, fd);
}

/* ---- the announcement and the question ---- */

void probe_announcement_init(struct announcement *n)
{
	n->body = (struct broker_announce){.version = BROKER_VERSION};
	nonce_half(n->body.uuid);
}

void probe_announced_nonce(const struct announcement *n, uint8_t ret[NONCE_BYTES])
{
	nonce_make(n->body.uuid, n->exchange.body.announced.uuid, ret);
}

int probe_begin_question(struct probe *p, const struct announcement *n, unsigned *ret_port)
{
	unsigned from_sidecar = n->exchange.body.announced.probeport;
	struct local_rpc_question q = {.reserved_port = p->options.reserved_port, .timeout_ms = STEP_TIMEOUT_MS};
	int r = p->options.server_address(p->options.arg, &q.server);

	if (r < 0)
		return r;
	q.port = p->options.port != 0                              ? p->options.port
		 : from_sidecar != 0 && from_sidecar <= UINT16_MAX ? from_sidecar
								   : LOCAL_RPC_PORT;
	*ret_port = q.port;
	probe_announced_nonce(n, q.uuid);
	log_debug("probe: session %u: asks the server's host at port %u", p->number, q.port);
	p->matched = false;
	local_rpc_end(&p->rpc);
	local_rpc_begin(&p->rpc, &q);
	return 0;
}

void probe_format_source(const struct probe *p, char ret[IP_ADDRESS_TEXT])
{
	struct ip_address address;
	uint16_t port;

	if (ip_address_from_sockaddr(&p->rpc.source, &address, &port) < 0)
		ret[0] = '\0';
	else
		ip_address_format_port(&address, port, ret);
}

/* ---- the repetition during the session ---- */

/* A repetition that did not get an answer is tried again sooner than a good one. */
static void schedule_recheck(struct probe *p, bool good)
{
	p->recheck_ms = now_ms() + probe_pace_recheck(p->believed_s, good, backoff_random());
}

void probe_begin_rechecks(struct probe *p)
{
	p->rechecking = p->kicked_again = false;
	p->match_until_ms = 0;
	schedule_recheck(p, true);
}

static void end_session(struct probe *p, enum reason reason)
{
	p->end_reason = reason;
	p->ended = true;
}

/* The question under way has got no answer, or has got no question. */
static void on_unasked(struct probe *p, enum reason reason)
{
	if (p->recheck_demanded && reason != REASON_NFS_DOWN)
		end_session(p, reason);
	else
		schedule_recheck(p, false);
}

static void on_answer(struct probe *p, uint64_t now)
{
	if (p->rpc.answer != REASON_NONE) {
		on_unasked(p, p->rpc.answer);
	} else if (p->matched) {
		p->match_until_ms = 0;
		schedule_recheck(p, true);
	} else if (p->match_until_ms == 0) {
		p->match_until_ms = now + MATCH_TIMEOUT_MS;
	} else if (now >= p->match_until_ms) {
		end_session(p, REASON_NOT_MATCHED);
	}
}

static void begin_recheck(struct probe *p)
{
	p->recheck_ms = 0;
	p->match_until_ms = 0;
	p->recheck_demanded = p->kicked_again;
	p->kicked_again = false;
	p->rechecking = true;
	probe_announcement_init(&p->recheck);
	probe_begin_exchange(p, &p->recheck.exchange, BROKER_ANNOUNCE, &p->recheck.body, sizeof(p->recheck.body), -1);
}

/*
 * The question is repeated from time to time, and after each reconnect to the NFS server. The sidecar judges whether
 * the client's address is still the same: it ends a session whose address went to another client, or whose last match
 * is too old. This end judges whether the server is still the same: a service's address may have moved to another host,
 * whose sidecar answers, or whose port refuses the question. So the session ends when a sidecar has answered and this
 * session was not matched, and also when nobody answers the question that follows a reconnect.
 */
void probe_recheck(struct probe *p)
{
	uint64_t now = work_ms();
	unsigned port;

	if (atomic_exchange(&p->kicked, false))
		p->kicked_again = true;
	if (p->recheck_ms != 0 && (p->kicked_again || now >= p->recheck_ms))
		begin_recheck(p);
	if (p->rechecking && p->recheck.exchange.answered) {
		p->rechecking = false;
		if (p->recheck.exchange.error < 0 || p->recheck.exchange.body.announced.error < 0)
			on_unasked(p, REASON_SESSION_LOST);
		else if (probe_begin_question(p, &p->recheck, &port) < 0)
			on_unasked(p, REASON_NFS_DOWN);
	}
	if (p->recheck_ms == 0 && !p->rechecking && p->rpc.answer != REASON_PROBING)
		on_answer(p, now);
}
