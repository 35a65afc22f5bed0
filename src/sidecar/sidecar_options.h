/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The command line of localiofs-sidecar: one table gives parsing and usage. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "sidecar/server_kind.h"

struct sidecar_options {
	const struct server_kind *server; /* NULL: to be found out */
	const char *config;               /* NULL: the server's usual place */
	const char *registry;
	uint16_t probeport;
	bool check;
	bool debug;
};

/* 0 to go on, 1 when all is said (-h, -V), -EINVAL after a message on stderr. */
int sidecar_options_parse(int argc, char **argv, struct sidecar_options *ret);
