/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The broker: the socket in the registry, the sessions on it, and the meeting place where the RPC
 * thread tells a session that its nonce has arrived.
 *
 * The main thread owns the broker: it accepts, reaps and ends sessions. The mutex guards the list and
 * the fields of struct session that say so; it is held for copies only, never across a call on a
 * file or socket of a client's. Each session runs session_run() on a thread of its own.
 */
#pragma once

#include <semaphore.h>
#include <stdatomic.h>

#include "localiofs/broker_protocol.h"
#include "localiofs/nonce_record.h"
#include "localiofs/reason.h"
#include "sidecar/export_table.h"
#include "util.h"

#define BROKER_MAX_SESSIONS         256
#define BROKER_MAX_SESSIONS_PER_UID 128
#define BROKER_MAX_UNMATCHED_PER_UID 32
#define BROKER_MAX_IDS_PER_UID      65536

struct broker {
	pthread_mutex_t lock;
	struct list sessions;
	struct list uids; /* what each has registered */
	unsigned nsessions;
	struct export_store *exports;
	int registry; /* O_PATH of the registry directory; the caller's */
	int nonces;   /* O_PATH of nonces/; the caller's */
	int listener;
	int reap_fd; /* eventfd: a session's thread is about to end */
};

struct session {
	struct list node;
	struct broker *broker;
	pthread_t thread;
	uid_t uid; /* of the peer, SO_PEERCRED */
	pid_t pid;
	bool refused;    /* over a limit: it only says so */
	int event_fd;    /* wakes the session's thread; the number holds in both descriptor tables */
	int socket;      /* the session's own table only, once its thread runs */
	atomic_bool finished;
	atomic_bool stop;  /* the sidecar ends */
	sem_t ready;       /* its thread has its own descriptor table */

	/* guarded by the broker's lock */
	uint8_t nonce[16], proof[NONCE_PROOF_BYTES];
	bool announced, matched;
	bool trusted; /* the proof was right */
	struct ip_address peer;
	uint16_t peer_port;
};

/* Binds and listens; what is left of an earlier sidecar's socket is replaced. -EADDRINUSE: one runs. */
int broker_start(struct broker *b, struct export_store *exports, int registry, int nonces);
/* Says GOODBYE(SIDECAR_STOPPED) to all, waits a bounded time for their threads, removes the socket. */
void broker_stop(struct broker *b);

/* Main thread: the listener is readable; reap_fd is readable. */
void broker_accept(struct broker *b);
void broker_reap(struct broker *b);
/* Nothing is accepted while all places are taken: the caller then does not poll the listener. */
bool broker_full(const struct broker *b);

/* Main thread: the export table was exchanged. */
void broker_exports_changed(struct broker *b);

/* A session's thread: -EEXIST when another connection announced the same nonce. */
int broker_announce(struct session *s, const struct broker_announce *announced);
/* A session's thread: whether UUID_IS_LOCAL came, from whom, and with the proof that was announced. */
bool broker_matched(struct session *s, struct ip_address *ret_peer, uint16_t *ret_port, bool *ret_trusted);

/* A session's thread, around each id: 0, or -EUSERS when its uid has too many registered. */
int broker_take_id(struct session *s);
void broker_give_id(struct session *s);

/* The RPC thread: whether a session waits for this nonce; cheap, before anything else is done. */
bool broker_expects(struct broker *b, const uint8_t uuid[16]);

/*
 * The RPC thread: UUID_IS_LOCAL came from peer. Finds who announced it, uses the nonce file up and
 * wakes that session. The errno is for the log only.
 */
int broker_match(
	struct broker *b, const uint8_t uuid[16], const struct ip_address *peer, uint16_t port);
