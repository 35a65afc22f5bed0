/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "probe/broker_client.h"

#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/socket.h>

#include "base/log.h"
#include "localiofs/reason.h"
#include "net/scm_fd.h"
#include "wire/broker_messages.h"

#define BUCKETS            256 /* of calls in flight, by id */
#define CONNECT_PATIENCE_S 3   /* while the queue of the listening socket is full */

union packet {
	struct broker_header header;
	uint8_t bytes[BROKER_MAX_MESSAGE];
};

struct queued {
	struct list node;
	struct broker_call *call;
	union packet packet;
};

struct broker_client {
	struct list node; /* of the owner */
	atomic_uint refs;
	int fd;
	pid_t peer_pid;
	broker_event_fn event;
	void *arg;
	/* The reading thread's. */
	bool ending; /* broker_client_end() */
	_Alignas(struct broker_header) uint8_t received[BROKER_MAX_LISTED];

	pthread_mutex_t lock;
	uint64_t next_id;
	bool closed;
	struct list calls[BUCKETS];
	size_t ncalls;     /* in all buckets */
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

static void drop_queue(struct broker_client *b)
{
	LIST_FOREACH (pos, &b->queue) {
		list_remove(pos);
		free(CONTAINER_OF(pos, struct queued, node));
	}
}

/* Sends no more, and ends the calls; with keep all but the changes that were sent. True if calls are left. */
static bool end_calls(struct broker_client *b, bool keep)
{
	struct list calls;
	bool left = false;

	list_init(&calls);
	{
		LOCKED(&b->lock);
		b->closed = true;
		drop_queue(b);
		for (size_t i = 0; i < BUCKETS; i++) {
			LIST_FOREACH (pos, &b->calls[i]) {
				struct broker_call *call = CONTAINER_OF(pos, struct broker_call, node);

				if (keep && call->changes && call->stage == BROKER_CALL_SENT) {
					left = true;
					continue;
				}
				list_remove(pos);
				b->ncalls--;
				list_append(&calls, pos);
			}
		}
	}
	(void)shutdown(b->fd, left ? SHUT_WR : SHUT_RDWR);
	while (!list_empty(&calls)) {
		struct broker_call *call = CONTAINER_OF(calls.next, struct broker_call, node);

		list_remove(&call->node);
		call->done(call, -ENOTCONN, NULL);
	}
	return left;
}

void broker_client_close(struct broker_client *b)
{
	(void)end_calls(b, false);
}

bool broker_client_end(struct broker_client *b)
{
	b->ending = end_calls(b, true);
	return b->ending;
}

struct list *broker_client_node(struct broker_client *b)
{
	return &b->node;
}

struct broker_client *broker_client_of_node(struct list *node)
{
	return CONTAINER_OF(node, struct broker_client, node);
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
	drop_queue(b);
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
static int send_packet(int socket, const union packet *packet, int fd)
{
	struct scm_fd control;
	struct iovec iov = {.iov_base = (void *)packet, .iov_len = packet->header.length};
	struct msghdr message = {.msg_iov = &iov, .msg_iovlen = 1};

	scm_fd_attach(&control, &message, fd);
	return sendmsg(socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT) < 0 ? -errno : 0;
}

/* The caller holds the lock. NULL if no such call is in flight. */
static struct broker_call *find_call(struct broker_client *b, uint64_t id)
{
	LIST_FOREACH (pos, &b->calls[id % BUCKETS]) {
		struct broker_call *call = CONTAINER_OF(pos, struct broker_call, node);

		if (call->id == id)
			return call;
	}
	return NULL;
}

/* The caller holds the lock. */
static int queue_call(struct broker_client *b, struct broker_call *call, const union packet *packet)
{
	struct queued *q = malloc(sizeof(*q));

	if (!q)
		return -ENOMEM;
	q->call = call;
	q->packet = *packet;
	list_append(&b->queue, &q->node);
	call->stage = BROKER_CALL_QUEUED;
	return 0;
}

/*
 * Remembers the call and gives it its id. Returns 1 if the caller is to send the packet, 0 if it is queued behind
 * others, or a negative errno, and the call is forgotten.
 */
static int remember_call(struct broker_client *b, struct broker_call *call, union packet *packet)
{
	LOCKED(&b->lock);
	int r = 1;

	if (b->closed)
		return -ENOTCONN;
	call->id = packet->header.id = ++b->next_id;
	call->type = packet->header.type;
	if (!list_empty(&b->queue))
		r = queue_call(b, call, packet);
	else
		call->stage = BROKER_CALL_SENT; /* from here on the sidecar may have it */
	if (r >= 0) {
		list_append(&b->calls[call->id % BUCKETS], &call->node);
		b->ncalls++;
	}
	return r;
}

/*
 * Sending would have blocked. The queue keeps no descriptors: PROVE and HELLO come before the socket can be full. Where
 * the call can't be queued the connection ends, and with it the call.
 */
static void queue_unsent(struct broker_client *b, const union packet *packet, bool has_fd)
{
	LOCKED(&b->lock);
	struct broker_call *call = b->closed ? NULL : find_call(b, packet->header.id);

	if (call && (has_fd || queue_call(b, call, packet) < 0))
		(void)shutdown(b->fd, SHUT_RDWR);
}

/*
 * The packet is sent without the lock: sendmsg(2) wakes the sidecar up, whose reply may be here before the sender runs
 * again, and must not wait for it. So the call may be over when sendmsg(2) returns. The reader finds a broken
 * connection.
 */
void broker_client_send(struct broker_client *b, struct broker_call *call, uint32_t type, const void *body,
	size_t length, int fd)
{
	union packet packet = {.header = {.type = type, .length = (uint32_t)(sizeof(packet.header) + length)}};
	int r;

	if (length > 0)
		memcpy(packet.bytes + sizeof(packet.header), body, length);
	call->stage = BROKER_CALL_NEW;
	r = remember_call(b, call, &packet);
	if (r < 0) {
		call->done(call, r, NULL);
		return;
	}
	log_debug("message %" PRIu64 ", %s", packet.header.id, broker_message_find(type)->name);
	if (r > 0 && send_packet(b->fd, &packet, fd) == -EAGAIN)
		queue_unsent(b, &packet, fd >= 0);
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

		if (send_packet(b->fd, &q->packet, -1) == -EAGAIN)
			return;
		q->call->stage = BROKER_CALL_SENT;
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
	struct broker_call *call;

	{
		LOCKED(&b->lock);
		call = find_call(b, header->id);
		if (call && (call->type | BROKER_REPLY) != header->type)
			call = NULL;
		if (call) {
			list_remove(&call->node);
			b->ncalls--;
		}
	}
	if (!call)
		return -EPROTO;
	if (log_debugs())
		log_reply(header, body);
	call->fd = fd;
	call->length = header->length - (uint32_t)sizeof(*header);
	call->done(call, 0, body);
	return 0;
}

static bool has_calls(struct broker_client *b)
{
	LOCKED(&b->lock);
	return b->ncalls > 0;
}

/* True if the message that was received last answers a call. */
static bool is_answer(const struct broker_client *b)
{
	const struct broker_header *header = (const struct broker_header *)(const void *)b->received;

	return (header->type & BROKER_REPLY) != 0;
}

/* Of n bytes, of which the buffer has no more than it has room for. */
static int handle_packet(struct broker_client *b, size_t n, int *fd)
{
	const struct broker_header *header = (const struct broker_header *)(const void *)b->received;
	const uint8_t *body = b->received + sizeof(*header);

	if (n < sizeof(*header) || n > sizeof(b->received) || header->length != (uint32_t)n ||
		!broker_packet_fits(header->type, header->length))
		return -EPROTO;
	if (header->type & BROKER_REPLY)
		return handle_reply(b, header, body, fd);
	if (header->type < BROKER_MATCHED)
		return -EPROTO;
	if (!b->ending)
		b->event(b->arg, header->type, body);
	return 0;
}

int broker_client_service(struct broker_client *b)
{
	send_queued(b);
	for (;;) {
		struct scm_fd control;
		struct iovec iov = {.iov_base = b->received, .iov_len = sizeof(b->received)};
		struct msghdr message = {.msg_iov = &iov, .msg_iovlen = 1};
		_cleanup_close_ int fd = -1;
		ssize_t n;
		int r;

		if (b->ending && !has_calls(b))
			return -ENOTCONN;
		scm_fd_expect(&control, &message);
		n = recvmsg(b->fd, &message, MSG_DONTWAIT | MSG_TRUNC | MSG_CMSG_CLOEXEC);
		/*
		 * The sidecar has closed without reading a request. The kernel says so once, before the last messages.
		 */
		if (n < 0 && errno == ECONNRESET)
			n = recvmsg(b->fd, &message, MSG_DONTWAIT | MSG_TRUNC | MSG_CMSG_CLOEXEC);
		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			return 0;
		if (n <= 0)
			return -ENOTCONN;
		fd = scm_fd_received(&message);
		r = handle_packet(b, (size_t)n, &fd);
		if (r < 0 && !b->ending)
			return r;
		/* Behind the answer to the only call there is seldom a message, and poll(2) will tell. */
		if (!b->ending && is_answer(b) && !has_calls(b))
			return 0;
	}
}
