/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A client's packet, through a socket as the sidecar has it. */
#include "fuzz.h"

#include <sys/socket.h>

#include "sidecar/broker/packet.h"

static void check_packet(const struct packet *p)
{
	CHECK(p->header.length <= BROKER_MAX_MESSAGE && p->header.length == broker_packet_length(p->header.type));
	CHECK(p->fd == -1);
	switch (p->header.type) {
	case BROKER_HELLO:
		CHECK(p->body.hello.root.length >= 1 && p->body.hello.root.length <= BROKER_MAX_FH);
		break;
	case BROKER_OPEN:
		CHECK(p->body.open.fh.length >= 1 && p->body.open.fh.length <= BROKER_MAX_FH);
		CHECK(p->body.open.cred.ngroups <= BROKER_MAX_GROUPS);
		break;
	case BROKER_TRUNCATE:
		CHECK(p->body.truncate.fh.length >= 1 && p->body.truncate.fh.length <= BROKER_MAX_FH);
		CHECK(p->body.truncate.cred.ngroups <= BROKER_MAX_GROUPS);
		break;
	case BROKER_SYNC_DIR:
		CHECK(p->body.sync_dir.fh.length >= 1 && p->body.sync_dir.fh.length <= BROKER_MAX_FH);
		CHECK(p->body.sync_dir.cred.ngroups <= BROKER_MAX_GROUPS);
		break;
	default:
		break;
	}
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
