/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sidecar/sidecar_options.h"

#include <getopt.h>
#include <jansson.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>

#include "localiofs/local_rpc.h"
#include "localiofs/sidecar_control.h"
#include "base/log.h"
#include "base/text.h"
#include "base/util.h"
#include "sidecar/server_kinds.h"

#define STRING2(x) #x
#define STRING(x)  STRING2(x)

#define DEFAULT_USER  "localiofs"
#define CLAIMS        ",claims="
#define RECHECK_S     900
#define RECHECK_MIN_S 3
#define RECHECK_MAX_S 86400

enum {
	OPT_SERVER = 256,
	OPT_CONFIG,
	OPT_REGISTRY,
	OPT_CLAIMS,
	OPT_USER,
	OPT_PROBEPORT,
	OPT_RECHECK,
	OPT_CONTROL,
	OPT_METRICS,
	OPT_CHECK
};

static const struct {
	const char *name;
	const char *argument; /* NULL: the option takes no value */
	int key;              /* the letter of the short form; or a number above all letters */
	const char *help;
} table[] = {
	{"server", "auto|knfsd|ganesha", OPT_SERVER, "the kind of NFS server (default auto)"},
	{"config", "FILE", OPT_CONFIG, "the server's exports (default /var/lib/nfs/etab or /etc/ganesha/ganesha.conf)"},
	{"registry", "DIR", OPT_REGISTRY,
		"the registry, on tmpfs (default " REGISTRY_DEFAULT "); may be repeated, DIR,claims=WHOSE"},
	{"claims", "any|peer", OPT_CLAIMS, "the ids that a client may use; peer: its own mapped ids (default any)"},
	{"user", "NAME", OPT_USER, "the owner of the registry, a user without other tasks (default " DEFAULT_USER ")"},
	{"probeport", "PORT", OPT_PROBEPORT, "answer probes on this TCP port (default " STRING(LOCAL_RPC_PORT) ")"},
	{"recheck", "SECONDS", OPT_RECHECK,
		"end a session without a new probe after so long (default " STRING(RECHECK_S) ")"},
	{"control", "PATH", OPT_CONTROL,
		"the socket for localioctl sidecar, or none (default " SIDECAR_CONTROL_DEFAULT ")"},
	{"metrics", "PATH", OPT_METRICS,
		"offer metrics on a unix socket, or in a file if PATH ends with .prom (default: nowhere)"},
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

		(void)snprintf(left, sizeof(left), "--%s%s%s", table[i].name, table[i].argument != NULL ? "=" : "",
			table[i].argument != NULL ? table[i].argument : "");
		if (table[i].key < OPT_SERVER)
			printf("  -%c, %-28s %s\n", table[i].key, left, table[i].help);
		else
			printf("      %-28s %s\n", left, table[i].help);
	}
}

static int take_claims(const char *where, const char *value, bool *ret_of_peer)
{
	*ret_of_peer = strcmp(value, "peer") == 0;
	if (*ret_of_peer || strcmp(value, "any") == 0)
		return 0;
	log_error("%s%s: any or peer was expected", where, value);
	return -EINVAL;
}

/* DIR or DIR,claims=WHOSE. A registry that says nothing gets the value of --claims after all options. */
static int add_registry(const char *argument, struct sidecar_options *o)
{
	const char *claims = strstr(argument, CLAIMS);
	size_t length = claims != NULL ? (size_t)(claims - argument) : strlen(argument);
	struct sidecar_registry *r = &o->registries[o->nregistries];

	if (o->nregistries == SIDECAR_REGISTRIES) {
		log_error("--registry=%s: is one more than the %d registries that a sidecar can have", argument,
			SIDECAR_REGISTRIES);
		return -EINVAL;
	}
	if (argument[0] != '/' || length >= REGISTRY_MAX_PATH) {
		log_error("--registry=%s: an absolute path shorter than %d bytes was expected", argument,
			REGISTRY_MAX_PATH);
		return -EINVAL;
	}
	memcpy(r->path, argument, length);
	r->path[length] = '\0';
	for (unsigned n = 0; n < o->nregistries; n++)
		if (strcmp(o->registries[n].path, r->path) == 0) {
			log_error("--registry=%s: was given twice", r->path);
			return -EINVAL;
		}
	r->says_claims = claims != NULL;
	o->nregistries++;
	return claims != NULL ? take_claims("--registry=DIR" CLAIMS, claims + strlen(CLAIMS), &r->claims_of_peer) : 0;
}

static int take_path(const char *where, const char *value, bool or_none, const char **ret)
{
	if (value[0] != '/' && !(or_none && strcmp(value, "none") == 0)) {
		log_error("%s%s: an absolute path%s was expected", where, value, or_none ? " or none" : "");
		return -EINVAL;
	}
	*ret = value;
	return 0;
}

static int apply(int key, const char *argument, struct sidecar_options *o)
{
	uint64_t port, seconds;

	switch (key) {
	case OPT_SERVER:
		o->server = server_kinds_named(argument);
		if (o->server == NULL && strcmp(argument, "auto") != 0) {
			log_error("--server=%s: knfsd, ganesha or auto was expected", argument);
			return -EINVAL;
		}
		return 0;
	case OPT_CONFIG:
		o->config = argument;
		return 0;
	case OPT_REGISTRY:
		return add_registry(argument, o);
	case OPT_CLAIMS:
		return take_claims("--claims=", argument, &o->claims_of_peer);
	case OPT_PROBEPORT:
		if (parse_u64(argument, 1, UINT16_MAX, &port) < 0) {
			log_error("--probeport=%s: a port in 1..65535 was expected", argument);
			return -EINVAL;
		}
		o->probeport = (uint16_t)port;
		return 0;
	case OPT_USER:
		o->user = argument;
		return 0;
	case OPT_RECHECK:
		if (parse_u64(argument, RECHECK_MIN_S, RECHECK_MAX_S, &seconds) < 0) {
			log_error("--recheck=%s: a number of seconds in %d..%d was expected", argument, RECHECK_MIN_S,
				RECHECK_MAX_S);
			return -EINVAL;
		}
		o->recheck_s = (unsigned)seconds;
		return 0;
	case OPT_CONTROL:
		return take_path("--control=", argument, true, &o->control);
	case OPT_METRICS:
		return take_path("--metrics=", argument, false, &o->metrics);
	case OPT_CHECK:
		o->check = true;
		return 0;
	case 'd':
		o->debug = true;
		return 0;
	case 'V':
		printf("localiofs-sidecar " LOCALIOFS_VERSION "\njansson %s\nlibcap-ng " BUILT_WITH_LIBCAP_NG
		       " (when built)\nlibacl " BUILT_WITH_LIBACL " (when built)\n",
			jansson_version_str());
		return 1;
	case 'h':
		usage();
		return 1;
	default:
		return -EINVAL;
	}
}

/* Replaces getopt's own messages, which do not say what was expected. */
static int refuse(int key, char **argv)
{
	const char *word = argv[optind - 1];

	if (key == ':')
		log_error("%s: a value was expected (--help lists the options)", word);
	else
		log_error("%s: there is no such option, or it takes no value (--help lists the options)", word);
	return -EINVAL;
}

int sidecar_options_parse(int argc, char **argv, struct sidecar_options *ret)
{
	struct sidecar_options o = {.user = DEFAULT_USER, .probeport = LOCAL_RPC_PORT, .recheck_s = RECHECK_S};
	struct option longs[ARRAY_SIZE(table) + 1] = {0};
	char shorts[ARRAY_SIZE(table) + 2] = ":"; /* getopt prints nothing, and returns ':' for a missing value */
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
	if (o.nregistries == 0)
		(void)add_registry(REGISTRY_DEFAULT, &o);
	for (unsigned n = 0; n < o.nregistries; n++)
		if (!o.registries[n].says_claims)
			o.registries[n].claims_of_peer = o.claims_of_peer;
	*ret = o;
	return 0;
}

int sidecar_options_user(const struct sidecar_options *o, uid_t *ret_uid, gid_t *ret_gid)
{
	const struct passwd *user = getpwnam(o->user);
	uint64_t id = user != NULL ? user->pw_uid : 0;

	if (user == NULL && parse_u64(o->user, 0, UINT32_MAX - 1, &id) < 0) {
		log_error("--user=%s: there is no such user; systemd-sysusers(8) makes it, or name another or a free "
			  "uid",
			o->user);
		return -ENOENT;
	}
	if (id == 0) {
		log_error("--user=%s: is uid 0, which the root of any container may be; a user of its own was expected",
			o->user);
		return -EINVAL;
	}
	*ret_uid = (uid_t)id;
	*ret_gid = user != NULL ? user->pw_gid : (gid_t)id;
	return 0;
}
