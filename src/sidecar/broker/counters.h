/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What the sidecar has done since its start, in numbers: for localioctl(8) and for the metrics. One struct for all
 * registries, zeroed at first; it belongs to main. All members are atomic, with no order between them; any thread.
 */
#pragma once

#include <stdatomic.h>
#include <stdint.h>

#include "localiofs/reason.h"

#define COUNTERS_REASONS 64 /* more than enum reason has */

#define COUNTERS_PROBES(X)                                                     \
	X(MATCHED, "matched")             /* a session has got its match */    \
	X(UNKNOWN_NONCE, "unknown-nonce") /* no session waits for the nonce */ \
	X(NOT_CONNECTED, "not-connected") /* the address has no connection to the NFS server */

#define COUNTERS_LIMITS(X)                                                     \
	X(SESSIONS, "sessions") /* of a uid, of a client, or in total */       \
	X(IDS, "ids")           /* the same for backing ids and descriptors */ \
	X(REGISTRY, "registry") /* slots for nonces */

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
