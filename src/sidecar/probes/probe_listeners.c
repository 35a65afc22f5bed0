/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sidecar/probes/probe_listeners.h"

#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>

#include "base/log.h"
#include "base/text.h"

#define BACKLOG            4096 /* net.core.somaxconn may be less */
#define FIRST_INHERITED_FD 3    /* sd_listen_fds(3), SD_LISTEN_FDS_START */

/* ---- sockets from systemd ---- */

/* The number of descriptors that systemd passed to this process. */
static unsigned passed_fds(void)
{
	const char *pid = getenv("LISTEN_PID"), *fds = getenv("LISTEN_FDS");
	uint64_t value;

	if (pid == NULL || fds == NULL || parse_u64(pid, 1, INT32_MAX, &value) < 0 || (pid_t)value != getpid() ||
		parse_u64(fds, 0, NFS_SERVER_MAX_LISTENERS, &value) < 0)
		return 0;
	return (unsigned)value;
}

/* The port of a listening TCP socket; 0 for another descriptor. */
static uint16_t listening_port(int fd)
{
	struct sockaddr_storage at;
	struct ip_address address;
	socklen_t len = sizeof(at), size = sizeof(int);
	uint16_t port = 0;
	int listens = 0, type = 0;

	if (getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) < 0 || listens == 0 ||
		getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size) < 0 || type != SOCK_STREAM ||
		getsockname(fd, (struct sockaddr *)&at, &len) < 0)
		return 0;
	return ip_address_from_sockaddr(&at, &address, &port) < 0 ? 0 : port;
}

void probe_listeners_init(struct probe_listeners *l, uint16_t wanted)
{
	unsigned passed = passed_fds();

	*l = (struct probe_listeners){.wanted = wanted};
	for (unsigned i = 0; i < passed; i++) {
		int fd = (int)(FIRST_INHERITED_FD + i), flags = fcntl(fd, F_GETFL);
		uint16_t port = listening_port(fd);

		if (port == 0 || (l->count > 0 && port != l->wanted)) {
			log_warning("descriptor %d from systemd is ignored: a listening TCP socket%s was expected", fd,
				port != 0 ? " on the port of the first one" : "");
			continue;
		}
		(void)fcntl(fd, F_SETFD, FD_CLOEXEC);
		(void)fcntl(fd, F_SETFL, flags | O_NONBLOCK);
		l->wanted = port;
		l->inherited = true;
		l->list[l->count++].fd = fd;
	}
}

void probe_listeners_done(struct probe_listeners *l)
{
	while (l->count > 0)
		(void)close_fd(l->list[--l->count].fd);
}

/* ---- the sidecar's own sockets ---- */

static bool same_listener(const struct nfs_listener *a, const struct nfs_listener *b)
{
	return a->ipv4 == b->ipv4 && a->v6only == b->v6only && ip_address_equal(&a->address, &b->address);
}

static int listen_at(const struct nfs_listener *at, uint16_t port)
{
	struct sockaddr_in in = {.sin_family = AF_INET, .sin_port = htons(port)};
	struct sockaddr_in6 in6 = {.sin6_family = AF_INET6, .sin6_port = htons(port)};
	const struct sockaddr *sa = at->ipv4 ? (void *)&in : (void *)&in6;
	socklen_t len = at->ipv4 ? sizeof(in) : sizeof(in6);
	_cleanup_close_ int fd = socket(at->ipv4 ? AF_INET : AF_INET6, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	int on = 1, v6only = at->v6only;

	memcpy(&in.sin_addr, at->address.bytes + 12, 4);
	memcpy(&in6.sin6_addr, at->address.bytes, 16);
	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) < 0 ||
		(!at->ipv4 && setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &v6only, sizeof(v6only)) < 0) ||
		bind(fd, sa, len) < 0 || listen(fd, BACKLOG) < 0)
		return -errno;
	return steal_fd(&fd);
}

static void log_listener(const struct nfs_listener *at, uint16_t port, bool open)
{
	char text[IP_ADDRESS_TEXT];

	ip_address_format_port(&at->address, port, text);
	log_info_limited(open ? "answering probes on %s%s" : "no longer answering probes on %s%s", text,
		at->ipv4 ? " (IPv4)" : "");
}

static bool is_among(const struct nfs_listener *at, const struct nfs_listener *list, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		if (same_listener(at, &list[i]))
			return true;
	return false;
}

static void close_others(struct probe_listeners *l)
{
	for (unsigned i = 0; i < l->count; i++) {
		if (is_among(&l->list[i].at, l->server, l->nserver))
			continue;
		log_listener(&l->list[i].at, l->port, false);
		(void)close_fd(l->list[i].fd);
		l->list[i--] = l->list[--l->count];
	}
}

static bool is_open(const struct probe_listeners *l, const struct nfs_listener *at)
{
	for (unsigned i = 0; i < l->count; i++)
		if (same_listener(at, &l->list[i].at))
			return true;
	return false;
}

/* Opens a socket. The first socket decides the port of all. */
static int open_one(struct probe_listeners *l, const struct nfs_listener *at)
{
	int fd = listen_at(at, l->port);

	if (fd == -EADDRINUSE && l->count == 0) {
		fd = listen_at(at, 0);
		if (fd < 0)
			return fd;
		l->port = listening_port(fd);
		log_warning_limited("port %u is taken by another process: probes are answered on port %u, which "
				    "clients learn "
				    "from the registry's socket",
			l->wanted, l->port);
	}
	return fd;
}

static int open_missing(struct probe_listeners *l)
{
	int error = 0;

	if (l->count == 0)
		l->port = l->wanted;
	for (unsigned i = 0; i < l->nserver; i++) {
		const struct nfs_listener *at = &l->server[i];
		int fd;

		if (is_open(l, at))
			continue;
		fd = open_one(l, at);
		if (fd < 0) {
			error = fd;
			continue;
		}
		log_listener(at, l->port, true);
		l->list[l->count++] = (struct probe_listener){.at = *at, .fd = fd};
	}
	return error;
}

void probe_listeners_follow(struct probe_listeners *l, uint16_t nfs_port)
{
	int n = nfs_server_listeners(nfs_port, l->server), error = MIN(n, 0);

	l->nserver = (unsigned)MAX(n, 0);
	if (!l->inherited) {
		close_others(l);
		error = l->nserver > 0 ? open_missing(l) : error;
	}
	if (error != l->last_error && error < 0)
		log_error_limited("cannot listen on port %u for probes: %s (--probeport= names another)", l->wanted,
			strerror(-error));
	l->last_error = error;
	if (l->inherited || l->count == 0)
		l->port = l->inherited && l->nserver > 0 ? l->wanted : 0;
}
