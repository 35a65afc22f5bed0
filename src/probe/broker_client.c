/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "probe/broker_client.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/socket.h>

#include "base/log.h"
#include "localiofs/reason.h"
#include "net/scm_fd.h"
#include "wire/broker_messages.h"

#define BUCKETS            256 /* of calls in flight, by id */
#define CONNECT_PATIENCE_S 3   /* while the queue of the listening socket is full */

struct queued {
	struct list node;
	size_t length;
	uint8_t packet[BROKER_MAX_MESSAGE];
};

struct broker_client {
	atomic_uint refs;
	int fd;
	pid_t peer_pid;
	broker_event_fn event;
	void *arg;

	pthread_mutex_t lock;
	uint64_t next_id;
	bool closed;
	struct list calls[BUCKETS];
	struct list queue; /* struct queued.node: requests that would have blocked */
};

int broker_client_connect(const struct sockaddr_un *address, broker_event_fn event, void *arg,
	struct broker_client **ret)
{
	const struct timeval patience = {.tv_sec = CONNECT_PATIENCE_S};
	_cleanup_close_ int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	struct broker_client *b;
	struct ucred peer;
	socklen_t len = sizeof(peer);

	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience)) < 0)
		return -errno;
	if (connect(fd, (const struct sockaddr *)address, sizeof(*address)) < 0 || fcntl(fd, F_SETFL, O_NONBLOCK) < 0)
		return -errno;
	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) < 0)
		return -errno;
	b = calloc(1, sizeof(*b));
	if (!b)
		return -ENOMEM;
	b->refs = 1;
	b->fd = steal_fd(&fd);
	b->peer_pid = peer.pid;
	b->event = event;
	b->arg = arg;
	(void)pthread_mutex_init(&b->lock, NULL);
	for (size_t i = 0; i < BUCKETS; i++)
		list_init(&b->calls[i]);
	list_init(&b->queue);
	*ret = b;
	return 0;
}

void broker_client_close(struct broker_client *b)
{
	struct list calls;

	list_init(&calls);
	{
		LOCKED(&b->lock);
		b->closed = true;
		for (size_t i = 0; i < BUCKETS; i++)
			list_splice(&calls, &b->calls[i]);
	}
	(void)shutdown(b->fd, SHUT_RDWR);
	while (!list_empty(&calls)) {
		struct broker_call *call = CONTAINER_OF(calls.next, struct broker_call, node);

		list_remove(&call->node);
		call->done(call, -ENOTCONN, NULL);
	}
}

struct broker_client *broker_client_ref(struct broker_client *b)
{
	(void)atomic_fetch_add(&b->refs, 1);
	return b;
}

struct broker_client *broker_client_unref(struct broker_client *b)
{
	if (!b || atomic_fetch_sub(&b->refs, 1) > 1)
		return NULL;
	LIST_FOREACH (pos, &b->queue) {
		free(CONTAINER_OF(pos, struct queued, node));
	}
	(void)close_fd(b->fd);
	(void)pthread_mutex_destroy(&b->lock);
	free(b);
	return NULL;
}

int broker_client_fd(const struct broker_client *b)
{
	return b->fd;
}

pid_t broker_client_peer_pid(const struct broker_client *b)
{
	return b->peer_pid;
}

/* -EAGAIN if sending would block. */
static int send_packet(int socket, const void *packet, size_t length, int fd)
{
	struct scm_fd control;
	struct iovec iov = {.iov_base = (void *)packet, .iov_len = length};
	struct msghdr message = {.msg_iov = &iov, .msg_iovlen = 1};

	scm_fd_attach(&control, &message, fd);
	return sendmsg(socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT) < 0 ? -errno : 0;
}

/*
 * The caller holds the lock. Sends the request, or queues it if sending would block. The reader finds a broken
 * connection.
 */
static int send_or_queue(struct broker_client *b, const struct broker_header *header, const void *body, int fd)
{
	size_t length = header->length - sizeof(*header);
	uint8_t packet[BROKER_MAX_MESSAGE];
	struct queued *q;

	memcpy(packet, header, sizeof(*header));
	if (length > 0)
		memcpy(packet + sizeof(*header), body, length);
	if (list_empty(&b->queue) && send_packet(b->fd, packet, header->length, fd) != -EAGAIN)
		return 0;
	if (fd >= 0)
		return -EAGAIN; /* the queue keeps no descriptors; PROVE and HELLO come before it can fill */
	q = malloc(sizeof(*q));
	if (!q)
		return -ENOMEM;
	q->length = header->length;
	memcpy(q->packet, packet, header->length);
	list_append(&b->queue, &q->node);
	return 0;
}

void broker_client_send(struct broker_client *b, struct broker_call *call, uint32_t type, const void *body,
	size_t length, int fd)
{
	int r = -ENOTCONN;

	{
		LOCKED(&b->lock);
		if (!b->closed) {
			struct broker_header header = {.type = type,
				.length = (uint32_t)(sizeof(header) + length),
				.id = ++b->next_id};

			call->id = header.id;
			call->type = type;
			list_append(&b->calls[call->id % BUCKETS], &call->node);
			log_debug("message %" PRIu64 ", %s", header.id, broker_message_find(type)->name);
			r = send_or_queue(b, &header, body, fd);
			if (r < 0)
				list_remove(&call->node);
		}
	}
	if (r < 0)
		call->done(call, r, NULL);
}

bool broker_client_wants_write(struct broker_client *b)
{
	LOCKED(&b->lock);
	return !list_empty(&b->queue);
}

static void send_queued(struct broker_client *b)
{
	LOCKED(&b->lock);
	LIST_FOREACH (pos, &b->queue) {
		struct queued *q = CONTAINER_OF(pos, struct queued, node);

		if (send_packet(b->fd, q->packet, q->length, -1) == -EAGAIN)
			return;
		list_remove(pos);
		free(q);
	}
}

static void log_reply(const struct broker_header *header, const void *body)
{
	const struct broker_status *status = body; /* all replies begin with it */

	log_debug("message %" PRIu64 ", %s: %s%s%s", header->id,
		broker_message_find(header->type & ~BROKER_REPLY)->name,
		status->error < 0 ? strerror(-status->error) : "done", status->reason ? ", " : "",
		status->reason ? reason_code(status->reason) : "");
}

static int handle_reply(struct broker_client *b, const struct broker_header *header, const void *body, int *fd)
{
	struct broker_call *call = NULL;

	{
		LOCKED(&b->lock);
		LIST_FOREACH (pos, &b->calls[header->id % BUCKETS]) {
			struct broker_call *candidate = CONTAINER_OF(pos, struct broker_call, node);

			if (candidate->id == header->id && (candidate->type | BROKER_REPLY) == header->type) {
				call = candidate;
				list_remove(pos);
				break;
			}
		}
	}
	if (!call)
		return -EPROTO;
	if (log_debugs())
		log_reply(header, body);
	call->fd = fd;
	call->done(call, 0, body);
	return 0;
}

int broker_client_service(struct broker_client *b)
{
	send_queued(b);
	for (;;) {
		union {
			struct broker_header header;
			uint8_t bytes[BROKER_MAX_MESSAGE];
		} packet;
		struct scm_fd control;
		struct iovec iov = {.iov_base = &packet, .iov_len = sizeof(packet)};
		struct msghdr message = {.msg_iov = &iov, .msg_iovlen = 1};
		_cleanup_close_ int fd = -1;
		ssize_t n;
		int r = 0;

		scm_fd_expect(&control, &message);
		n = recvmsg(b->fd, &message, MSG_DONTWAIT | MSG_TRUNC | MSG_CMSG_CLOEXEC);
		/* The sidecar has closed without reading a request. The kernel says so once, before the last messages.
		 */
		if (n < 0 && errno == ECONNRESET)
			n = recvmsg(b->fd, &message, MSG_DONTWAIT | MSG_TRUNC | MSG_CMSG_CLOEXEC);
		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			return 0;
		if (n <= 0)
			return -ENOTCONN;
		fd = scm_fd_received(&message);
		if ((size_t)n < sizeof(packet.header) || (size_t)n > sizeof(packet) ||
			packet.header.length != (uint32_t)n ||
			packet.header.length != broker_packet_length(packet.header.type))
			return -EPROTO;
		if (packet.header.type & BROKER_REPLY)
			r = handle_reply(b, &packet.header, packet.bytes + sizeof(packet.header), &fd);
		else if (packet.header.type >= BROKER_MATCHED)
			b->event(b->arg, packet.header.type, packet.bytes + sizeof(packet.header));
		else
			r = -EPROTO;
		if (r < 0)
			return r;
	}
}
