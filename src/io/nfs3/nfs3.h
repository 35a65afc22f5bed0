/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * NFSv3 over TCP on libnfs's raw interface, as a version of io/server.h.
 *
 * One loop thread (nfs3_loop.h) serves up to SERVER_CONNECTIONS_MAX connections. The thread that submits a call also
 * sends it. libnfs's contexts are not thread-safe: one thread at a time has the turn to use them. A call goes to the
 * connection that has the fewest calls, and stays there (io/libnfs/connection.h). The first connection leads: while no
 * connection is up, the first alone tries to reach the server, with backoff, at the addresses of the server's name in
 * turn.
 *
 * Timeouts are those of nfs(5) for TCP: a call without an answer after timeo is sent again, with the same bytes, then
 * after timeo more each time. After timeo * (retrans + 1) a soft mount fails the call, and a hard mount logs a message
 * once. When the server has answered nothing at all in that time, the connection is made anew. A call that is answered
 * with JUKEBOX is sent again after NFS3_JUKEBOX_MS (fs/nfs/nfs3proc.c NFS_JUKEBOX_RETRY_TIME).
 *
 * io/libnfs/nfs3_codec.h translates between struct nfs_call and libnfs's structures.
 */
#pragma once

#include "io/server.h"

#define NFS3_PORT           2049
#define NFS3_JUKEBOX_MS     5000
#define NFS3_TIMEOUT_MAX_MS 600000 /* NFS_MAX_TCP_TIMEOUT */

extern const struct server_version nfs3_version;
