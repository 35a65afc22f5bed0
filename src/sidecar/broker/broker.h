/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The broker: the socket in the registry, the sessions on it, and the meeting place where the RPC
 * thread tells a session that its nonce has arrived.
 *
 * The main thread owns the broker: it accepts, reaps and ends sessions. The mutex guards the list and
 * the fields of struct broker_session that say so; it is held for copies only, never across a call on a
 * file or socket of a client's. Each session has a thread of its own, which runs the function that broker_start() was
 * given (session/session.h).
 */
#pragma once

#include <semaphore.h>
#include <stdatomic.h>

#include "localiofs/broker_protocol.h"
#include "localiofs/reason.h"
#include "sidecar/broker/account.h"
#include "sidecar/exports/export_table.h"
#include "net/ip_address.h"
#include "sidecar/registry/nonces.h"
#include "sidecar/registry/registry_make.h"
#include "base/util.h"
#include "net/wake.h"

/* Runs one session to its end, on a thread of its own; arg is the struct broker_session. Returns NULL. */
typedef void *(*broker_session_fn)(void *arg);

struct broker {
	pthread_mutex_t lock;
	struct list sessions;
	struct account account;
	unsigned nsessions;
	struct export_store *exports;
	broker_session_fn run;       /* the thread of each session */
	struct nonces nonces;        /* guarded by the lock */
	struct registry_mark socket; /* the inode that clients connect to */
	dev_t memfd_device;          /* of the proofs that they send */
	unsigned recheck_s;          /* a match is believed for so long */
	atomic_uint probeport;       /* where probes are answered, 0 for nowhere: the RPC thread sets it */
	int listener;
	struct wake reap;          /* a session's thread is about to end, or the registry is lost */
	atomic_bool registry_lost; /* somebody cut its file short: no mount can be matched any more */
};

struct broker_session {
	struct list node;
	struct broker *broker;
	pthread_t thread;
	struct account_session account; /* who it is, and what it holds */
	struct wake wake;               /* of the session's thread; the number holds in both descriptor tables */
	int socket;                     /* the session's own table only, once its thread runs */
	atomic_bool finished;
	atomic_bool stop; /* the sidecar ends */
	sem_t ready;      /* its thread has its own descriptor table, or cannot have one */
	bool has_table;   /* which of the two */
	sem_t alone;      /* nobody else has the socket any more */

	/* guarded by the broker's lock */
	unsigned matches;       /* how often UUID_IS_LOCAL came for it */
	struct ip_address peer; /* from where, the last time */
	uint16_t peer_port;
};

/* Takes over the listener. */
int broker_start(struct broker *b, struct export_store *exports, const struct registry_made *made, unsigned recheck_s,
	broker_session_fn run);
/* Says GOODBYE(SIDECAR_STOPPED) to all, waits a bounded time for their threads. The socket's name stays. */
void broker_stop(struct broker *b);

/* Main thread: the listener is readable; reap is readable. Who is over a limit is told so, without a thread. */
void broker_accept(struct broker *b);
void broker_reap(struct broker *b);

/* Main thread: the export table was exchanged. */
void broker_exports_changed(struct broker *b);

/*
 * A session's thread: a new nonce for it; fills what the answer says of that. -EUSERS when no slot is free, -EFAULT
 * when the registry is lost.
 */
int broker_new_nonce(struct broker_session *s, const uint8_t half[NONCE_BYTES], struct broker_announced *ret);
/* A session's thread: true if UUID_IS_LOCAL came since *seen was what it is, and from whom. */
bool broker_take_match(struct broker_session *s, unsigned *seen, struct ip_address *ret_peer, uint16_t *ret_port);
/* A session's thread, at its end: nothing comes for it any more. */
void broker_forget(struct broker_session *s);

/* The RPC thread: whether a session waits for this nonce; cheap, before anything else is done. */
bool broker_expects(struct broker *b, const uint8_t uuid[16]);

/*
 * The RPC thread: UUID_IS_LOCAL came from peer. Uses the nonce up and wakes the session that announced it; -ENOENT
 * when there is none any more.
 */
int broker_match(struct broker *b, const uint8_t uuid[16], const struct ip_address *peer, uint16_t port);
