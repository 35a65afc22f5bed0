/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sidecar/host/host_names.h"

#include <stdio.h>
#include <string.h>

#include "base/util.h"

int host_name_of(const struct ip_address *a, char ret[NI_MAXHOST])
{
	struct sockaddr_storage address;
	socklen_t length = ip_address_to_sockaddr(a, 0, &address);

	ret[0] = '\0';
	switch (getnameinfo((struct sockaddr *)&address, length, ret, NI_MAXHOST, NULL, 0, NI_NAMEREQD)) {
	case 0:
		return 1;
	case EAI_NONAME:
	case EAI_NODATA:
		return 0;
	default:
		return -EAGAIN;
	}
}

void host_aliases_of(const char *name, struct host_aliases *ret)
{
	struct hostent host, *found = NULL;
	char room[8192];
	int error;

	ret->count = 0;
	if (gethostbyname_r(name, &host, room, sizeof(room), &found, &error) != 0 || found == NULL)
		return;
	for (char **alias = found->h_aliases; *alias != NULL && ret->count < HOST_ALIASES_MAX; alias++)
		(void)snprintf(ret->names[ret->count++], NI_MAXHOST, "%s", *alias);
}

int host_has_address(const char *name, const struct ip_address *a)
{
	const struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
	struct addrinfo *list = NULL;
	bool has = false;

	if (getaddrinfo(name, NULL, &hints, &list) != 0)
		return -EAGAIN;
	for (const struct addrinfo *i = list; i != NULL; i = i->ai_next) {
		struct sockaddr_storage storage = {0};
		struct ip_address one;

		memcpy(&storage, i->ai_addr, MIN(i->ai_addrlen, sizeof(storage)));
		has = has || (ip_address_from_sockaddr(&storage, &one, NULL) >= 0 && ip_address_equal(&one, a));
	}
	freeaddrinfo(list);
	return has;
}

bool host_in_netgroup(const char *netgroup, const char *host)
{
	return innetgr(netgroup, host, NULL, NULL) != 0;
}
