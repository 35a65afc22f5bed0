/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * All messages of the broker protocol in one table: their lengths, the states of a session in which the client may send
 * them, and whether a descriptor may travel with them. The sidecar checks requests by the table, the client checks
 * replies. localiofs/broker_protocol.h has the layout of the bodies.
 *
 * A new message is a type and a body in broker_protocol.h, a line in this table, and a line with its function in the
 * table of handlers (sidecar/session/requests.c).
 *
 * The table is constant, and the functions are pure.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "localiofs/broker_protocol.h"

/* The states of a session, in their order. The values are bits, so that a set of states is one number. */
enum session_state {
	SESSION_NEW = 1,       /* connected */
	SESSION_ANNOUNCED = 2, /* the client knows its nonce, and the sidecar waits for UUID_IS_LOCAL */
	SESSION_MATCHED = 4,   /* UUID_IS_LOCAL came with the nonce; PROVE and HELLO may come */
	SESSION_READY = 8,     /* HELLO was accepted; files may be asked for */
};

/* One request with its reply, or one message that the sidecar sends unasked. Lengths and offsets are in bytes. */
struct broker_message {
	uint32_t type;         /* enum broker_type */
	const char *name;      /* of the type, without BROKER_ */
	uint32_t length;       /* of the body */
	uint32_t reply_length; /* of the reply's body; 0: the sidecar sends the message, and no reply exists */
	uint32_t states;       /* a set of enum session_state, in which the client may send the request */
	bool descriptor;       /* one descriptor may travel with the request */
	int fh;                /* offset of the struct broker_fh in the body; -1: none */
	int fh2;               /* the same of a second handle */
	int cred;              /* offset of the struct broker_cred in the body; -1: none */
};

/* The request, or the unasked message, of that type; NULL if no such type exists. */
const struct broker_message *broker_message_find(uint32_t type);

/* Bytes of a packet of that type, the header included; replies have types, too. 0 if no such type exists. */
uint32_t broker_packet_length(uint32_t type);
