/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sidecar/names_ganesha.h"

#include <fnmatch.h>
#include <stdio.h>
#include <string.h>

#include "sidecar/host_names.h"
#include "sidecar/name_thread.h"

struct question {
	const struct export_table *table;
	const struct ip_address *peer;
	uint8_t *verdicts;
};

/* The name that the address leads to, or the address where it has none: getnameinfo(3) without flags. */
static enum peer_verdict ask_about(const struct export_client *c, const struct ip_address *peer,
	const char *address, const struct host_names *host, int named)
{
	const char *name = named > 0 ? host->name : address;
	int is;

	if (c->kind == CLIENT_HOST) {
		is = host_has_address(c->name, peer);
		/* What has no address now may have had one when the server started: it looks once. */
		return is > 0 ? PEER_MEANT : is < 0 ? PEER_UNKNOWN : PEER_OTHER;
	}
	if (c->kind == CLIENT_WILDCARD && fnmatch(c->name, address, FNM_PATHNAME) == 0)
		return PEER_MEANT;
	if (named < 0)
		return PEER_UNKNOWN;
	is = c->kind == CLIENT_NETGROUP ? host_in_netgroup(c->name + 1, name)
					: fnmatch(c->name, name, FNM_PATHNAME) == 0;
	return is ? PEER_MEANT : PEER_OTHER;
}

static void ask_name_services(void *arg)
{
	struct question *q = arg;
	char address[IP_ADDRESS_TEXT];
	struct host_names host;
	int named = host_names_of(q->peer, &host);

	ip_address_format(q->peer, address);
	for (size_t i = 0; i < q->table->nnames; i++)
		q->verdicts[i] = (uint8_t)ask_about(q->table->names[i], q->peer, address, &host, named);
}

void names_ganesha(const struct export_table *t, const struct ip_address *peer, uint8_t *ret_verdicts)
{
	struct question q = {.table = t, .peer = peer, .verdicts = ret_verdicts};

	name_thread_run(ask_name_services, &q);
}
