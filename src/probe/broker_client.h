/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The client's end of one broker connection. Any thread sends requests; replies are matched to requests by id. One
 * thread reads (the probe's): it polls broker_client_fd() and calls broker_client_service(). A request that would block
 * is queued for that thread.
 *
 * The caller owns a struct broker_call again when done() runs, which happens exactly once: with the reply's body, or
 * with -ENOTCONN if the connection ends first. The lock guards the list of calls and the queue.
 *
 * A change (broker_call.changes) that was sent may be done until the sidecar has ended the connection, and not later
 * (broker_protocol.h). So if this end is the first to end the connection, it sends no more, but reads on until all
 * changes are answered or the sidecar has ended the connection, too: broker_client_end().
 */
#pragma once

#include <stdatomic.h>
#include <sys/un.h>

#include "localiofs/broker_protocol.h"
#include "base/list.h"
#include "base/util.h"

enum broker_call_stage {
	BROKER_CALL_NEW,    /* not accepted: done() may run on the thread of the sender */
	BROKER_CALL_QUEUED, /* accepted: done() runs on the reading thread */
	BROKER_CALL_SENT,   /* the same, and the sidecar may have it */
};

struct broker_call {
	struct list node; /* of the broker client's lists */
	uint64_t id;
	uint32_t type;
	uint32_t length;   /* for done(): bytes of the reply's body; LIST: with the entries */
	bool changes;      /* set by the caller: done() gets no error before the sidecar has ended the connection */
	atomic_uint stage; /* enum broker_call_stage */
	/* For done(): the descriptor that came with the reply, which done() may steal, or -1. */
	int *fd;
	/* Gets error 0 and the reply's body, or -ENOTCONN and NULL. */
	void (*done)(struct broker_call *call, int error, const void *body);
};

struct broker_client;

/* A message of the sidecar that is no reply; broker_protocol.h says what the body is. */
typedef void (*broker_event_fn)(void *arg, uint32_t type, const void *body);

/*
 * Connects. -ECONNREFUSED or -ENOENT if no process listens. While the queue of the listening socket is full the
 * function waits, 3 s at most, and then returns -EAGAIN. The caller checks before that the socket is a sidecar's
 * (wire/registry.h).
 */
int broker_client_connect(const struct sockaddr_un *address, broker_event_fn event, void *arg,
	struct broker_client **ret);

/* Ends the connection. All calls, present and future, fail with -ENOTCONN. */
void broker_client_close(struct broker_client *b);

/*
 * The same, on the reading thread, but keeps the changes that were sent. True if there are such changes: then the
 * caller goes on to call broker_client_service() until that returns an error, and broker_client_close() afterwards.
 */
bool broker_client_end(struct broker_client *b);

/* For a list of the connection's owner. */
struct list *broker_client_node(struct broker_client *b);
struct broker_client *broker_client_of_node(struct list *node);

struct broker_client *broker_client_ref(struct broker_client *b);

/* The last reference closes the socket. Takes NULL; returns NULL. */
struct broker_client *broker_client_unref(struct broker_client *b);

int broker_client_fd(const struct broker_client *b);

/* The sidecar's pid in this process's pid namespace, 0 if it is not visible. */
pid_t broker_client_peer_pid(const struct broker_client *b);

/*
 * Sends a request, with the descriptor fd or -1. Never blocks. done() may run on the reading thread before this
 * function returns.
 */
void broker_client_send(struct broker_client *b, struct broker_call *call, uint32_t type, const void *body,
	size_t length, int fd);

/* True while the reading thread should poll for POLLOUT as well. */
bool broker_client_wants_write(struct broker_client *b);

/*
 * On the reading thread: sends the queued requests and handles all packets that have arrived. -ENOTCONN at the end of
 * the connection, -EPROTO if the peer breaks the protocol. After broker_client_end() only replies to changes count, and
 * -ENOTCONN also means that all changes are answered.
 */
int broker_client_service(struct broker_client *b);
