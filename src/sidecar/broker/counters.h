/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What the sidecar has done since its start, in numbers: for localioctl(8) and for the metrics. One struct for all
 * registries, zeroed at first; it belongs to main. All members are atomic, with no order between them; any thread.
 */
#pragma once

#include <stdatomic.h>
#include <stdint.h>
#include <string.h>

#include "localiofs/broker_protocol.h"
#include "localiofs/reason.h"

#define COUNTERS_REASONS 64 /* more than enum reason has */
#define COUNTERS_TYPES   32 /* more than there are types of requests */

#define COUNTERS_PROBES(X)                                                     \
	X(MATCHED, "matched")             /* a session has got its match */    \
	X(UNKNOWN_NONCE, "unknown-nonce") /* no session waits for the nonce */ \
	X(NOT_CONNECTED, "not-connected") /* the address has no connection to the NFS server */

#define COUNTERS_LIMITS(X)                                                     \
	X(SESSIONS, "sessions") /* of a uid, of a client, or in total */       \
	X(IDS, "ids")           /* the same for backing ids and descriptors */ \
	X(REGISTRY, "registry") /* slots for nonces */

/* What became of a request. */
#define COUNTERS_ANSWERS(X)                                                   \
	X(DONE, "done")     /* it was done, or granted */                     \
	X(ERROR, "error")   /* an error, which is the server's answer, too */ \
	X(SERVER, "server") /* only the NFS server can answer, for the reason of the reply */

/* The kinds of notices, as enum broker_notice_kind. */
#define COUNTERS_NOTICES(X)                                              \
	X(DOUBT, "doubt")         /* changes were lost */                \
	X(NAME, "name")           /* a name, which the notice carries */ \
	X(DIRECTORY, "directory") /* some name in a directory */         \
	X(ATTR, "attributes")

enum counters_answer {
#define X(name, word) COUNTERS_ANSWER_##name,
	COUNTERS_ANSWERS(X)
#undef X
	COUNTERS_ANSWER_END
};

enum counters_notice {
#define X(name, word) COUNTERS_NOTICE_##name = BROKER_NOTICE_##name,
	COUNTERS_NOTICES(X)
#undef X
	COUNTERS_NOTICE_END
};

enum counters_probe {
#define X(name, word) COUNTERS_PROBE_##name,
	COUNTERS_PROBES(X)
#undef X
	COUNTERS_PROBE_END
};

enum counters_limit {
#define X(name, word) COUNTERS_LIMIT_##name,
	COUNTERS_LIMITS(X)
#undef X
	COUNTERS_LIMIT_END
};

struct counters {
	atomic_uint_fast64_t sessions;         /* that were accepted */
	atomic_uint_fast64_t opens;            /* requests OPEN */
	atomic_uint_fast64_t ids, descriptors; /* that were granted */
	atomic_uint_fast64_t refusals[COUNTERS_REASONS];
	atomic_uint_fast64_t probes[COUNTERS_PROBE_END];
	atomic_uint_fast64_t limits[COUNTERS_LIMIT_END]; /* how often each was reached */
	atomic_uint_fast64_t requests[COUNTERS_TYPES]
				     [COUNTERS_ANSWER_END]; /* that were answered, by enum broker_type */
	atomic_uint_fast64_t left[COUNTERS_REASONS];        /* those that only the server can answer */
	atomic_uint_fast64_t notices[COUNTERS_NOTICE_END];  /* that were sent, by kind */
};

static inline void counters_add(atomic_uint_fast64_t *counter)
{
	(void)atomic_fetch_add_explicit(counter, 1, memory_order_relaxed);
}

static inline void counters_refuse(struct counters *c, unsigned reason)
{
	if (reason != REASON_NONE && reason < COUNTERS_REASONS)
		counters_add(&c->refusals[reason]);
}

/* Counts a request of this type by its reply, which begins with a struct broker_status as all replies do. */
static inline void counters_reply(struct counters *c, uint32_t type, const void *reply)
{
	enum counters_answer answer = COUNTERS_ANSWER_ERROR;
	struct broker_status s;

	memcpy(&s, reply, sizeof(s));
	/* An OPEN without a grant has a reason and no error. */
	if (s.error == 0 && (s.reason == REASON_NONE || type == BROKER_OPEN))
		answer = COUNTERS_ANSWER_DONE;
	else if (s.reason != REASON_NONE)
		answer = COUNTERS_ANSWER_SERVER;
	if (type < COUNTERS_TYPES)
		counters_add(&c->requests[type][answer]);
	if (answer == COUNTERS_ANSWER_SERVER && s.reason < COUNTERS_REASONS)
		counters_add(&c->left[s.reason]);
}
