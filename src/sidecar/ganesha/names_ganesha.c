/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sidecar/ganesha/names_ganesha.h"

#include <fnmatch.h>

#include "sidecar/host/host_names.h"
#include "sidecar/host/name_thread.h"

struct question {
	const struct export_table *table;
	const struct ip_address *peer;
	uint8_t *verdicts;
};

/* name: the peer's name; for a peer without a name its address, as getnameinfo(3) without flags gives it. */
static int means(const struct export_client *c, const struct ip_address *peer, const char *address, const char *name,
	int named)
{
	if (c->kind == CLIENT_HOST)
		return host_has_address(c->name, peer);
	if (c->kind == CLIENT_WILDCARD && fnmatch(c->name, address, FNM_PATHNAME) == 0)
		return 1;
	if (named < 0)
		return named;
	return c->kind == CLIENT_NETGROUP ? host_in_netgroup(c->name + 1, name)
					  : fnmatch(c->name, name, FNM_PATHNAME) == 0;
}

static void ask_name_services(void *arg)
{
	struct question *q = arg;
	char address[IP_ADDRESS_TEXT], name[NI_MAXHOST];
	int named = host_name_of(q->peer, name);

	ip_address_format(q->peer, address);
	for (size_t i = 0; i < q->table->nnames; i++)
		q->verdicts[i] = (uint8_t)peer_verdict_of(
			means(q->table->names[i], q->peer, address, named > 0 ? name : address, named));
}

void names_ganesha(const struct export_table *t, const struct ip_address *peer, uint8_t *ret_verdicts)
{
	struct question q = {.table = t, .peer = peer, .verdicts = ret_verdicts};

	name_thread_run(ask_name_services, &q);
}
