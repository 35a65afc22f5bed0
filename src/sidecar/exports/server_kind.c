/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sidecar/exports/server_kind.h"

#include "base/clock.h"
#include "sidecar/host/nfs_server.h"

#define STATE_FOR_MS 1000

bool server_kind_serves(const struct export_table *t)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	static const struct server_kind *server;
	static uint16_t port; /* Ganesha's, as its table says */
	static uint64_t asked_ms;
	static bool serves;
	struct nfs_listener listeners[NFS_SERVER_MAX_LISTENERS];

	LOCKED(&lock);
	if (server != t->server || port != t->nfs_port || time_since(asked_ms, work_ms()) >= STATE_FOR_MS) {
		serves = t->server->serves() != 0 && nfs_server_listeners(t->server->port(t), listeners) > 0;
		server = t->server;
		port = t->nfs_port;
		asked_ms = now_ms();
	}
	return serves;
}
