/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Broker packets on the sidecar's end of a session: received with every check that the protocol
 * header promises, sent whole. packet_check() is pure; sends may come from several threads (the
 * socket keeps packets whole), receives from one.
 */
#pragma once

#include <stdbool.h>

#include <stddef.h>

#include "localiofs/broker_protocol.h"

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
		uint8_t bytes[BROKER_MAX_MESSAGE - sizeof(struct broker_header)];
	} body;
	int fd; /* came with PROVE or HELLO; -1 otherwise. The receiver's. */
};

_Static_assert(sizeof(struct packet) >= BROKER_MAX_MESSAGE, "the largest message fits");

/*
 * A request of a client, size bytes of it: known type, right length, lengths inside in range; or -EPROTO.
 * -EPROTONOSUPPORT for an ANNOUNCE of another version, whatever its length.
 */
int packet_check(const struct packet *p, size_t size, int fds);

/*
 * 0 with *ret filled; -ECONNRESET when the peer is gone, or packet_check()'s errno (nothing is left open then). A
 * descriptor is taken only with_fd: closing a hostile one can hang, so it must not get that far.
 */
int packet_receive(int socket, bool with_fd, struct packet *ret);

/*
 * The body's size is the type's; fd, or -1, travels with it. A peer that does not take it within the
 * socket's timeout: -EAGAIN.
 */
int packet_send(int socket, uint32_t type, uint64_t id, const void *body, int fd);
int packet_send_status(int socket, uint32_t type, uint64_t id, int error, unsigned reason);
