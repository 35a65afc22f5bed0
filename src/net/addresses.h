/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The addresses of the server's name. The caller tries them in turn. When no address has answered, a thread resolves
 * the name again, because this may take long, and the next round tries the new addresses.
 *
 * The loop thread of struct server (io/server.h) owns the struct and makes all calls.
 */
#pragma once

#include <sys/socket.h>

#include "base/util.h"

#define ADDRESSES_MAX 8

struct resolver;

struct addresses {
	char *host; /* NULL: the address is never resolved again */
	unsigned port;
	int family; /* of the addresses that a resolution finds; AF_UNSPEC: any */
	struct sockaddr_storage list[ADDRESSES_MAX];
	size_t count, current;
	struct resolver *resolver; /* NULL while no resolution runs */
};

/*
 * Begins with one numeric address. host is a name, a numeric address or NULL, and is copied. 0, -ENOMEM, or -EINVAL if
 * numeric is no IP address.
 */
int addresses_init(struct addresses *a, const char *host, const char *numeric, unsigned port, int family);

/* Does not wait for a resolution that still runs: its thread frees the rest. */
void addresses_done(struct addresses *a);

/* The address to try now. If a resolution has finished, its addresses replace the old ones first. */
const struct sockaddr_storage *addresses_current(struct addresses *a);

/*
 * Goes on to the next address, because the current one has not answered. After the last address of a round it starts a
 * resolution and returns true.
 */
bool addresses_failed(struct addresses *a);

/* Moves the current address to the front, because it has answered. */
void addresses_answered(struct addresses *a);
