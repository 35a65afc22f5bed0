/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * All messages of the broker protocol in one table: their lengths, the states of a session in which the client may send
 * them, and whether a descriptor may travel with them. The sidecar checks requests by the table, the client checks
 * replies. localiofs/broker_protocol.h has the layout of the bodies. Further functions write and read the entries
 * behind the reply to LIST.
 *
 * A new message is a type and a body in broker_protocol.h, a line in this table, and a line with its function in the
 * table of handlers (sidecar/session/requests.c).
 *
 * The table is constant, and the functions are pure.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
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

/*
 * Bytes of a packet of that type, the header included; replies have types, too. 0 if no such type exists. The reply to
 * LIST: without entries.
 */
uint32_t broker_packet_length(uint32_t type);

/* True if a packet of that type may have so many bytes. */
bool broker_packet_fits(uint32_t type, uint32_t length);

/* An entry with its handle and its name, which is a text. */
struct broker_entry_ref {
	struct broker_entry entry;
	const uint8_t *fh;
	const char *name;
};

/* Bytes of an entry with a handle and a name of these lengths. */
size_t broker_entry_size(uint32_t fh_length, uint32_t name_length);

/* Writes an entry behind the *used bytes at to, and adds to *used. False if the room is too small for the entry. */
bool broker_entry_put(uint8_t *to, size_t room, size_t *used, const struct broker_entry_ref *e);

/*
 * Reads the entry at *at of length bytes, whose handle and name are there, and goes on behind the entry. False for what
 * broker_entry_put() does not write, and for a name with a slash.
 */
bool broker_entry_get(const uint8_t *from, size_t length, size_t *at, struct broker_entry_ref *ret);
