/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "io/nfs3/nfs3_find.h"

#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#include "base/text.h"
#include "io/nfs3/nfs3.h"
#include "io/libnfs/nfs3_mount.h"

#define PORT_TIMEOUT_MS 5000

static int resolve(const char *host, const char *whose, int only, bool patient, struct addrinfo **ret, char *sentence,
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
		/* A name server may come back. But if a user waits for the mount, a mistyped name is more likely. */
		return r == EAI_AGAIN && patient ? -EAGAIN : -EINVAL;
	}
	/* libnfs would connect without the zone. */
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

/* Asks the mount daemon at each of its addresses in turn. */
static int ask_mountd(const struct server_options *o, unsigned timeout_ms, struct server_place *ret,
	struct nfs3_export *ret_export, char *sentence, size_t size)
{
	const char *host = o->mount_daemon.host ? o->mount_daemon.host : o->host;
	struct addrinfo *list;
	char why[256] = "";
	int r = resolve(host, o->mount_daemon.host ? "mount daemon" : "server", o->mount_daemon.family, o->patient,
		&list, sentence, size);

	if (r < 0)
		return r;
	r = -EHOSTUNREACH;
	for (const struct addrinfo *a = list; a && r < 0; a = a->ai_next) {
		struct nfs3_mount_options m = {.server = ret->mount_address,
			.export_path = o->export_path,
			.mount_port = o->mount_daemon.port,
			.timeout_ms = timeout_ms};

		if (!to_text(a, ret->mount_address, sizeof(ret->mount_address)))
			continue;
		r = nfs3_mount(&m, ret_export, why, sizeof(why));
		/* These errors are a decision of the server. */
		if (r == -EACCES || r == -ENOENT || r == -ENOTDIR)
			break;
	}
	freeaddrinfo(list);
	if (r < 0)
		(void)snprintf(sentence, size, "%s: %s", o->name, why[0] ? why : strerror(-r));
	return r;
}

/*
 * Sets the server's address: the address of the mount daemon that answered, or the first address of the server's name.
 */
static int find_server(const struct server_options *o, struct server_place *ret, char *sentence, size_t size)
{
	struct addrinfo *list;
	int r;

	(void)snprintf(ret->address, sizeof(ret->address), "%s", ret->mount_address);
	if (!o->mount_daemon.host && o->mount_daemon.family == o->family)
		return 0;
	r = resolve(o->host, "server", o->family, o->patient, &list, sentence, size);
	if (r < 0)
		return r;
	/* struct nfs3 tries the other addresses. */
	if (!to_text(list, ret->address, sizeof(ret->address)))
		r = -EHOSTUNREACH;
	freeaddrinfo(list);
	return r;
}

int nfs3_find(const struct server_options *o, unsigned timeout_ms, struct server_place *ret, char *sentence,
	size_t size)
{
	struct nfs3_export export;
	int r = ask_mountd(o, timeout_ms, ret, &export, sentence, size);

	if (r == 0)
		r = find_server(o, ret, sentence, size);
	if (r < 0)
		return r;
	if (!export.auth_unix) {
		(void)snprintf(sentence, size,
			"%s: the server does not offer sec=sys for this export, and localiofs speaks no other",
			o->name);
		return -EACCES;
	}
	ret->root = export.root;
	ret->port = o->port;
	if (o->port == 0 && nfs3_query_port(ret->address, PORT_TIMEOUT_MS, &ret->port) < 0)
		ret->port = NFS3_PORT;
	return 0;
}

void nfs3_leave(const struct server_options *o, const struct server_place *place, unsigned timeout_ms)
{
	struct nfs3_mount_options m = {.server = place->mount_address,
		.export_path = o->export_path,
		.mount_port = o->mount_daemon.port,
		.timeout_ms = timeout_ms};

	nfs3_unmount(&m);
}
