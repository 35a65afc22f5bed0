/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "sidecar/broker/packet.h"

#include <string.h>
#include <sys/socket.h>

#include "net/scm_fd.h"
#include "wire/broker_messages.h"
#include "base/util.h"

#define SKB_ROOM 32 /* net/unix/af_unix.c unix_dgram_sendmsg() keeps so many bytes of the socket's buffer free */
#define MAX_FDS  4  /* more than any message has, so that superfluous descriptors are seen */

/* True for an ANNOUNCE of another version, whose body has an unknown layout behind the version. */
static bool is_other_version(const struct packet *p, size_t size)
{
	return size >= sizeof(p->header) + sizeof(p->body.announce.version) && p->header.length == size &&
	       p->header.type == BROKER_ANNOUNCE && p->body.announce.version != BROKER_VERSION;
}

/* The number at an offset of the body. */
static uint32_t word(const struct packet *p, size_t offset)
{
	uint32_t value;

	memcpy(&value, p->body.bytes + offset, sizeof(value));
	return value;
}

/* True if the length of the handle at an offset is in range; an offset of -1 means no handle. */
static bool is_handle(const struct packet *p, int offset)
{
	uint32_t length = offset >= 0 ? word(p, (size_t)offset + offsetof(struct broker_fh, length)) : 1;

	return length >= 1 && length <= BROKER_MAX_FH;
}

/* True if the lengths inside the body are in range: of the file handles, and of the list of groups. */
static bool lengths_in_range(const struct packet *p, const struct broker_message *m)
{
	uint32_t ngroups = m->cred >= 0 ? word(p, (size_t)m->cred + offsetof(struct broker_cred, ngroups)) : 0;

	return is_handle(p, m->fh) && is_handle(p, m->fh2) &&
	       (ngroups <= BROKER_MAX_GROUPS || ngroups == BROKER_GROUPS_UNTOLD);
}

int packet_check(const struct packet *p, size_t size, int fds)
{
	const struct broker_message *m;

	if (is_other_version(p, size))
		return -EPROTONOSUPPORT;
	if (size < sizeof(p->header) || p->header.length != size || broker_packet_length(p->header.type) != size)
		return -EPROTO;
	m = broker_message_find(p->header.type);
	if (m == NULL || m->states == 0 || fds > m->descriptor)
		return -EPROTO;
	return lengths_in_range(p, m) ? 0 : -EPROTO;
}

int packet_receive(int socket, bool with_fd, struct packet *ret)
{
	union {
		struct cmsghdr align;
		char room[CMSG_SPACE(MAX_FDS * sizeof(int))];
	} control;
	struct iovec iov = {.iov_base = ret, .iov_len = BROKER_MAX_MESSAGE};
	struct msghdr msg = {.msg_iov = &iov,
		.msg_iovlen = 1,
		/* Without room the kernel drops descriptors itself, without the flush() that close(2) calls. */
		.msg_control = with_fd ? &control : NULL,
		.msg_controllen = with_fd ? sizeof(control) : 0};
	int fds[MAX_FDS], nfds = 0, r;
	ssize_t n;

	ret->fd = -1;
	do
		n = recvmsg(socket, &msg, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
	while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;
	for (struct cmsghdr *c = CMSG_FIRSTHDR(&msg); c != NULL; c = CMSG_NXTHDR(&msg, c)) {
		size_t bytes = c->cmsg_len - CMSG_LEN(0);

		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		for (size_t i = 0; i < bytes / sizeof(int) && nfds < MAX_FDS; i++)
			memcpy(&fds[nfds++], CMSG_DATA(c) + i * sizeof(int), sizeof(int));
	}
	if (n == 0 && nfds == 0)
		r = -ECONNRESET;
	else if ((msg.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) != 0)
		r = -EPROTO;
	else
		r = packet_check(ret, (size_t)n, nfds);
	if (r >= 0 && nfds == 1) {
		ret->fd = fds[0];
		return 0;
	}
	while (nfds > 0)
		(void)close_fd(fds[--nfds]);
	return r;
}

static int send_all(int socket, const struct msghdr *msg)
{
	ssize_t n;

	do
		n = sendmsg(socket, msg, MSG_NOSIGNAL);
	while (n < 0 && errno == EINTR);
	return n < 0 ? -errno : 0;
}

int packet_send(int socket, uint32_t type, uint64_t id, const void *body, int fd)
{
	struct {
		struct broker_header header;
		uint8_t body[BROKER_MAX_MESSAGE - sizeof(struct broker_header)];
	} out = {.header = {.type = type, .length = broker_packet_length(type), .id = id}};
	struct scm_fd control;
	struct iovec iov = {.iov_base = &out, .iov_len = out.header.length};
	struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1};

	if (out.header.length == 0 || out.header.length > sizeof(out))
		return -EINVAL;
	memcpy(out.body, body, out.header.length - sizeof(out.header));
	scm_fd_attach(&control, &msg, fd);
	return send_all(socket, &msg);
}

int packet_reply(int socket, struct counters *c, uint32_t type, uint64_t id, const void *reply, int fd)
{
	counters_reply(c, type, reply);
	return packet_send(socket, type | BROKER_REPLY, id, reply, fd);
}

bool packet_has_room(int socket, size_t bytes)
{
	socklen_t size = sizeof(int);
	int room;

	return getsockopt(socket, SOL_SOCKET, SO_SNDBUF, &room, &size) >= 0 && room >= 0 &&
	       bytes + SKB_ROOM <= (size_t)room;
}

int packet_reply_listed(int socket, struct counters *c, uint64_t id, const struct broker_listed *reply,
	const uint8_t *entries, size_t used)
{
	struct broker_header header = {.type = BROKER_LIST | BROKER_REPLY,
		.length = (uint32_t)(sizeof(header) + sizeof(*reply) + used),
		.id = id};
	struct iovec iov[] = {{.iov_base = &header, .iov_len = sizeof(header)},
		{.iov_base = (void *)(uintptr_t)reply, .iov_len = sizeof(*reply)},
		{.iov_base = (void *)(uintptr_t)entries, .iov_len = used}};
	struct msghdr msg = {.msg_iov = iov, .msg_iovlen = ARRAY_SIZE(iov)};

	counters_reply(c, BROKER_LIST, reply);
	return send_all(socket, &msg);
}

int packet_send_status(int socket, uint32_t type, uint64_t id, int error, unsigned reason)
{
	struct broker_status s = {.error = error, .reason = reason};

	return packet_send(socket, type, id, &s, -1);
}
