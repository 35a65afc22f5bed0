/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The client's end of one broker connection. Any thread sends requests; replies are matched to requests by id. One
 * thread reads (the probe's): it polls broker_client_fd() and calls broker_client_service(). A request that would block
 * is queued for that thread.
 *
 * The caller owns a struct broker_call again when done() runs, which happens exactly once: with the reply's body, or
 * with -ENOTCONN if the connection ends first. The lock guards the list of calls and the queue.
 */
#pragma once

#include <sys/un.h>

#include "localiofs/broker_protocol.h"
#include "base/list.h"
#include "base/util.h"

struct broker_call {
	struct list node; /* of the broker client's lists */
	uint64_t id;
	uint32_t type;
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
 * the connection, -EPROTO if the peer breaks the protocol.
 */
int broker_client_service(struct broker_client *b);
