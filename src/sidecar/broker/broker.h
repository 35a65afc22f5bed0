/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The broker: the socket in the registry, the list of sessions, and the place where the RPC thread tells a session that
 * UUID_IS_LOCAL came with its nonce.
 *
 * The main thread owns the broker: it accepts, reaps and ends sessions. The mutex guards the list, the nonces, and the
 * last fields of struct broker_session. It is held for copies only, never across a call on a client's file or socket.
 * Each session begins with a thread of its own, which runs the function that main gives to broker_start()
 * (session/session.h).
 */
#pragma once

#include <semaphore.h>
#include <stdatomic.h>

#include "localiofs/broker_protocol.h"
#include "localiofs/reason.h"
#include "sidecar/broker/account.h"
#include "sidecar/broker/counters.h"
#include "sidecar/exports/export_table.h"
#include "net/ip_address.h"
#include "sidecar/registry/nonces.h"
#include "sidecar/registry/registry_make.h"
#include "base/util.h"
#include "net/wake.h"

/* Runs one session to its end, on a thread of its own; arg is the struct broker_session. Returns NULL. */
typedef void *(*broker_session_fn)(void *arg);

struct notices;
struct session;

struct broker {
	pthread_mutex_t lock;
	struct list sessions;
	struct account *account;   /* of all registries together */
	struct counters *counters; /* the same */
	struct notices *notices;   /* the same; NULL: the kernel or the privileges do not suffice */
	const char *path;          /* of the registry; constant */
	unsigned nsessions;
	struct export_store *exports;
	broker_session_fn run;       /* the thread of each session */
	struct nonces nonces;        /* guarded by the lock */
	struct registry_mark socket; /* the inode that clients connect to */
	dev_t memfd_device;          /* the device of all memfds, which OWNER_PROOF must have */
	unsigned recheck_s;          /* a match is valid for so many seconds */
	bool claims_of_peer;         /* a client may use its own mapped ids only (claims.h) */
	atomic_uint probeport;       /* the TCP port for probes, which the RPC thread sets; 0: none */
	int listener;                /* -1: it has ended, or the registry is being made again */
	bool renewing;               /* broker_close() was called, and broker_renew() was not */
	struct registry_file *file;  /* guarded by the lock, as the nonces that are in it */
	struct wake reap;          /* a session's thread is about to end, the registry is lost, or probeport changed */
	atomic_bool registry_lost; /* the registry's file was truncated, so no client can be matched any more */
};

/* The broker's record of one session. */
struct broker_session {
	struct list node;
	struct broker *broker;
	pthread_t thread;
	struct account_session account; /* the client's identity and counts */
	struct wake wake;               /* wakes the session; the same number in both descriptor tables */
	int socket;                     /* in the thread's own descriptor table only, once the thread runs */
	uint32_t number;                /* for the logs; constant */
	atomic_bool finished;           /* the thread is about to end, and does not use this struct any more */
	atomic_bool stop;               /* the sidecar ends */
	sem_t ready;                    /* posted when has_table is set */
	bool has_table;                 /* the thread has a descriptor table of its own */
	sem_t alone;                    /* posted when the main thread has closed its copy of the socket */
	struct registry_mark mark;      /* of the socket to which the client has connected */
	time_t since;                   /* CLOCK_REALTIME of the connection */
	atomic_uint_fast64_t opens, ids, descriptors, refused; /* as struct counters */
	atomic_uint last_refusal;                              /* enum reason */

	/* guarded by the broker's lock */
	unsigned matches;       /* how many times UUID_IS_LOCAL came for the session */
	struct ip_address peer; /* the source of the last UUID_IS_LOCAL */
	uint16_t peer_port;
	char *export_path;     /* of HELLO; NULL before */
	struct session *state; /* session.h; NULL: nobody may look at it */
	pid_t tid;             /* of the session's first thread, whose descriptor table /proc shows */
};

struct broker_options {
	struct export_store *exports;
	struct account *account;
	struct counters *counters;
	struct notices *notices;
	const char *path; /* of the registry */
	unsigned recheck_s;
	bool claims_of_peer;
	broker_session_fn run; /* the function of each session's thread */
};

/* Starts the broker of one registry. Takes over the listener. 0 or a negative errno. */
int broker_start(struct broker *b, const struct broker_options *o, const struct registry_made *made);
/* Accepts no more clients, and makes each session send GOODBYE(SIDECAR_STOPPED) and end. The socket's name remains. */
void broker_begin_stop(struct broker *b);

/* The registry was removed: accepts no more clients until it is made again; the sessions go on. */
void broker_close(struct broker *b);
/* After broker_close(): takes over the new registry. Nonces that were announced in the old one are void. */
void broker_renew(struct broker *b, const struct registry_made *made);

#define BROKER_STOP_MS 2000

/* Waits until all sessions have ended, at most until the deadline (now_ms()). Returns true if all have ended. */
bool broker_wait_stopped(struct broker *b, uint64_t deadline);

/* Main thread: call when the listener is readable; a client over a limit gets GOODBYE, and no thread. */
void broker_accept(struct broker *b);
/* Main thread: call when reap is readable; frees the sessions that have ended. */
void broker_reap(struct broker *b);

/* Main thread: call when the store has a new export table; wakes all sessions. */
void broker_exports_changed(struct broker *b);

/*
 * A session's thread: makes a new nonce for the session, and fills the fields of the reply that belong to it. -EUSERS
 * if no slot is free, -EFAULT if the registry is lost.
 */
int broker_new_nonce(struct broker_session *s, const uint8_t half[NONCE_BYTES], struct broker_announced *ret);
/* A session's thread: true if a match came since *seen matches, with the source of the last. Updates *seen. */
bool broker_take_match(struct broker_session *s, unsigned *seen, struct ip_address *ret_peer, uint16_t *ret_port);
/* A session's thread: lets localioctl(8) look at the session from now on, or not any more (NULL). */
void broker_show(struct broker_session *s, struct session *state);
/* A session's thread: the session is about this export. */
void broker_set_export(struct broker_session *s, const char *path);
/* A session's thread, at its end: ends the session's nonce. */
void broker_forget(struct broker_session *s);

/* The RPC thread: true if a session waits for this nonce. A cheap first check. */
bool broker_expects(struct broker *b, const uint8_t uuid[16]);

/*
 * The RPC thread: UUID_IS_LOCAL came from peer. Marks the nonce as used, and wakes the session that announced it.
 * -ENOENT if no session waits for the nonce.
 */
int broker_match(struct broker *b, const uint8_t uuid[16], const struct ip_address *peer, uint16_t port);
