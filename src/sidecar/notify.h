/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Tells the service manager the sidecar's state: the protocol of sd_notify(3), one datagram to $NOTIFY_SOCKET. No
 * state; any thread.
 */
#pragma once

/* state: "READY=1", for example. 0, also without a service manager; or a negative errno. */
int notify_send(const char *state);
