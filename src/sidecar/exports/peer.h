/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A session's client in the NFS server's view: the source address of its probe, and the exports' client entries that
 * mean this address.
 *
 * Belongs to one session, whose lock guards it. The name thread looks names up, and the session waits for it: at the
 * match, and later only when the exports have changed or after PEER_NAMES_FOR_MS. At the match the session does not
 * have the client's /dev/fuse descriptor yet, so the end of a mount does not wait for DNS.
 *
 * A peer needs a client entry for NFSv3, TCP and sec=sys. Exports with Manage_Gids get no grants, nor do exports with
 * options that the sidecar does not know: a refusal rather than a guess.
 */
#pragma once

#include "sidecar/exports/export_table.h"
#include "net/ip_address.h"

/* The kernel keeps mountd's answers for the same time (default_ttl of nfs-utils). */
#define PEER_NAMES_FOR_MS (30 * 60 * 1000)

enum peer_verdict {
	PEER_UNKNOWN, /* the name services give no answer now */
	PEER_OTHER,   /* the entry means other hosts */
	PEER_MEANT,   /* the entry means the peer */
};

/* The verdict from a result of host_names.h: 1, 0 or a negative errno. */
static inline enum peer_verdict peer_verdict_of(int answer)
{
	return answer < 0 ? PEER_UNKNOWN : answer > 0 ? PEER_MEANT : PEER_OTHER;
}

struct peer {
	struct ip_address address;
	uint16_t port;
	uint8_t *verdicts; /* enum peer_verdict, one per name of the table; NULL: not looked up */
	uint64_t learned_ms;
};

/* The verdict on an entry of the table that the last peer_learn() was called with. */
enum peer_verdict peer_is(const struct peer *p, const struct export_client *c);

/* Looks up all names of the table for the peer. Waits for name services. 0 or -ENOMEM. */
int peer_learn(struct peer *p, const struct export_table *t);

void peer_done(struct peer *p);
