/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "probe/probe_internal.h"

#include <inttypes.h>
#include <poll.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"

/* ---- generations ---- */

void probe_begin_generation(struct probe *p)
{
	p->last_generation++;
	{
		LOCKED(&p->lock);
		p->session = broker_client_ref(p->broker);
		p->generation = p->last_generation;
	}
	log_debug("session %u begins, generation %" PRIu64, p->number, p->last_generation);
	p->options.session(p->options.arg, p->last_generation, true);
}

void probe_end_generation(struct probe *p)
{
	struct broker_client *session;

	{
		LOCKED(&p->lock);
		session = STEAL_PTR(p->session);
		p->generation = 0;
	}
	if (!session)
		return;
	(void)broker_client_unref(session);
	log_debug("session %u ends, generation %" PRIu64, p->number, p->last_generation);
	p->options.session(p->options.arg, p->last_generation, false);
}

void probe_on_event(void *arg, uint32_t type, const void *body)
{
	struct probe *p = arg;

	switch (type) {
	case BROKER_MATCHED: {
		const struct broker_matched *m = body;

		p->matched = true;
		log_debug("probe: session %u: matched, seen at %.*s", p->number, (int)sizeof(m->peer) - 1, m->peer);
		LOCKED(&p->lock);
		(void)snprintf(p->status.peer, sizeof(p->status.peer), "%.*s", (int)sizeof(m->peer) - 1, m->peer);
		break;
	}
	case BROKER_REVOKE:
		/* The old grants are void. The sidecar grants again what is still allowed. */
		if (p->generation != 0) {
			probe_end_generation(p);
			probe_begin_generation(p);
		}
		break;
	case BROKER_GOODBYE:
		p->ended = true;
		p->end_reason = (enum reason)((const struct broker_status *)body)->reason;
		break;
	default:
		break;
	}
}

/* ---- the loop ---- */

/* The milliseconds that the loop may wait for events: -1 for any time. */
static int time_left(struct probe *p, uint64_t deadline)
{
	uint64_t now = now_ms(), until = deadline;
	int64_t left;

	if (p->rpc.fd >= 0 && (until == 0 || p->rpc.until < until))
		until = p->rpc.until;
	if (p->generation != 0 && p->recheck_ms != 0 && (until == 0 || p->recheck_ms < until))
		until = p->recheck_ms;
	if (p->generation != 0 && p->match_until_ms != 0 && (until == 0 || p->match_until_ms < until))
		until = p->match_until_ms;
	left = until == 0 ? -1 : (int64_t)MIN(until - MIN(now, until), INT32_MAX);
	if (deadline == 0 && p->generation != 0) {
		int housekeep = p->options.housekeep(p->options.arg);

		left = left < 0 || (housekeep >= 0 && housekeep < left) ? housekeep : left;
	}
	return (int)left;
}

int probe_run_until(struct probe *p, probe_condition_fn until, const void *arg, uint64_t deadline)
{
	while (!p->stopping) {
		short events = (short)(POLLIN | (broker_client_wants_write(p->broker) ? POLLOUT : 0));
		struct pollfd fds[] = {{.fd = broker_client_fd(p->broker), .events = events},
			{.fd = p->wake.fd, .events = POLLIN}, {.fd = p->rpc.fd, .events = p->rpc.events}};
		int r;

		if (until && until(p, arg))
			return 0;
		if (p->paused && !until) {
			p->end_reason = REASON_OFF;
			p->ended = true;
		}
		if (p->ended)
			return -ENOTCONN;
		if (deadline != 0 && now_ms() >= deadline)
			return -ETIMEDOUT;
		if (poll(fds, ARRAY_SIZE(fds), time_left(p, deadline)) < 0)
			continue;
		log_left_out(false);
		if (fds[1].revents)
			wake_take(p->wake);
		local_rpc_step(&p->rpc);
		r = broker_client_service(p->broker);
		if (r == -EPROTO) {
			p->end_reason = REASON_PROTOCOL;
			p->ended = true;
		}
		if (r < 0)
			return r;
		if (p->generation != 0)
			probe_recheck(p);
	}
	return -ECANCELED;
}

/* ---- for other threads ---- */

uint64_t probe_generation(struct probe *p)
{
	return p->generation;
}

bool probe_is_trusted(const struct probe *p)
{
	return p->generation != 0 && p->trusted;
}

bool probe_server_remembers(const struct probe *p)
{
	return p->server_remembers;
}

void probe_send(struct probe *p, struct broker_call *call, uint32_t type, const void *body, size_t length)
{
	struct broker_client *session = NULL;

	{
		LOCKED(&p->lock);
		if (p->session)
			session = broker_client_ref(p->session);
	}
	if (!session) {
		call->done(call, -ENOTCONN, NULL);
		return;
	}
	broker_client_send(session, call, type, body, length, -1);
	(void)broker_client_unref(session);
}
