/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Sends a session's changes to its client, as BROKER_NOTICE. Here is decided whether a notice may carry a name: only if
 * some credential that the client may claim may read the directory, after the squash, by the server's rule and by the
 * kernel's. Credentials that only an ACL names are not tried, and a client that may use its own ids only
 * (--claims=peer) gets no names: it learns that something has changed in the directory. The same is true for a change
 * of a file that the session was not told, in a directory that it was told.
 *
 * With the session's lock, and with other credentials of the calling thread meanwhile. No state of its own.
 */
#pragma once

#include "sidecar/broker/counters.h"
#include "sidecar/grant/locator.h"
#include "sidecar/notices/notices.h"

struct teller {
	struct listener *listener; /* NULL: nothing happens */
	struct locator *locator;
	struct wake wake; /* the thread's own: more changes wait than one call sends */
	int socket;
	bool claims_any;  /* AUTH_UNIX may say anything */
	uint64_t *number; /* of the last notice */
	struct counters *counters;
};

/* Sends the changes in the queue, one queue full at most. 0, or the negative errno of the socket. */
int tell_changes(const struct teller *t);
