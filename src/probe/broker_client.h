/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The client's end of one broker connection: sends requests of any thread, and matches replies to
 * them by id. Reading is one thread's task (the probe's), which polls broker_client_fd() and calls
 * broker_client_receive(). A send that would block is queued for that thread.
 *
 * The caller owns a struct broker_call until done runs, exactly once: with the reply's body, or
 * with -ENOTCONN when the connection ends first. The lock guards the list of calls and the queue.
 */
#pragma once

#include <sys/un.h>

#include "localiofs/broker_protocol.h"
#include "base/list.h"
#include "base/util.h"

struct broker_call {
	struct list node; /* the broker client's */
	uint64_t id;
	uint32_t type;
	/* With a reply: the descriptor that came with it, to be stolen, or -1. */
	int *fd;
	/* error 0 and the body of the reply that fits the request, or -ENOTCONN and NULL */
	void (*done)(struct broker_call *call, int error, const void *body);
};

struct broker_client;

/* What the sidecar says unasked; body as broker_protocol.h says for the type. */
typedef void (*broker_event_fn)(void *arg, uint32_t type, const void *body);

/*
 * Connects; -ECONNREFUSED or -ENOENT when nobody listens. While others fill the queue of the listening socket it waits,
 * for 3 s at most, and then says -EAGAIN. Whether the socket is a sidecar's is the caller's to find out before
 * (probe/registry.h).
 */
int broker_client_connect(const struct sockaddr_un *address, broker_event_fn event, void *arg,
	struct broker_client **ret);

/* Ends the connection for good and fails every call, now and later, with -ENOTCONN. */
void broker_client_close(struct broker_client *b);

struct broker_client *broker_client_ref(struct broker_client *b);

/* The last reference closes the socket. Takes NULL; returns NULL. */
struct broker_client *broker_client_unref(struct broker_client *b);

int broker_client_fd(const struct broker_client *b);

/* The sidecar's pid as the kernel names it here, 0 when it is not visible. */
pid_t broker_client_peer_pid(const struct broker_client *b);

/*
 * Sends a request; fd, or -1, travels with it. Never blocks. done may run on the reading thread
 * before this returns.
 */
void broker_client_send(struct broker_client *b, struct broker_call *call, uint32_t type, const void *body,
	size_t length, int fd);

/* True while the reading thread should poll for POLLOUT as well. */
bool broker_client_wants_write(struct broker_client *b);

/*
 * The reading thread: sends what was queued, and handles every packet that is there. 0, or
 * -ENOTCONN at the end of the connection, -EPROTO when the peer breaks the protocol.
 */
int broker_client_service(struct broker_client *b);
