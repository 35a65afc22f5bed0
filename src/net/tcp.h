/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * TCP connections to a server: the choice of the source port, and a connect(2) that does not wait. Any thread may call;
 * the descriptors belong to the caller.
 */
#pragma once

#include <sys/socket.h>

#include "base/util.h"

void address_set_port(struct sockaddr_storage *address, unsigned port);
unsigned address_port(const struct sockaddr_storage *address);

/*
 * Begins to connect. Returns a non-blocking descriptor, which becomes writable when the connection attempt has ended,
 * or a negative errno.
 *
 * *port is the source port of an earlier connection to the same server, or 0. The new connection uses it again if
 * possible. Otherwise it uses a port below 1024 if reserved is set and the process has the right to, or else any port.
 * *port becomes the source port of the new connection.
 */
int tcp_open(const struct sockaddr_storage *to, bool reserved, unsigned *port);

/* The result of the connection attempt: 0 if the connection is established, or a negative errno. */
int tcp_opened(int fd);

/* While held, the socket sends no segment that is not full (TCP_CORK): small messages leave together at the end. */
void tcp_hold(int fd, bool held);

/*
 * Makes close(2) send a reset to the peer and leave no connection in TIME_WAIT, so that the source port is free for the
 * next connection immediately.
 */
void tcp_reset_on_close(int fd);

/*
 * Makes the connection fail if the peer has disappeared without closing it, with keepalive for an idle connection and
 * TCP_USER_TIMEOUT for unacknowledged data.
 */
void tcp_notice_dead_peer(int fd);
