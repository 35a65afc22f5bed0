/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sidecar/host/nfs_server.h"

#include <arpa/inet.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <netinet/tcp.h>
#include <string.h>

#define ANSWER_TIMEOUT_MS 2000

/* Called for each socket; a result other than 0 ends the dump and is its result. */
typedef int (*diag_fn)(const struct inet_diag_msg *msg, const struct rtattr *attrs, size_t attrs_len, void *arg);

/* Reads the kernel's answer to a dump: message after message until NLMSG_DONE. */
static int read_answer(int fd, diag_fn fn, void *arg)
{
	_Alignas(struct nlmsghdr) char buf[16384];

	for (;;) {
		ssize_t n = recv(fd, buf, sizeof(buf), 0);
		size_t left = (size_t)n;

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		for (struct nlmsghdr *h = (void *)buf; NLMSG_OK(h, left); h = NLMSG_NEXT(h, left)) {
			const struct inet_diag_msg *msg = NLMSG_DATA(h);
			int r;

			if (h->nlmsg_type == NLMSG_DONE)
				return 0;
			if (h->nlmsg_type == NLMSG_ERROR) {
				const struct nlmsgerr *e = NLMSG_DATA(h);

				return e->error < 0 ? e->error : -EPROTO;
			}
			if (h->nlmsg_len < NLMSG_LENGTH(sizeof(*msg)))
				return -EPROTO;
			r = fn(msg, (const struct rtattr *)(msg + 1), h->nlmsg_len - NLMSG_LENGTH(sizeof(*msg)), arg);
			if (r != 0)
				return r;
		}
	}
}

/* Dumps all TCP sockets of a family and state with this local port. */
static int dump(int family, unsigned state, uint16_t port, diag_fn fn, void *arg)
{
	struct {
		struct nlmsghdr header;
		struct inet_diag_req_v2 body;
	} request = {
		.header = {.nlmsg_len = sizeof(request),
			.nlmsg_type = SOCK_DIAG_BY_FAMILY,
			.nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP},
		.body = {.sdiag_family = (uint8_t)family,
			.sdiag_protocol = IPPROTO_TCP,
			.idiag_states = 1U << state,
			.id.idiag_sport = htons(port)},
	};
	struct timeval timeout = {.tv_sec = ANSWER_TIMEOUT_MS / 1000};
	_cleanup_close_ int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);

	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof(timeout)) < 0 ||
		send(fd, &request, sizeof(request), 0) < 0)
		return -errno;
	return read_answer(fd, fn, arg);
}

struct listeners {
	struct nfs_listener *list;
	int count;
	uint16_t port;
};

static int add_listener(const struct inet_diag_msg *msg, const struct rtattr *attrs, size_t attrs_len, void *arg)
{
	struct listeners *l = arg;
	struct nfs_listener *new = &l->list[l->count];

	/* The server runs as root. While it is away, other users' processes may take its port. */
	if (ntohs(msg->id.idiag_sport) != l->port || msg->idiag_uid != 0 || l->count == NFS_SERVER_MAX_LISTENERS)
		return 0;
	*new = (struct nfs_listener){.ipv4 = msg->idiag_family == AF_INET};
	if (!new->ipv4)
		memcpy(new->address.bytes, msg->id.idiag_src, 16);
	else if (msg->id.idiag_src[0] != 0)
		ip_address_from_ipv4(msg->id.idiag_src, &new->address);
	for (const struct rtattr *a = attrs; RTA_OK(a, attrs_len); a = RTA_NEXT(a, attrs_len))
		if (a->rta_type == INET_DIAG_SKV6ONLY && RTA_PAYLOAD(a) >= 1)
			new->v6only = *(const uint8_t *)RTA_DATA(a) != 0;
	l->count++;
	return 0;
}

int nfs_server_listeners(uint16_t port, struct nfs_listener ret[NFS_SERVER_MAX_LISTENERS])
{
	struct listeners l = {.list = ret, .port = port};
	int r = dump(AF_INET, TCP_LISTEN, port, add_listener, &l);

	if (r >= 0)
		r = dump(AF_INET6, TCP_LISTEN, port, add_listener, &l);
	if (r == -ENOENT && l.count > 0) /* this host has no IPv6 */
		r = 0;
	return r < 0 ? r : l.count;
}

bool nfs_listeners_cover(const struct nfs_listener *list, unsigned n, const struct ip_address *own)
{
	static const struct ip_address any;

	for (unsigned i = 0; i < n; i++) {
		const struct nfs_listener *at = &list[i];
		bool family = at->ipv4 ? ip_address_is_ipv4(own) : !at->v6only || !ip_address_is_ipv4(own);

		if (ip_address_equal(&at->address, own) || (family && ip_address_equal(&at->address, &any)))
			return true;
	}
	return false;
}

/* ---- clients ---- */

struct client_search {
	const struct nfs_listener *listeners;
	unsigned nlisteners;
	uint16_t port;
	const struct ip_address *wanted; /* the search ends at this address; NULL: find all */
	struct nfs_clients found;
	size_t room;
};

static void diag_address(int family, const uint32_t bytes[4], struct ip_address *ret)
{
	if (family == AF_INET)
		ip_address_from_ipv4(bytes, ret);
	else
		memcpy(ret->bytes, bytes, 16);
}

static int add_client(const struct inet_diag_msg *msg, const struct rtattr *attrs, size_t attrs_len, void *arg)
{
	struct client_search *s = arg;
	struct ip_address own, peer;

	diag_address(msg->idiag_family, msg->id.idiag_src, &own);
	diag_address(msg->idiag_family, msg->id.idiag_dst, &peer);
	if (ntohs(msg->id.idiag_sport) != s->port || !nfs_listeners_cover(s->listeners, s->nlisteners, &own))
		return 0;
	if (s->wanted != NULL)
		return ip_address_equal(&peer, s->wanted) ? 1 : 0;
	if (s->found.count == s->room) {
		size_t room = MAX(2 * s->room, 64U);
		struct ip_address *list = reallocarray(s->found.list, room, sizeof(*list));

		if (list == NULL)
			return -ENOMEM;
		s->found.list = list;
		s->room = room;
	}
	s->found.list[s->found.count++] = peer;
	return 0;
}

/* 1 if the wanted client was found, 0 if not, or a negative errno. */
static int search(struct client_search *s)
{
	int r = dump(AF_INET, TCP_ESTABLISHED, s->port, add_client, s);

	/* IPv4 connections to a dual-stack server are IPv6 sockets. */
	if (r == 0)
		r = dump(AF_INET6, TCP_ESTABLISHED, s->port, add_client, s);
	return r == -ENOENT ? 0 : r; /* this host has no IPv6 */
}

static int compare(const void *a, const void *b)
{
	return memcmp(a, b, sizeof(struct ip_address));
}

static void sort_once_each(struct nfs_clients *c)
{
	size_t n = 0;

	if (c->count == 0)
		return;
	qsort(c->list, c->count, sizeof(*c->list), compare);
	for (size_t i = 1; i < c->count; i++)
		if (!ip_address_equal(&c->list[n], &c->list[i]))
			c->list[++n] = c->list[i];
	c->count = n + 1;
}

int nfs_clients_look(struct nfs_clients *c, uint16_t port, const struct nfs_listener *list, unsigned n)
{
	struct client_search s = {.listeners = list, .nlisteners = n, .port = port};
	int r = search(&s);

	if (r < 0) {
		nfs_clients_done(&s.found);
		return r;
	}
	sort_once_each(&s.found);
	nfs_clients_done(c);
	*c = s.found;
	return 0;
}

bool nfs_clients_have(const struct nfs_clients *c, const struct ip_address *peer)
{
	return c->count > 0 && bsearch(peer, c->list, c->count, sizeof(*c->list), compare) != NULL;
}

void nfs_clients_done(struct nfs_clients *c)
{
	free(c->list);
	*c = (struct nfs_clients){.list = NULL};
}

int nfs_server_has_client(uint16_t port, const struct ip_address *peer)
{
	struct nfs_listener list[NFS_SERVER_MAX_LISTENERS];
	int n = nfs_server_listeners(port, list);
	struct client_search s = {.listeners = list, .nlisteners = (unsigned)MAX(n, 0), .port = port, .wanted = peer};

	return n < 0 ? n : search(&s);
}
