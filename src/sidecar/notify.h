/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Tells the service manager the sidecar's state: the protocol of sd_notify(3), datagrams to $NOTIFY_SOCKET. The
 * functions have no state, and any thread may call them; struct notify_status belongs to the main thread.
 */
#pragma once

#include <stdint.h>

#define NOTIFY_STATUS_MAX 256  /* bytes of a status, with its NUL */
#define NOTIFY_STATUS_MS  1000 /* between two of them */

/* The last status that was sent; zeros at first. */
struct notify_status {
	char sent[NOTIFY_STATUS_MAX];
	uint64_t sent_ms;
};

/* state: "READY=1", for example. 0, also without a service manager; or a negative errno. */
int notify_send(const char *state);
/* The sidecar reads its configuration again; READY=1 follows. As notify_send(). */
int notify_reloading(void);
/*
 * Sends a status, which systemctl(1) shows, if it is another than the last. -1; or the milliseconds after which the
 * caller is to call again, since the last change was just now.
 */
int notify_status(struct notify_status *n, const char *text);
