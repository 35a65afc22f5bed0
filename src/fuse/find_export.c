/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "fuse/find_export.h"

#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "base/text.h"

static int family(unsigned protocol)
{
	switch (protocol) {
	case PROTOCOL_TCP:
		return AF_INET;
	case PROTOCOL_TCP6:
		return AF_INET6;
	default:
		return AF_UNSPEC;
	}
}

int find_export_family(const struct mount_options *o)
{
	return family(o->proto);
}

/* Without a word of its own the mount daemon is asked like the server; another host is another matter. */
static int mount_family(const struct mount_options *o)
{
	return family(o->mountproto == PROTOCOL_ANY && !o->mounthost[0] ? o->proto : o->mountproto);
}

static int resolve(const char *host, const char *whose, int only, bool bg, struct addrinfo **ret, char *sentence,
	size_t size)
{
	struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_family = only};
	int r = getaddrinfo(host, NULL, &hints, ret);

	if (r != 0) {
		(void)snprintf(sentence, size, SHORT ": cannot resolve the %s's name%s: %s", SHORTEN(host, 90), whose,
			only == AF_INET    ? " for IPv4, which tcp means (tcp6: IPv6)"
			: only == AF_INET6 ? " for IPv6, which tcp6 means"
					   : "",
			gai_strerror(r));
		/* No name server may pass, but who waits for the mount has rather mistyped the name. */
		return r == EAI_AGAIN && bg ? -EAGAIN : -EINVAL;
	}
	/* libnfs drops it on the way to connect(2). */
	if ((*ret)->ai_family == AF_INET6 && ((struct sockaddr_in6 *)(*ret)->ai_addr)->sin6_scope_id != 0) {
		(void)snprintf(sentence, size,
			SHORT ": libnfs cannot reach an address with a zone (%%...); give a global address",
			SHORTEN(host, 90));
		freeaddrinfo(*ret);
		return -EINVAL;
	}
	return 0;
}

static bool to_text(const struct addrinfo *a, char *buf, size_t size)
{
	return getnameinfo(a->ai_addr, a->ai_addrlen, buf, (socklen_t)size, NULL, 0, NI_NUMERICHOST) == 0;
}

/* Asks the mount daemon at each address in turn. */
static int ask_mountd(const struct mount_options *o, const struct mount_spec *spec, const char *name,
	unsigned timeout_ms, struct found_export *ret, char *sentence, size_t size)
{
	const char *host = o->mounthost[0] ? o->mounthost : spec->host;
	struct addrinfo *list;
	char why[256] = "";
	int r = resolve(host, o->mounthost[0] ? "mount daemon" : "server", mount_family(o), o->bg, &list, sentence,
		size);

	if (r < 0)
		return r;
	r = -EHOSTUNREACH;
	for (const struct addrinfo *a = list; a && r < 0; a = a->ai_next) {
		struct nfs3_mount_options m = {.server = ret->mount_address,
			.export_path = spec->path,
			.mount_port = o->mountport,
			.timeout_ms = timeout_ms};

		if (!to_text(a, ret->mount_address, sizeof(ret->mount_address)))
			continue;
		r = nfs3_mount(&m, &ret->export, why, sizeof(why));
		/* A server that answered has decided. */
		if (r == -EACCES || r == -ENOENT || r == -ENOTDIR)
			break;
	}
	freeaddrinfo(list);
	if (r < 0)
		(void)snprintf(sentence, size, "%s: %s", name, why[0] ? why : strerror(-r));
	return r;
}

/* The address that answered for the mount, or the first that is the server's. */
static int find_server(const struct mount_options *o, const struct mount_spec *spec, struct found_export *ret,
	char *sentence, size_t size)
{
	struct addrinfo *list;
	int r;

	(void)snprintf(ret->server_address, sizeof(ret->server_address), "%s", ret->mount_address);
	if (!o->mounthost[0] && mount_family(o) == family(o->proto))
		return 0;
	r = resolve(spec->host, "server", family(o->proto), o->bg, &list, sentence, size);
	if (r < 0)
		return r;
	/* struct server tries the others. */
	if (!to_text(list, ret->server_address, sizeof(ret->server_address)))
		r = -EHOSTUNREACH;
	freeaddrinfo(list);
	return r;
}

int find_export(const struct mount_options *o, const struct mount_spec *spec, const char *name, unsigned timeout_ms,
	struct found_export *ret, char *sentence, size_t size)
{
	int r = ask_mountd(o, spec, name, timeout_ms, ret, sentence, size);

	if (r == 0)
		r = find_server(o, spec, ret, sentence, size);
	if (r < 0)
		return r;
	if (!ret->export.auth_unix) {
		(void)snprintf(sentence, size,
			"%s: the server does not offer sec=sys for this export, and localiofs speaks no other", name);
		return -EACCES;
	}
	ret->server_port = o->port;
	if (o->port == 0 && nfs3_query_port(ret->server_address, 5000, &ret->server_port) < 0)
		ret->server_port = NFS3_PORT;
	return 0;
}
