/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "io/nfs3/nfs3_loop.h"

#include <poll.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "io/libnfs/nfs3_codec.h"
#include "io/nfs3/nfs3.h"

#define ASK_AFTER_MS 900         /* after this wait given_up() is asked at each tick */
#define STACK_SIZE   (64U << 20) /* libnfs recurses for each entry of a directory */

/* The server whose loop runs on this thread, or NULL. */
static _Thread_local struct nfs3 *this_loop;

static struct nfs_call *first_of(struct list *calls)
{
	return CONTAINER_OF(calls->next, struct nfs_call, node);
}

/* Ends a call that is in no list: calls done(). */
static void finish(struct nfs3 *c, struct nfs_call *call, int error, void *allocation)
{
	call->error = error;
	c->calls[call->proc]++;
	if (error == -ESTALE && !call->may_be_gone && c->options.events.stale)
		c->options.events.stale(c->options.events.arg, &call->fh);
	call->done(call);
	free(allocation);
}

/* Removes a call from its list or connection, and ends it. */
static void fail(struct nfs3 *c, struct nfs_call *call, int error)
{
	struct connection *on = call->wire.connection;

	if (on)
		connection_take(on, call);
	else
		list_remove(&call->node);
	finish(c, call, error, NULL);
}

const char *nfs3_loop_why_away(int error)
{
	switch (error) {
	case -EPFNOSUPPORT:
	case -EPROTONOSUPPORT:
		return "it does not offer NFSv3";
	case -ECONNRESET:
		return "it hung up or does not speak RPC";
	default:
		return strerror(-error);
	}
}

/* Logs that the server is away. Before the first connection the mount fails, and its message has the reason. */
static void note_away(struct nfs3 *c, int error)
{
	{
		LOCKED(&c->lock);
		c->stats.last_error = error;
	}
	if (!c->away && c->ever_up)
		log_warning_limited("NFS server %s not responding (%s), %s", c->name, nfs3_loop_why_away(error),
			c->options.soft ? "requests will time out" : "still trying");
	c->away |= c->ever_up;
}

static void note_back(struct nfs3 *c)
{
	if (c->away)
		log_info_limited("NFS server %s OK", c->name);
	c->away = false;
}

static bool any_up(struct nfs3 *c)
{
	FOREACH_CONNECTION(on, c)
	{
		if (on->state == CONNECTION_UP)
			return true;
	}
	return false;
}

/* Updates the statistics after a connection came up or was lost, and raises the event. */
static void publish(struct nfs3 *c)
{
	bool connected = any_up(c), changed;

	{
		LOCKED(&c->lock);
		changed = c->stats.connected != connected;
		c->stats.connected = connected;
		c->stats.reconnects += changed && connected && c->ever_up;
		if (connected)
			c->stats.peer = *addresses_current(&c->addresses);
		for (unsigned n = 0; n < c->options.nconnect; n++) {
			c->stats.connections[n].connected = c->connections[n].state == CONNECTION_UP;
			c->stats.connections[n].port = c->connections[n].port;
		}
	}
	c->ever_up |= connected;
	if (changed && c->options.events.connection_changed)
		c->options.events.connection_changed(c->options.events.arg, connected);
}

static void on_up(void *arg, struct connection *on)
{
	struct nfs3 *c = arg;
	bool first = !c->stats.connected; /* no lock: only this thread writes it */

	if (on == c->connections)
		addresses_answered(&c->addresses);
	note_back(c);
	publish(c);
	if (!first)
		return;
	FOREACH_CONNECTION(other, c)
	{
		if (other->state == CONNECTION_DOWN)
			other->retry_at = 0;
	}
}

/* Closes a connection that broke or does not answer, and sets the time of the next attempt. */
static void lose(struct nfs3 *c, struct connection *on, int error)
{
	bool was_up = on->state == CONNECTION_UP, leads = on == c->connections;
	uint64_t now = now_ms();

	connection_close(on);
	if (was_up) {
		publish(c);
	} else if (leads) {
		note_away(c, error);
		if (!addresses_failed(&c->addresses)) {
			on->retry_at = now;
			return;
		}
	}
	connection_back_off(on, now, c->near);
}

static void delay(struct nfs3 *c, struct nfs_call *call, unsigned ms)
{
	struct list *after = c->delayed.prev;

	call->wire.due = call->wire.since + ms;
	while (after != &c->delayed && CONTAINER_OF(after, struct nfs_call, node)->wire.due > call->wire.due)
		after = after->prev;
	list_append(after->next, &call->node);
}

/* A server that no longer offers the program NFSACL has no ACLs (fs/nfs/nfs3acl.c nfs3_get_acl). */
static int denied(const struct nfs_call *call, int error)
{
	bool acl = call->proc == NFS_GETACL || call->proc == NFS_SETACL;

	return acl && (error == -EPFNOSUPPORT || error == -EPROTONOSUPPORT) ? -EOPNOTSUPP : error;
}

static void on_answered(void *arg, struct nfs_call *call, int error, void *data, void *buffer)
{
	struct nfs3 *c = arg;
	void *allocation = NULL;

	note_back(c);
	c->round_trip_ns[call->proc] += time_since(call->wire.sent_ns, work_begins());
	if (error < 0) {
		finish(c, call, denied(call, error), NULL);
		return;
	}
	if (nfs3_decode(call, data, buffer, &allocation)) {
		call->wire.since = now_ms();
		delay(c, call, NFS3_JUKEBOX_MS);
		return;
	}
	finish(c, call, call->error, allocation);
}

/* Returns the connection with the fewest calls (equals take turns), or NULL if no connection is up. */
static struct connection *choose(struct nfs3 *c)
{
	struct connection *best = NULL;

	for (unsigned n = 0; n < c->options.nconnect; n++) {
		struct connection *on = &c->connections[(c->next + n) % c->options.nconnect];

		if (on->state == CONNECTION_UP && on->broken == 0 && (!best || on->count < best->count))
			best = on;
	}
	c->next++;
	return best;
}

/* Queues the waiting calls on connections. After a negative errno the first waiting call is the one to blame. */
static int queue_waiting(struct nfs3 *c)
{
	while (!list_empty(&c->waiting)) {
		struct nfs_call *call = first_of(&c->waiting);
		struct connection *on = choose(c);
		int r;

		if (!on)
			break;
		list_remove(&call->node);
		/* A new xid also after JUKEBOX: the server's reply cache has JUKEBOX for the old xid. */
		call->wire.xid = ++c->xid;
		call->wire.timeout_ms = c->options.timeo_ms;
		r = connection_send(on, call);
		if (r < 0) {
			list_append(c->waiting.next, &call->node);
			return r;
		}
	}
	return 0;
}

static void send_waiting(struct nfs3 *c)
{
	int r;

	while ((r = queue_waiting(c)) < 0)
		fail(c, first_of(&c->waiting), r);
	FOREACH_CONNECTION(on, c)
	{
		r = connection_flush(on);
		if (r < 0)
			lose(c, on, r);
	}
}

static void take_submitted(struct nfs3 *c)
{
	struct list submitted;

	list_init(&submitted);
	{
		LOCKED(&c->lock);
		list_splice(&submitted, &c->submitted);
	}
	while (!list_empty(&submitted)) {
		struct nfs_call *call = first_of(&submitted);

		list_remove(&call->node);
		if (call->delay_ms > 0)
			delay(c, call, call->delay_ms);
		else
			list_append(&c->waiting, &call->node);
	}
}

static void wake_delayed(struct nfs3 *c, uint64_t now)
{
	LIST_FOREACH (pos, &c->delayed) {
		if (CONTAINER_OF(pos, struct nfs_call, node)->wire.due > now)
			break;
		list_remove(pos);
		list_append(&c->waiting, pos);
	}
}

/* Opens connections whose time has come, and loses connections that miss their deadline. */
static void look_after_connections(struct nfs3 *c, uint64_t now)
{
	bool up = any_up(c);

	FOREACH_CONNECTION(on, c)
	{
		int r = 0;

		if (on->state == CONNECTION_DOWN) {
			if (now >= on->retry_at && (up || on == c->connections))
				r = connection_open(on, addresses_current(&c->addresses));
		} else if (on->broken < 0) {
			r = on->broken;
		} else if (on->state != CONNECTION_UP && now >= on->deadline) {
			r = -ETIMEDOUT;
		}
		if (r < 0)
			lose(c, on, r);
	}
}

/* Looks after a waiting call: ends it, logs that the server is slow, or sends the call again. */
static void look_after_call(struct nfs3 *c, struct nfs_call *call, uint64_t now)
{
	struct connection *on = call->wire.connection;
	uint64_t waited = time_since(call->wire.since, now);

	/* No answer at all for so long: the server may have lost the connection, or the start of a message in it. */
	if (on && waited >= c->major_ms && time_since(on->heard, now) >= c->major_ms)
		on->stuck = true;
	if (waited >= ASK_AFTER_MS && call->given_up && call->given_up(call)) {
		fail(c, call, -EINTR);
		return;
	}
	if (call->patience_ms > 0 && waited >= call->patience_ms) {
		fail(c, call, -ETIMEDOUT);
		return;
	}
	if (waited >= c->major_ms && !call->wire.overdue) {
		call->wire.overdue = true;
		note_away(c, -ETIMEDOUT);
		if (c->options.soft) {
			fail(c, call, c->options.soft);
			return;
		}
	}
	if (on && now >= call->wire.due) {
		call->wire.timeout_ms = MIN(call->wire.timeout_ms + c->options.timeo_ms, (unsigned)NFS3_TIMEOUT_MAX_MS);
		call->wire.due = now + call->wire.timeout_ms;
		connection_send_again(on, call);
	}
}

static void look_after_calls(struct nfs3 *c, struct list *calls, uint64_t now)
{
	LIST_FOREACH (pos, calls) {
		look_after_call(c, CONTAINER_OF(pos, struct nfs_call, node), now);
	}
}

static bool any_call(struct nfs3 *c)
{
	FOREACH_CONNECTION(on, c)
	{
		if (on->count > 0)
			return true;
	}
	return !list_empty(&c->waiting) || !list_empty(&c->delayed);
}

static void tick(struct nfs3 *c, uint64_t now)
{
	if (now < c->next_tick || !any_call(c))
		return;
	c->next_tick = now + c->tick_ms;
	look_after_calls(c, &c->waiting, now);
	look_after_calls(c, &c->delayed, now);
	FOREACH_CONNECTION(on, c)
	{
		look_after_calls(c, &on->in_flight, now);
		if (on->stuck && on->state == CONNECTION_UP)
			lose(c, on, -ETIMEDOUT);
	}
}

/* Returns the time (ms) at which the loop thread must act without an event; UINT64_MAX for never. */
static uint64_t next_due(struct nfs3 *c, uint64_t now)
{
	/* Until the next tick also without a call: a call before then needs no wake-up of the loop thread. */
	uint64_t due = any_call(c) || now < c->next_tick ? c->next_tick : UINT64_MAX;
	bool up = any_up(c);

	FOREACH_CONNECTION(on, c)
	{
		if (on->state == CONNECTION_DOWN && (up || on == c->connections))
			due = MIN(due, on->retry_at);
		else if (on->state == CONNECTION_CONNECTING || on->state == CONNECTION_ASKING)
			due = MIN(due, on->deadline);
	}
	if (!list_empty(&c->delayed))
		due = MIN(due, first_of(&c->delayed)->wire.due);
	return due;
}

static int timeout_until(uint64_t due)
{
	uint64_t now = now_ms();

	if (due == UINT64_MAX)
		return -1;
	return due <= now ? 0 : (int)MIN(due - now, 60000U);
}

static bool any_submitted(struct nfs3 *c)
{
	LOCKED(&c->lock);
	return !list_empty(&c->submitted);
}

/* Waits without the turn. */
static void wait_and_serve(struct nfs3 *c)
{
	struct pollfd fds[1 + SERVER_CONNECTIONS_MAX] = {{.fd = c->wake.fd, .events = POLLIN}};
	uint64_t due = next_due(c, work_ms());
	unsigned n = 1;
	int r;

	FOREACH_CONNECTION(on, c)
	{
		fds[n].fd = connection_poll(on, &fds[n].events);
		n++;
	}
	c->sleeps_until = due;
	(void)pthread_mutex_unlock(&c->turn);
	/* A thread that did not get the turn, and done(), have sent no wake-up for their calls. */
	r = poll(fds, n, any_submitted(c) ? 0 : timeout_until(due));
	(void)pthread_mutex_lock(&c->turn);
	(void)work_begins();
	if (r < 0)
		return;
	if (fds[0].revents)
		wake_take(c->wake);
	n = 1;
	FOREACH_CONNECTION(on, c)
	{
		int revents = fds[n++].revents;

		r = revents && on->broken == 0 ? connection_service(on, revents, ++c->xid) : 0;
		if (r < 0)
			lose(c, on, r);
	}
}

static void end_all(struct nfs3 *c)
{
	FOREACH_CONNECTION(on, c)
	{
		while (!list_empty(&on->in_flight)) {
			struct nfs_call *call = first_of(&on->in_flight);

			connection_take(on, call);
			list_append(&c->waiting, &call->node);
		}
		connection_close(on);
	}
	list_splice(&c->waiting, &c->delayed);
	{
		LOCKED(&c->lock);
		list_splice(&c->waiting, &c->submitted);
		c->stopped = true;
	}
	while (!list_empty(&c->waiting))
		fail(c, first_of(&c->waiting), -ENOTCONN);
}

static void *loop(void *arg)
{
	struct nfs3 *c = arg;

	this_loop = c;
	(void)pthread_mutex_lock(&c->turn);
	while (!c->stopping) {
		uint64_t now = work_ms();

		take_submitted(c);
		wake_delayed(c, now);
		look_after_connections(c, now);
		send_waiting(c);
		tick(c, now);
		wait_and_serve(c);
	}
	end_all(c);
	(void)pthread_mutex_unlock(&c->turn);
	return NULL;
}

/*
 * Sends the submitted calls on a thread that is not the loop thread. Calls nobody back: errors, connections that are
 * not up, and data that the socket does not take are left to the loop thread. True if it must wake up for them.
 */
static bool send_submitted(struct nfs3 *c)
{
	uint64_t now = now_ms();
	bool idle = !any_call(c), wake;

	take_submitted(c);
	if (idle && c->next_tick <= now)
		c->next_tick = now + c->tick_ms;
	wake = queue_waiting(c) < 0;
	FOREACH_CONNECTION(on, c)
	{
		short events = 0;

		if (on->state != CONNECTION_UP || on->broken < 0)
			continue;
		on->broken = connection_flush(on);
		(void)connection_poll(on, &events);
		wake |= on->broken < 0 || (events & POLLOUT);
	}
	return wake || next_due(c, now) < c->sleeps_until;
}

/* Sends the submitted calls if no other thread has the turn. Otherwise that thread will see them after its turn. */
static void send_at_once(struct nfs3 *c)
{
	do {
		if (pthread_mutex_trylock(&c->turn) != 0)
			return;
		if (send_submitted(c) && c->sleeps_until > 0) {
			c->sleeps_until = 0; /* one wake-up is enough */
			wake_up(c->wake);
		}
		(void)pthread_mutex_unlock(&c->turn);
	} while (any_submitted(c));
}

void nfs3_loop_submit_all(struct server *s, struct list *calls)
{
	struct nfs3 *c = CONTAINER_OF(s, struct nfs3, server);
	bool stopped;

	LIST_FOREACH (pos, calls) {
		struct nfs_wire *wire = &CONTAINER_OF(pos, struct nfs_call, node)->wire;

		memset(wire, 0, sizeof(*wire));
		list_init(&wire->tickets);
		wire->since = now_ms();
	}
	{
		LOCKED(&c->lock);
		stopped = c->stopped;
		if (!stopped)
			list_splice(&c->submitted, calls);
	}
	while (!list_empty(calls)) {
		struct nfs_call *call = first_of(calls);

		list_remove(&call->node);
		call->error = -ENOTCONN;
		call->done(call);
	}
	if (!stopped && this_loop != c)
		send_at_once(c);
}

void nfs3_loop_submit(struct server *s, struct nfs_call *call)
{
	struct list one;

	list_init(&one);
	list_append(&one, &call->node);
	nfs3_loop_submit_all(s, &one);
}

int nfs3_loop_start(struct nfs3 *c)
{
	pthread_attr_t attr;
	int r;

	c->sink = (struct connection_sink){.answered = on_answered, .up = on_up, .arg = c};
	(void)pthread_attr_init(&attr);
	(void)pthread_attr_setstacksize(&attr, STACK_SIZE);
	r = -pthread_create(&c->thread, &attr, loop, c);
	(void)pthread_attr_destroy(&attr);
	return r;
}

void nfs3_loop_stop(struct nfs3 *c)
{
	if (atomic_exchange(&c->stopping, true))
		return;
	wake_up(c->wake);
	(void)pthread_join(c->thread, NULL);
}
