/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The command line of localiofs-sidecar: one table for parsing and usage. struct sidecar_options is a value. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "localiofs/local_rpc.h"
#include "sidecar/exports/server_kind.h"

#define SIDECAR_REGISTRIES 64

struct sidecar_options {
	const struct server_kind *server; /* NULL: main finds it out */
	const char *config;               /* NULL: the server's default file */
	struct sidecar_registry {
		char path[REGISTRY_MAX_PATH];
		bool claims_of_peer; /* claims=peer */
		bool says_claims;    /* the registry's own value, not that of --claims */
	} registries[SIDECAR_REGISTRIES];
	unsigned nregistries; /* at least 1 */
	bool claims_of_peer;  /* of registries that say nothing themselves */
	const char *user;     /* the registry's owner: a name, or a number */
	const char *control;  /* the path of the control socket, or "none"; NULL: the default, if it can be made */
	const char *metrics;  /* the path for metrics; NULL: none */
	uint16_t probeport;
	unsigned recheck_s; /* a session ends if its last UUID_IS_LOCAL is older than so many seconds */
	bool check;
	bool debug;
};

/* 0; 1 after -h or -V, when the program is to end; -EINVAL after a message in the log. */
int sidecar_options_parse(int argc, char **argv, struct sidecar_options *ret);

/* The ids of the registry's user. -ENOENT or, for uid 0, -EINVAL, after a message in the log. */
int sidecar_options_user(const struct sidecar_options *o, uid_t *ret_uid, gid_t *ret_gid);
