/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Where the server is: the addresses of its name, tried in turn. When none of them answers the name
 * is resolved again, on a thread of its own since that may take long, and the next round goes
 * through what came out. The transport's loop thread owns it.
 */
#pragma once

#include <sys/socket.h>

#include "base/util.h"

#define ADDRESSES_MAX 8

struct resolver;

struct addresses {
	char *host; /* NULL: never resolved again */
	unsigned port;
	int family;
	struct sockaddr_storage list[ADDRESSES_MAX];
	size_t count, current;
	struct resolver *resolver; /* NULL while none is under way */
};

/*
 * Starts with one numeric address. host may be a name, numeric too, or NULL; it is copied.
 * -EINVAL when the address is none. family is what resolving is limited to, or AF_UNSPEC.
 */
int addresses_init(struct addresses *a, const char *host, const char *numeric, unsigned port, int family);
/* Leaves a resolver that is still under way to itself. */
void addresses_done(struct addresses *a);

/* The one to try now. Takes over what a resolver has found by now. */
const struct sockaddr_storage *addresses_current(struct addresses *a);

/* The current one did not answer. True when that was the last: a round is over. */
bool addresses_failed(struct addresses *a);

/* The current one answers: the next round begins with it. */
void addresses_answered(struct addresses *a);
