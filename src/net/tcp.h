/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* TCP sockets towards a server: where they come from, and how they are opened without waiting. */
#pragma once

#include <sys/socket.h>

#include "base/util.h"

void address_set_port(struct sockaddr_storage *address, unsigned port);
unsigned address_port(const struct sockaddr_storage *address);

/*
 * Begins to connect; the descriptor, which is non-blocking, is writable when that has ended.
 *
 * *port is the source port of an earlier connection to the same server, or 0, and becomes that of
 * this one: it is taken again where that is possible. Otherwise one below 1024 when reserved is set
 * and this process may, and any other when it may not.
 */
int tcp_open(const struct sockaddr_storage *to, bool reserved, unsigned *port);

/* What became of it: 0 once it stands, or why it does not. */
int tcp_opened(int fd);

/*
 * When it is closed the peer is told so by a reset and nothing lingers here, so that the source
 * port is free for the next connection at once.
 */
void tcp_reset_on_close(int fd);

/* A peer that is gone without a word is noticed, whether something is sent or not. */
void tcp_notice_dead_peer(int fd);
