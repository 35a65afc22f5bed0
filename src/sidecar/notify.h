/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Tells the service manager how we are: sd_notify(3)'s protocol, one datagram to $NOTIFY_SOCKET. */
#pragma once

/* state: "READY=1" and such. Without a service manager: nothing, 0. */
int notify_send(const char *state);
