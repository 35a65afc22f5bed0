/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Host names and addresses, as this host's name services say. Everything here may wait for DNS and
 * runs on the name thread (name_thread.h). Answers: 1, 0, or -EAGAIN when they did not answer.
 */
#pragma once

#include <netdb.h>

#include "sidecar/ip_address.h"

#define HOST_ALIASES_MAX 16

struct host_names {
	char name[NI_MAXHOST];                  /* the one that the address leads to */
	char aliases[HOST_ALIASES_MAX][NI_MAXHOST]; /* further ones, of /etc/hosts */
	unsigned naliases;
};

/* 0: the address has no name. */
int host_names_of(const struct ip_address *a, struct host_names *ret);

/* Whether the address is one of the name's. */
int host_has_address(const char *name, const struct ip_address *a);

/* Whether the host is a member; a name service that does not answer says no. */
bool host_in_netgroup(const char *netgroup, const char *host);
