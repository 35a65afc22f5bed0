/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Broker packets at the sidecar's end of a session: checks received packets by the table of messages
 * (wire/broker_messages.h), and sends packets. packet_check() is pure. Several threads may send on one socket, since
 * the socket keeps packets whole; one thread receives.
 */
#pragma once

#include <stdbool.h>

#include <stddef.h>

#include "localiofs/broker_protocol.h"
#include "sidecar/broker/counters.h"

struct packet {
	struct broker_header header;
	union {
		struct broker_announce announce;
		struct broker_hello hello;
		struct broker_open open;
		struct broker_release release;
		struct broker_commit commit;
		struct broker_range range;
		struct broker_copy copy;
		struct broker_truncate truncate;
		struct broker_sync_dir sync_dir;
		struct broker_lookup lookup;
		struct broker_digest digest;
		struct broker_make make;
		struct broker_symlink symlink;
		struct broker_remove remove;
		struct broker_rename rename;
		struct broker_link link;
		struct broker_setattr setattr;
		uint8_t bytes[BROKER_MAX_MESSAGE - sizeof(struct broker_header)];
	} body;
	int fd; /* the descriptor of PROVE or HELLO, which the receiver owns; or -1 */
};

_Static_assert(sizeof(struct packet) >= BROKER_MAX_MESSAGE, "the largest message fits");

/*
 * 0 if a packet of size bytes with fds descriptors is a request: its type exists, its length is the type's, it has no
 * more descriptors than allowed, and the lengths in its body are in range. Else -EPROTO. -EPROTONOSUPPORT for an
 * ANNOUNCE of another version, of any length.
 */
int packet_check(const struct packet *p, size_t size, int fds);

/*
 * Receives a packet without waiting. 0 with *ret; -EAGAIN if none is there, -ECONNRESET if the client has closed the
 * socket, or packet_check()'s errno, with no descriptor left open. with_fd: takes a descriptor; else the kernel
 * discards all, since the close of a hostile descriptor can hang.
 */
int packet_receive(int socket, bool with_fd, struct packet *ret);

/*
 * Sends a packet; the type determines the length of the body. fd, or -1, travels with it. -EAGAIN if the client does
 * not read within the socket's timeout.
 */
int packet_send(int socket, uint32_t type, uint64_t id, const void *body, int fd);
/* Sends the reply to a request of this type, and counts the request before. */
int packet_reply(int socket, struct counters *c, uint32_t type, uint64_t id, const void *reply, int fd);
/* True if the socket has room for a packet of so many bytes, once the client has read the others. */
bool packet_has_room(int socket, size_t bytes);
/* packet_reply() to LIST, with used bytes of entries. */
int packet_reply_listed(int socket, struct counters *c, uint64_t id, const struct broker_listed *reply,
	const uint8_t *entries, size_t used);
/* packet_send() with a struct broker_status as body. */
int packet_send_status(int socket, uint32_t type, uint64_t id, int error, unsigned reason);
