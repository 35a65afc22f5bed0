/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Host names and addresses, from this host's name services. All functions may wait for DNS, so they run on the name
 * thread (name_thread.h); they have no state. Results are 1 (yes), 0 (no), or -EAGAIN if the name services did not
 * answer.
 */
#pragma once

#include <netdb.h>

#include "net/ip_address.h"

#define HOST_ALIASES_MAX 16

struct host_aliases {
	char names[HOST_ALIASES_MAX][NI_MAXHOST];
	unsigned count;
};

/* The name of an address; 0 if the address has no name. */
int host_name_of(const struct ip_address *a, char ret[NI_MAXHOST]);

/* The aliases of a name, in /etc/hosts for example. */
void host_aliases_of(const char *name, struct host_aliases *ret);

/*
 * 1 if the name has the address. A name without any address is -EAGAIN, too: the name may have had addresses when the
 * NFS server asked for them, and the server keeps that answer.
 */
int host_has_address(const char *name, const struct ip_address *a);

/* True if the host is a member of the netgroup; false also if the name service does not answer. */
bool host_in_netgroup(const char *netgroup, const char *host);
