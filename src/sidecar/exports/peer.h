/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Who a session's client is to the NFS server: the address that its probe came from, and which of the
 * exports' client entries mean it.
 *
 * Belongs to one session and its thread. Names are looked up on the name thread, which this one waits
 * for: at the match, before the session holds the client's /dev/fuse descriptor, whose release must
 * wait for nobody's DNS; later only when the exports changed, or after PEER_NAMES_FOR_MS.
 *
 * A peer needs a client entry for NFSv3, TCP and sec=sys. Exports with Manage_Gids get no grants, nor do exports with
 * options that the sidecar does not know: a refusal rather than a guess.
 */
#pragma once

#include "sidecar/exports/export_table.h"
#include "net/ip_address.h"

/* As long as mountd's answers to the kernel hold (default_ttl of nfs-utils). */
#define PEER_NAMES_FOR_MS (30 * 60 * 1000)

enum peer_verdict {
	PEER_UNKNOWN, /* nobody can tell now */
	PEER_OTHER,
	PEER_MEANT,
};

/* Of an answer of host_names.h: 1, 0 or a negative errno. */
static inline enum peer_verdict peer_verdict_of(int answer)
{
	return answer < 0 ? PEER_UNKNOWN : answer > 0 ? PEER_MEANT : PEER_OTHER;
}

struct peer {
	struct ip_address address;
	uint16_t port;
	uint8_t *verdicts; /* enum peer_verdict, one for each of the table's names; NULL: not asked */
	uint64_t learned_ms;
};

/* Whether the entry means the peer; of a table that peer_learn() saw last. */
enum peer_verdict peer_is(const struct peer *p, const struct export_client *c);

/* Finds out whom the table's names mean. Waits for name services. -ENOMEM. */
int peer_learn(struct peer *p, const struct export_table *t);

void peer_done(struct peer *p);
