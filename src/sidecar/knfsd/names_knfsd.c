/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sidecar/knfsd/names_knfsd.h"

#include <fnmatch.h>
#include <string.h>

#include "sidecar/host/host_names.h"
#include "sidecar/host/name_thread.h"

/* ---- mountd's answers in the kernel's cache ---- */

int names_knfsd_domain(FILE *content, const struct ip_address *peer, char **ret)
{
	_cleanup_free_ char *line = NULL;
	size_t room = 0;
	int found = 0;

	*ret = NULL;
	/* "nfsd 192.0.2.1 DOMAIN"; an invalid or expired entry is a comment. */
	while (found == 0 && getline(&line, &room, content) >= 0) {
		char *save = NULL, *class = strtok_r(line, " \n", &save), *address = strtok_r(NULL, " \n", &save),
		     *domain = strtok_r(NULL, " \n", &save);
		struct ip_address a;
		unsigned prefix;

		if (domain == NULL || strcmp(class, "nfsd") != 0 || ip_address_parse(address, &a, &prefix) < 0 ||
			!ip_address_equal(&a, peer))
			continue;
		*ret = strdup(strcmp(domain, "-no-domain-") == 0 ? "" : domain);
		found = *ret != NULL ? 1 : -ENOMEM;
	}
	return found;
}

int names_knfsd_cached(const struct ip_address *peer, char **ret)
{
	_cleanup_fclose_ FILE *f = fopen("/proc/net/rpc/auth.unix.ip/content", "re");

	*ret = NULL;
	return f != NULL ? names_knfsd_domain(f, peer, ret) : 0;
}

/* client_member(): true if the domain, a list with commas, has the name. */
static bool is_member(const char *domain, const char *name)
{
	size_t length = strlen(name);

	for (const char *p = domain;; p++) {
		if (strncmp(p, name, length) == 0 && (p[length] == ',' || p[length] == '\0'))
			return true;
		p = strchr(p, ',');
		if (p == NULL)
			return false;
	}
}

static bool ask_kernel(const struct export_table *t, const struct ip_address *peer, uint8_t *ret_verdicts)
{
	_cleanup_free_ char *domain = NULL;

	if (names_knfsd_cached(peer, &domain) <= 0 || domain[0] == '$')
		return false;
	for (size_t i = 0; i < t->nnames; i++)
		ret_verdicts[i] = is_member(domain, t->names[i]->name) ? PEER_MEANT : PEER_OTHER;
	return true;
}

/* ---- the name services, as mountd asks them ---- */

struct question {
	const struct export_table *table;
	const struct ip_address *peer;
	uint8_t *verdicts;
	char name[NI_MAXHOST];
	struct host_aliases aliases;
	int named; /* host_name_of() */
};

/* True for the peer's name, or for an alias. */
static bool any_name(const struct question *q, bool (*is)(const char *pattern, const char *name), const char *pattern)
{
	bool found = is(pattern, q->name);

	for (unsigned i = 0; i < q->aliases.count && !found; i++)
		found = is(pattern, q->aliases.names[i]);
	return found;
}

/* wildmat(): a star fits dots, too; case is ignored */
static bool fits(const char *pattern, const char *name)
{
	return fnmatch(pattern, name, FNM_CASEFOLD) == 0;
}

/* check_netgroup(): looks for the peer's names, its address, and its name without the domain */
static bool in_netgroup(const struct question *q, const char *netgroup)
{
	char address[IP_ADDRESS_TEXT], name[NI_MAXHOST];

	ip_address_format(q->peer, address);
	(void)snprintf(name, sizeof(name), "%.*s", (int)strcspn(q->name, "."), q->name);
	return any_name(q, host_in_netgroup, netgroup) || host_in_netgroup(netgroup, address) ||
	       host_in_netgroup(netgroup, name);
}

static int means(const struct question *q, const struct export_client *c)
{
	if (c->kind == CLIENT_HOST)
		return host_has_address(c->name, q->peer);
	if (q->named <= 0)
		return q->named;
	return c->kind == CLIENT_NETGROUP ? in_netgroup(q, c->name + 1) : any_name(q, fits, c->name);
}

static void ask_name_services(void *arg)
{
	struct question *q = arg;

	q->named = host_name_of(q->peer, q->name);
	/* Some versions of mountd accept a name that does not lead back to the address, others do not. */
	if (q->named > 0 && host_has_address(q->name, q->peer) <= 0)
		q->named = -EAGAIN;
	if (q->named > 0)
		host_aliases_of(q->name, &q->aliases);
	for (size_t i = 0; i < q->table->nnames; i++)
		q->verdicts[i] = (uint8_t)peer_verdict_of(means(q, q->table->names[i]));
}

void names_knfsd(const struct export_table *t, const struct ip_address *peer, uint8_t *ret_verdicts)
{
	struct question q = {.table = t, .peer = peer, .verdicts = ret_verdicts};

	if (!ask_kernel(t, peer, ret_verdicts))
		name_thread_run(ask_name_services, &q);
}
