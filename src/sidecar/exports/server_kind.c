/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sidecar/exports/server_kind.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "sidecar/host/nfs_server.h"

#define STATE_FOR_MS 1000

static const struct server_kind *const kinds[] = {&server_knfsd, &server_ganesha};

const struct server_kind *server_kind_named(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
		if (strcmp(kinds[i]->name, name) == 0)
			return kinds[i];
	return NULL;
}

/* By the name of its configuration file. */
static const struct server_kind *kind_of_config(const char *config, struct conf_error *error)
{
	const char *slash = strrchr(config, '/'), *name = slash != NULL ? slash + 1 : config;

	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
		if (strcmp(strrchr(kinds[i]->default_config, '/') + 1, name) == 0)
			return kinds[i];
	(void)snprintf(error->text, sizeof(error->text),
		"--config=%s: its name does not tell the server's kind: say --server=%s or --server=%s, too", config,
		kinds[0]->name, kinds[1]->name);
	return NULL;
}

const struct server_kind *server_kind_find(const char *config, struct conf_error *error)
{
	bool knfsd = access(server_knfsd.default_config, R_OK) == 0,
	     ganesha = access(server_ganesha.default_config, R_OK) == 0;
	struct nfs_listener listeners[NFS_SERVER_MAX_LISTENERS];

	if (server_knfsd.serves() > 0)
		return &server_knfsd;
	if (config != NULL)
		return kind_of_config(config, error);
	if (knfsd != ganesha)
		return knfsd ? &server_knfsd : &server_ganesha;
	/* The kernel's server says itself whether it runs: who listens in its place is the other. */
	if (knfsd && server_knfsd.serves() == 0 && nfs_server_listeners(NFS_DEFAULT_PORT, listeners) > 0)
		return &server_ganesha;
	(void)snprintf(error->text, sizeof(error->text),
		knfsd ? "no NFS server runs here, and %s (%s) and %s (%s) are both there: say --server=knfsd or "
			"--server=ganesha"
		      : "no NFS server is here: neither %s (%s) nor %s (%s) can be read; --server= and --config= name "
			"another place",
		server_knfsd.default_config, server_knfsd.title, server_ganesha.default_config, server_ganesha.title);
	return NULL;
}

bool server_kind_serves(const struct export_table *t)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	static const struct server_kind *server;
	static uint16_t port; /* Ganesha's, as its table says */
	static uint64_t asked_ms;
	static bool serves;
	struct nfs_listener listeners[NFS_SERVER_MAX_LISTENERS];

	LOCKED(&lock);
	if (server != t->server || port != t->nfs_port || now_ms() - asked_ms >= STATE_FOR_MS) {
		serves = t->server->serves() != 0 && nfs_server_listeners(t->server->port(t), listeners) > 0;
		server = t->server;
		port = t->nfs_port;
		asked_ms = now_ms();
	}
	return serves;
}
