/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The state of the probe (probe.h), which its files share. Calls between the files go one way:
 *
 *	probe.c           the thread, its waits between attempts, the status
 *	probe_attempt.c   one attempt, from nothing to a session
 *	probe_session.c   the loop that handles all events, the generations, requests of other threads
 *	probe_pace.c      when the next attempt and the next question are due
 *	probe_question.c  the announcement and the question over RPC, once and again during the session
 *
 * All functions here run on the probe's thread. probe_internal.h is for these files alone.
 */
#pragma once

#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>

#include "net/ip_address.h"
#include "net/wake.h"
#include "probe/local_rpc_client.h"
#include "probe/probe.h"
#include "pacing/probe_pace.h"
#include "wire/nonce.h"
#include "wire/registry.h"

#define STEP_TIMEOUT_MS  5000 /* one exchange with the sidecar, or the question */
#define MATCH_TIMEOUT_MS 3000 /* from the question's answer to MATCHED; a busy sidecar needs most of a second */

/* A request to the sidecar and its reply. The memory must live until the reply is there or the connection is closed. */
struct exchange {
	struct broker_call call;
	bool answered;
	int error;
	union {
		struct broker_status status;
		struct broker_announced announced;
		struct broker_hello_reply hello;
	} body;
};

struct announcement {
	struct broker_announce body;
	struct exchange exchange;
};

struct probe {
	struct probe_options options;
	char *registry, *asker;
	int fuse_fd;
	struct broker_fh root;
	bool started;
	pthread_t thread;
	struct wake wake;
	atomic_bool stopping, kicked, paused;
	atomic_uint reprobe_s;
	atomic_uint_fast64_t generation; /* of the session, 0 without a session */
	atomic_bool trusted;             /* the last sidecar that got a proof believed it */
	atomic_bool server_remembers;    /* the last reply to HELLO said so, */
	atomic_bool same_mounts;         /* and that the sidecar sees this process's mounts */

	pthread_mutex_t lock; /* guards status and session */
	struct probe_status status;
	struct broker_client *session; /* set while generation is not 0 */

	/* From here on the thread's own. */
	struct broker_client *broker; /* connection of the attempt or session */
	struct list ending;           /* broker_client_node(): ended connections whose changes are not all answered */
	uint64_t last_generation;
	uint32_t number; /* the sidecar's number of this connection, for the log; 0: not known yet */
	bool ended;      /* the sidecar said GOODBYE or broke the protocol */
	enum reason end_reason;
	struct backoff backoff;
	enum reason logged; /* the reason that was logged last */

	/* probe_question.c */
	struct local_rpc rpc; /* the question under way */
	bool matched;         /* MATCHED came since the question began */
	struct announcement recheck;
	bool rechecking;         /* recheck waits for its reply */
	bool recheck_demanded;   /* the repetition under way follows a reconnect, or a user's wish */
	bool kicked_again;       /* one more such repetition is to begin */
	uint64_t match_until_ms; /* until then an answered question waits for MATCHED; 0 before the answer */
	uint64_t recheck_ms;     /* now_ms() of the next repetition; 0 while one is under way */
	unsigned believed_s;     /* for that long the sidecar believes a match, as it said */
};

/* Why an attempt failed. */
struct attempt {
	struct registry_fault fault;
	bool translated; /* the sidecar saw another address or port than the question came from */
};

/* ---- probe_question.c ---- */

/* Sends a request; fd, or -1, travels with it. The reply arrives in the loop. */
void probe_begin_exchange(struct probe *p, struct exchange *x, uint32_t type, const void *body, size_t length, int fd);

/* A new announcement, with this end's half of a nonce. */
void probe_announcement_init(struct announcement *n);

/* The whole nonce, once the announcement has its reply. */
void probe_announced_nonce(const struct announcement *n, uint8_t ret[NONCE_BYTES]);

/* Asks the server's host the question; -ENOTCONN without an NFS connection, which would say the host's address. */
int probe_begin_question(struct probe *p, const struct announcement *n, unsigned *ret_port);

/* The address and port from which the question came, as this host sees them; empty if they are not known. */
void probe_format_source(const struct probe *p, char ret[IP_ADDRESS_TEXT]);

/* The repetition during the session: begins it, takes its replies, and sets the time of the next one. Never waits. */
void probe_begin_rechecks(struct probe *p);
void probe_recheck(struct probe *p);

/* ---- probe_session.c ---- */

/* True if the loop should end. */
typedef bool (*probe_condition_fn)(struct probe *p, const void *arg);

/*
 * The loop: handles all events until the condition holds. until may be NULL and the deadline, by now_ms(), 0. Errors:
 * -ETIMEDOUT at the deadline, -ENOTCONN or -EPROTO when the connection or session ends, -ECANCELED at probe_stop().
 */
int probe_run_until(struct probe *p, probe_condition_fn until, const void *arg, uint64_t deadline);

/*
 * poll(2) for the thread: fds, and the connections in p->ending, which it serves. Calls housekeep() before, if there is
 * a session or such a connection, and waits no longer than that says.
 */
#define POLLED_MAX 16 /* more connections are looked at once a second */
int probe_poll(struct probe *p, struct pollfd *fds, size_t count, int timeout_ms);

void probe_begin_generation(struct probe *p);
void probe_end_generation(struct probe *p);

/* Ends p->broker. Its changes under way stay, in p->ending, until they are answered or the sidecar has ended, too. */
void probe_end_connection(struct probe *p);

/* The mount ends: ends p->ending, too. */
void probe_abandon_changes(struct probe *p);

/* The sidecar's messages without a request: MATCHED, REVOKE, GOODBYE; arg is the probe. */
void probe_on_event(void *arg, uint32_t type, const void *body);

/* ---- probe_attempt.c ---- */

/*
 * One attempt: from nothing to a session that is ready for grants. On failure -errno, a->fault says why, and *ret_again
 * whether the obstacle goes away by itself soon. The connection stays in p->broker for the caller, on failure, too.
 */
int probe_attempt(struct probe *p, struct attempt *a, bool *ret_again);
