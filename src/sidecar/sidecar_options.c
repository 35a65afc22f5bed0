/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sidecar/sidecar_options.h"

#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "localiofs/local_rpc.h"
#include "log.h"
#include "util.h"

#define STRING2(x)     #x
#define STRING(x)      STRING2(x)

enum { OPT_SERVER = 256, OPT_CONFIG, OPT_REGISTRY, OPT_PROBEPORT, OPT_CHECK };

static const struct {
	const char *name;
	const char *argument; /* NULL: takes none */
	int key;              /* a letter: the short form too */
	const char *help;
} table[] = {
	{"server", "KIND", OPT_SERVER,
		"the NFS server beside us: knfsd, ganesha or auto (default: find out)"},
	{"config", "FILE", OPT_CONFIG,
		"its exports (default /var/lib/nfs/etab or /etc/ganesha/ganesha.conf)"},
	{"registry", "DIR", OPT_REGISTRY, "the registry, on tmpfs (default " REGISTRY_DEFAULT ")"},
	{"probeport", "PORT", OPT_PROBEPORT,
		"answer probes on this TCP port (default " STRING(LOCAL_RPC_PORT) ")"},
	{"check", NULL, OPT_CHECK, "print the exports as understood and exit"},
	{"debug", NULL, 'd', "log more"},
	{"version", NULL, 'V', "print the version and exit"},
	{"help", NULL, 'h', "print this and exit"},
};

static void usage(void)
{
	printf("Usage: localiofs-sidecar [OPTION]...\n"
	       "Lets localiofs mounts on this host use the files of its NFS server directly.\n\n");
	for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
		char left[40];

		(void)snprintf(left, sizeof(left), "--%s%s%s", table[i].name,
			table[i].argument != NULL ? "=" : "",
			table[i].argument != NULL ? table[i].argument : "");
		if (table[i].key < OPT_SERVER)
			printf("  -%c, %-20s %s\n", table[i].key, left, table[i].help);
		else
			printf("      %-20s %s\n", left, table[i].help);
	}
}

static int apply(int key, const char *argument, struct sidecar_options *o)
{
	uint64_t port;

	switch (key) {
	case OPT_SERVER:
		o->server = server_kind_named(argument);
		if (o->server == NULL && strcmp(argument, "auto") != 0) {
			log_error("--server=%s: knfsd, ganesha or auto was expected", argument);
			return -EINVAL;
		}
		return 0;
	case OPT_CONFIG:
		o->config = argument;
		return 0;
	case OPT_REGISTRY:
		if (argument[0] != '/' || strlen(argument) >= REGISTRY_MAX_PATH) {
			log_error("--registry=%s: an absolute path shorter than %d bytes was expected",
				argument, REGISTRY_MAX_PATH);
			return -EINVAL;
		}
		o->registry = argument;
		return 0;
	case OPT_PROBEPORT:
		if (parse_u64(argument, 1, UINT16_MAX, &port) < 0) {
			log_error("--probeport=%s: a port in 1..65535 was expected", argument);
			return -EINVAL;
		}
		o->probeport = (uint16_t)port;
		return 0;
	case OPT_CHECK:
		o->check = true;
		return 0;
	case 'd':
		o->debug = true;
		return 0;
	case 'V':
		printf("localiofs-sidecar " LOCALIOFS_VERSION "\n");
		return 1;
	case 'h':
		usage();
		return 1;
	default:
		return -EINVAL;
	}
}

/* getopt's own sentences do not say what would be right. */
static int refuse(int key, char **argv)
{
	const char *word = argv[optind - 1];

	if (key == ':')
		log_error("%s: a value was expected (--help lists the options)", word);
	else
		log_error("%s: there is no such option, or it takes no value (--help lists the options)",
			word);
	return -EINVAL;
}

int sidecar_options_parse(int argc, char **argv, struct sidecar_options *ret)
{
	struct sidecar_options o = {.registry = REGISTRY_DEFAULT, .probeport = LOCAL_RPC_PORT};
	struct option longs[ARRAY_SIZE(table) + 1] = {0};
	char shorts[ARRAY_SIZE(table) + 2] = ":"; /* getopt says nothing, and tells what is missing */
	size_t nshorts = 1;
	int key, r;

	for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
		longs[i] = (struct option){.name = table[i].name,
			.has_arg = table[i].argument != NULL ? required_argument : no_argument,
			.val = table[i].key};
		if (table[i].key < OPT_SERVER)
			shorts[nshorts++] = (char)table[i].key;
	}
	while ((key = getopt_long(argc, argv, shorts, longs, NULL)) != -1) {
		r = key == '?' || key == ':' ? refuse(key, argv) : apply(key, optarg, &o);
		if (r != 0)
			return r;
	}
	if (optind < argc) {
		log_error("%s: takes no arguments, only options (--help)", argv[optind]);
		return -EINVAL;
	}
	*ret = o;
	return 0;
}
