/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "net/tcp.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/random.h>

#define RESERVED_FIRST 665 /* RPC_DEF_MIN_RESVPORT: the first port that the kernel's client uses */
#define RESERVED_LAST  1023
#define PORT_TRIES     8 /* attempts with source ports that are in use for this server already */

#define KEEPALIVE_IDLE_S     60
#define KEEPALIVE_INTERVAL_S 10
#define KEEPALIVE_PROBES     3
#define UNACKNOWLEDGED_MS    60000

void address_set_port(struct sockaddr_storage *address, unsigned port)
{
	if (address->ss_family == AF_INET6)
		((struct sockaddr_in6 *)address)->sin6_port = htons((uint16_t)port);
	else
		((struct sockaddr_in *)address)->sin_port = htons((uint16_t)port);
}

unsigned address_port(const struct sockaddr_storage *address)
{
	if (address->ss_family == AF_INET6)
		return ntohs(((const struct sockaddr_in6 *)address)->sin6_port);
	return address->ss_family == AF_INET ? ntohs(((const struct sockaddr_in *)address)->sin_port) : 0;
}

static int bind_port(int fd, sa_family_t family, unsigned port)
{
	struct sockaddr_storage any = {.ss_family = family};

	address_set_port(&any, port);
	return bind(fd, (struct sockaddr *)&any, sizeof(any)) < 0 ? -errno : 0;
}

/* Failure is no error: a server that requires a reserved port refuses the connection or the request. */
static void bind_reserved(int fd, sa_family_t family)
{
	unsigned start = 0;

	(void)!getrandom(&start, sizeof(start), GRND_NONBLOCK);
	for (unsigned i = 0; i <= RESERVED_LAST - RESERVED_FIRST; i++) {
		unsigned port = RESERVED_FIRST + (start + i) % (RESERVED_LAST - RESERVED_FIRST + 1);

		if (bind_port(fd, family, port) != -EADDRINUSE)
			return;
	}
}

static void set_option(int fd, int level, int option, int value)
{
	(void)setsockopt(fd, level, option, &value, sizeof(value));
}

static int open_once(const struct sockaddr_storage *to, bool reserved, unsigned *port)
{
	_cleanup_close_ int fd = socket(to->ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	struct sockaddr_storage from = {0};
	socklen_t len = sizeof(from);

	if (fd < 0)
		return -errno;
	if (to->ss_family == AF_INET6)
		set_option(fd, IPPROTO_IPV6, IPV6_V6ONLY, 1);
	/* The socket may share the port of an earlier connection of this process. Any other port must be free. */
	if (*port > 0) {
		set_option(fd, SOL_SOCKET, SO_REUSEADDR, 1);
		if (bind_port(fd, to->ss_family, *port) < 0)
			*port = 0;
	}
	if (*port == 0) {
		set_option(fd, SOL_SOCKET, SO_REUSEADDR, 0);
		if (reserved)
			bind_reserved(fd, to->ss_family);
		set_option(fd, SOL_SOCKET, SO_REUSEADDR, 1);
	}
	set_option(fd, IPPROTO_TCP, TCP_NODELAY, 1);
	if (connect(fd, (const struct sockaddr *)to, sizeof(*to)) < 0 && errno != EINPROGRESS)
		return -errno;
	if (getsockname(fd, (struct sockaddr *)&from, &len) == 0)
		*port = address_port(&from);
	return steal_fd(&fd);
}

int tcp_open(const struct sockaddr_storage *to, bool reserved, unsigned *port)
{
	int fd = -EADDRNOTAVAIL;

	/* The port is in use: by another mount of the same server, or by a connection that is not closed completely. */
	for (int n = 0; n < PORT_TRIES && (fd == -EADDRNOTAVAIL || fd == -EADDRINUSE); n++) {
		fd = open_once(to, reserved, port);
		if (fd < 0)
			*port = 0;
	}
	return fd;
}

int tcp_opened(int fd)
{
	socklen_t len = sizeof(int);
	int error = 0;

	if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &len) < 0)
		return -errno;
	return -error;
}

void tcp_hold(int fd, bool held)
{
	set_option(fd, IPPROTO_TCP, TCP_CORK, held);
}

void tcp_reset_on_close(int fd)
{
	struct linger now = {.l_onoff = 1, .l_linger = 0};

	(void)setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
}

void tcp_notice_dead_peer(int fd)
{
	set_option(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
	set_option(fd, IPPROTO_TCP, TCP_KEEPIDLE, KEEPALIVE_IDLE_S);
	set_option(fd, IPPROTO_TCP, TCP_KEEPINTVL, KEEPALIVE_INTERVAL_S);
	set_option(fd, IPPROTO_TCP, TCP_KEEPCNT, KEEPALIVE_PROBES);
	set_option(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, UNACKNOWLEDGED_MS);
}
