/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A client's packet, sent through a socket of the sidecar's kind. */
#include "fuzz.h"

#include <string.h>
#include <sys/socket.h>

#include "sidecar/broker/packet.h"
#include "wire/broker_messages.h"

static uint32_t word(const struct packet *p, int offset)
{
	uint32_t value;

	memcpy(&value, p->body.bytes + offset, sizeof(value));
	return value;
}

/* What the handlers rely on. */
static void check_packet(const struct packet *p)
{
	const struct broker_message *m = broker_message_find(p->header.type);
	uint32_t ngroups;

	CHECK(m != NULL && m->states != 0);
	CHECK(p->header.length <= BROKER_MAX_MESSAGE && p->header.length == broker_packet_length(p->header.type));
	CHECK(p->fd == -1);
	CHECK(m->fh < 0 || (word(p, m->fh) >= 1 && word(p, m->fh) <= BROKER_MAX_FH));
	CHECK(m->fh2 < 0 || (word(p, m->fh2) >= 1 && word(p, m->fh2) <= BROKER_MAX_FH));
	ngroups = m->cred < 0 ? 0 : word(p, m->cred + (int)offsetof(struct broker_cred, ngroups));
	CHECK(ngroups <= BROKER_MAX_GROUPS || ngroups == BROKER_GROUPS_UNTOLD);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static int sockets[2] = {-1, -1};
	struct packet p;

	if (sockets[0] < 0)
		CHECK(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets) == 0);
	if (size > 2 * BROKER_MAX_MESSAGE)
		return 0;
	CHECK(send(sockets[0], data, size, 0) == (ssize_t)size);
	if (packet_receive(sockets[1], true, &p) == 0)
		check_packet(&p);
	return 0;
}
