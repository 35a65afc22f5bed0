/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The registry directory: what makes it worth trusting. Both ends open it through here.
 *
 * /dev/shm is open to everyone, so anyone could have made the directory first. It is trusted only
 * when it lies on tmpfs (so it belongs to this boot of this kernel), is root's and writable by
 * nobody else, and when nonces/ in it is root's directory of mode 1733. What follows is done
 * relative to the descriptors, never by path again.
 *
 * Functions return a descriptor or a negative errno, and then *fault says why: the reason that
 * travels and is shown, and a sentence with the path, what was found and what would be right.
 * No state; safe from any thread.
 */
#pragma once

#include <sys/socket.h>
#include <sys/types.h>
#include <sys/un.h>

#include "localiofs/reason.h"

struct registry_fault {
	enum reason reason;
	char text[256];
};

/* O_PATH descriptor of the registry; -ENOENT REASON_NO_REGISTRY, else REASON_BAD_REGISTRY. */
int registry_open(const char *path, struct registry_fault *fault);

/* The sidecar's: makes what is missing (0755, nonces/ 1733, root's), then registry_open(). */
int registry_make(const char *path, struct registry_fault *fault);

/* O_PATH descriptor of nonces/, for openat() and unlinkat(); registry from registry_open(). */
int registry_open_nonces(int registry, struct registry_fault *fault);

/*
 * The address to connect() to: broker.sock of this very directory, after a check that it is a
 * socket and root's. 0, or -ENOENT REASON_NO_BROKER, else REASON_BAD_BROKER. The peer's credentials
 * (SO_PEERCRED) are to be compared with registry_root_uid() once connected.
 */
int registry_broker_address(int registry, struct sockaddr_un *ret, struct registry_fault *fault);

/* The same address with no check, for the sidecar that is about to bind it. */
void registry_socket_address(int registry, struct sockaddr_un *ret);

/*
 * The uid by which we see the owner of root's files: 0, or in a user namespace the uid that the
 * parent's 0 has here, or, when it has none, the overflow uid. (A uid_map shows the parent only: a
 * namespace nested in one without root takes that one's 0 for root.)
 */
uid_t registry_root_uid(void);

/* Its rule, for tests: the text of /proc/self/uid_map, and the overflow uid. */
uid_t registry_root_uid_of(const char *uid_map, uid_t overflow);
