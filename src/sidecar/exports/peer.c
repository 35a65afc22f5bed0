/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sidecar/exports/peer.h"

#include "base/clock.h"
#include "sidecar/exports/server_kind.h"

enum peer_verdict peer_is(const struct peer *p, const struct export_client *c)
{
	switch (c->kind) {
	case CLIENT_ANY:
		return PEER_MEANT;
	case CLIENT_NETWORK:
		return ip_address_in(&p->address, &c->network, c->prefix) ? PEER_MEANT : PEER_OTHER;
	case CLIENT_HOST:
	case CLIENT_WILDCARD:
	case CLIENT_NETGROUP:
		return p->verdicts != NULL ? (enum peer_verdict)p->verdicts[c->name_index] : PEER_UNKNOWN;
	case CLIENT_NOBODY:
		return PEER_OTHER;
	}
	return PEER_UNKNOWN;
}

int peer_learn(struct peer *p, const struct export_table *t)
{
	uint8_t *verdicts = t->nnames > 0 ? calloc(t->nnames, sizeof(*verdicts)) : NULL;

	peer_done(p);
	if (t->nnames > 0 && verdicts == NULL)
		return -ENOMEM;
	p->learned_ms = now_ms();
	if (t->nnames > 0)
		t->server->know_names(t, &p->address, verdicts);
	p->verdicts = verdicts;
	return 0;
}

void peer_done(struct peer *p)
{
	free(STEAL_PTR(p->verdicts));
}
