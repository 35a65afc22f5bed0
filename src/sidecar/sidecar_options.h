/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The command line of localiofs-sidecar: one table gives parsing and usage. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "sidecar/exports/server_kind.h"

struct sidecar_options {
	const struct server_kind *server; /* NULL: to be found out */
	const char *config;               /* NULL: the server's usual place */
	const char *registry;
	const char *user; /* the registry's: a name, or a number */
	uint16_t probeport;
	unsigned recheck_s; /* a client asks UUID_IS_LOCAL again within so many seconds */
	bool check;
	bool debug;
};

/* 0 to go on, 1 when all is said (-h, -V), -EINVAL after a message on stderr. */
int sidecar_options_parse(int argc, char **argv, struct sidecar_options *ret);

/* The ids of the registry's user; -ENOENT after a message on stderr. uid 0 is every container's root and no answer. */
int sidecar_options_user(const struct sidecar_options *o, uid_t *ret_uid, gid_t *ret_gid);
