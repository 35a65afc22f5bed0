/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sidecar/server_kinds.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "sidecar/ganesha/ganesha.h"
#include "sidecar/host/nfs_server.h"
#include "sidecar/knfsd/knfsd.h"

static const struct server_kind *const kinds[] = {&server_knfsd, &server_ganesha};

const struct server_kind *server_kinds_named(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
		if (strcmp(kinds[i]->name, name) == 0)
			return kinds[i];
	return NULL;
}

/* The kind of server whose default configuration file has the same name. */
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

const struct server_kind *server_kinds_find(const char *config, struct conf_error *error)
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
	/* The kernel's server reports that it does not run, so the listener on its port is Ganesha. */
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
