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
	case BROKER_NOTICE:
		if (p->generation != 0 && p->options.notice)
			p->options.notice(p->options.arg, body);
		break;
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

/* ---- connections that end ---- */

void probe_end_connection(struct probe *p)
{
	if (!p->broker)
		return;
	local_rpc_end(&p->rpc);
	if (broker_client_end(p->broker)) {
		log_debug("session %u: its connection ends when its changes are answered", p->number);
		list_append(&p->ending, broker_client_node(p->broker));
		p->broker = NULL;
	} else {
		p->broker = broker_client_unref(p->broker);
	}
}

static void forget_connection(struct broker_client *b)
{
	list_remove(broker_client_node(b));
	broker_client_close(b);
	(void)broker_client_unref(b);
}

void probe_abandon_changes(struct probe *p)
{
	LIST_FOREACH (pos, &p->ending) {
		forget_connection(broker_client_of_node(pos));
	}
}

static void serve_ending(struct probe *p)
{
	LIST_FOREACH (pos, &p->ending) {
		struct broker_client *b = broker_client_of_node(pos);

		if (broker_client_service(b) < 0)
			forget_connection(b);
	}
}

/* ---- the loop ---- */

static int sooner(int a, int b)
{
	return a < 0 || b < 0 ? MAX(a, b) : MIN(a, b);
}

int probe_poll(struct probe *p, struct pollfd *fds, size_t count, int timeout_ms)
{
	struct pollfd all[POLLED_MAX];
	size_t n = count;
	int r;

	memcpy(all, fds, count * sizeof(*fds));
	if (p->generation != 0 || !list_empty(&p->ending))
		timeout_ms = sooner(timeout_ms, p->options.housekeep(p->options.arg));
	LIST_FOREACH (pos, &p->ending) {
		if (n == ARRAY_SIZE(all))
			timeout_ms = sooner(timeout_ms, 1000);
		else
			all[n++] =
				(struct pollfd){.fd = broker_client_fd(broker_client_of_node(pos)), .events = POLLIN};
	}
	r = poll(all, n, timeout_ms);
	(void)work_begins();
	for (size_t i = 0; i < count; i++)
		fds[i].revents = r > 0 ? all[i].revents : 0;
	serve_ending(p);
	return r;
}

/* The milliseconds that the loop may wait for events: -1 for any time. */
static int time_left(struct probe *p, uint64_t deadline)
{
	uint64_t now = work_ms(), until = deadline;

	if (p->rpc.fd >= 0 && (until == 0 || p->rpc.until < until))
		until = p->rpc.until;
	if (p->generation != 0 && p->recheck_ms != 0 && (until == 0 || p->recheck_ms < until))
		until = p->recheck_ms;
	if (p->generation != 0 && p->match_until_ms != 0 && (until == 0 || p->match_until_ms < until))
		until = p->match_until_ms;
	return until == 0 ? -1 : (int)MIN(until - MIN(now, until), INT32_MAX);
}

int probe_run_until(struct probe *p, probe_condition_fn until, const void *arg, uint64_t deadline)
{
	(void)work_begins();
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
		if (probe_poll(p, fds, ARRAY_SIZE(fds), time_left(p, deadline)) < 0)
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

bool probe_sees_same_mounts(const struct probe *p)
{
	return p->same_mounts;
}

/* generation: of the session in which the request may be sent; 0: of any. */
static void send_in(struct probe *p, uint64_t generation, struct broker_call *call, uint32_t type, const void *body,
	size_t length)
{
	struct broker_client *session = NULL;

	{
		LOCKED(&p->lock);
		if (p->session && (generation == 0 || generation == p->generation))
			session = broker_client_ref(p->session);
	}
	if (!session) {
		call->done(call, -ENOTCONN, NULL);
		return;
	}
	broker_client_send(session, call, type, body, length, -1);
	(void)broker_client_unref(session);
}

void probe_send(struct probe *p, struct broker_call *call, uint32_t type, const void *body, size_t length)
{
	send_in(p, 0, call, type, body, length);
}

void probe_send_change(struct probe *p, uint64_t generation, struct broker_call *call, uint32_t type, const void *body,
	size_t length)
{
	call->changes = true;
	send_in(p, generation, call, type, body, length);
}
