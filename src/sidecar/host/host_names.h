/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Host names and addresses, as this host's name services say. Everything here may wait for DNS and
 * runs on the name thread (name_thread.h). Answers: 1, 0, or -EAGAIN when they did not answer.
 */
#pragma once

#include <netdb.h>

#include "net/ip_address.h"

#define HOST_ALIASES_MAX 16

struct host_aliases {
	char names[HOST_ALIASES_MAX][NI_MAXHOST];
	unsigned count;
};

/* The name that the address leads to; 0: it has none. */
int host_name_of(const struct ip_address *a, char ret[NI_MAXHOST]);

/* Its further names, of /etc/hosts. */
void host_aliases_of(const char *name, struct host_aliases *ret);

/*
 * Whether the address is one of the name's. -EAGAIN also for a name without any: it may have had some when
 * the server asked, which keeps the answer.
 */
int host_has_address(const char *name, const struct ip_address *a);

/* Whether the host is a member; a name service that does not answer says no. */
bool host_in_netgroup(const char *netgroup, const char *host);
