/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sidecar/host_names.h"

#include <stdio.h>
#include <string.h>

#include "util.h"

static int answer_of(int gai_error)
{
	switch (gai_error) {
	case 0:
		return 1;
	case EAI_NONAME:
	case EAI_NODATA:
		return 0;
	default:
		return -EAGAIN;
	}
}

static void find_aliases(struct host_names *h)
{
	struct hostent host, *found = NULL;
	char room[8192];
	int error;

	if (gethostbyname_r(h->name, &host, room, sizeof(room), &found, &error) != 0 || found == NULL)
		return;
	for (char **alias = found->h_aliases; *alias != NULL && h->naliases < HOST_ALIASES_MAX; alias++)
		(void)snprintf(h->aliases[h->naliases++], NI_MAXHOST, "%s", *alias);
}

int host_names_of(const struct ip_address *a, struct host_names *ret)
{
	struct sockaddr_storage address;
	socklen_t length = ip_address_to_sockaddr(a, 0, &address);
	int r;

	*ret = (struct host_names){.naliases = 0};
	r = answer_of(getnameinfo((struct sockaddr *)&address, length, ret->name, sizeof(ret->name), NULL, 0,
		NI_NAMEREQD));
	if (r > 0)
		find_aliases(ret);
	return r;
}

int host_has_address(const char *name, const struct ip_address *a)
{
	const struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
	struct addrinfo *list = NULL;
	bool has = false;
	int r = answer_of(getaddrinfo(name, NULL, &hints, &list));

	for (const struct addrinfo *i = list; r > 0 && i != NULL; i = i->ai_next) {
		struct sockaddr_storage storage = {0};
		struct ip_address one;

		memcpy(&storage, i->ai_addr, MIN(i->ai_addrlen, sizeof(storage)));
		has = has || (ip_address_from_sockaddr(&storage, &one, NULL) >= 0 && ip_address_equal(&one, a));
	}
	if (list != NULL)
		freeaddrinfo(list);
	return r > 0 ? has : r;
}

bool host_in_netgroup(const char *netgroup, const char *host)
{
	return innetgr(netgroup, host, NULL, NULL) != 0;
}
