/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * ONC RPC over TCP (RFC 5531, record marking of section 11): the codec for both ends of program 400122. The functions
 * work on the caller's buffers, without I/O, allocation or state; any thread may call them.
 *
 * One record is one fragment. Messages of this size need no second fragment, so a record of several fragments is
 * refused. All lengths from the wire are checked before use.
 *
 * libnfs has a server side, but this needs libnfs's event loop and decodes more than the few bytes that a stranger
 * should be able to send.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define ONCRPC_MARK_SIZE   4   /* the record mark before each message */
#define ONCRPC_MAX_AUTH    400 /* RFC 5531 8.2: bytes of a credential or verifier body */
#define ONCRPC_MAX_GROUPS  16
#define ONCRPC_MAX_MACHINE 255
#define ONCRPC_MAX_RECORD  1024 /* mark included; all messages of program 400122 are shorter */

enum oncrpc_flavor {
	ONCRPC_AUTH_NONE = 0,
	ONCRPC_AUTH_UNIX = 1,
};

/* The result in a reply. The first six are RFC 5531's accept_stat. */
enum oncrpc_result {
	ONCRPC_SUCCESS = 0,
	ONCRPC_PROG_UNAVAIL = 1,
	ONCRPC_PROG_MISMATCH = 2,
	ONCRPC_PROC_UNAVAIL = 3,
	ONCRPC_GARBAGE_ARGS = 4,
	ONCRPC_SYSTEM_ERR = 5,
	ONCRPC_DENIED_VERSION = 100, /* MSG_DENIED, RPC_MISMATCH: the peer wants another RPC version */
	ONCRPC_DENIED_AUTH = 101,    /* MSG_DENIED, AUTH_ERROR */
};

struct oncrpc_call {
	uint32_t xid, program, version, procedure;
	uint32_t flavor; /* enum oncrpc_flavor */
	/* AUTH_UNIX only: */
	uint32_t uid, gid, ngroups, groups[ONCRPC_MAX_GROUPS];
	char machine[ONCRPC_MAX_MACHINE + 1];
	/* the arguments, encoded; a multiple of 4 bytes */
	const uint8_t *args;
	size_t args_length;
};

/* The number of bytes in buf, record mark included. -EMSGSIZE if buf is too small; -EINVAL for a call out of range. */
ssize_t oncrpc_encode_call(const struct oncrpc_call *call, uint8_t *buf, size_t size);

/*
 * The size of the record at the start of the received bytes, mark included. 0 if the record is not complete yet,
 * -EMSGSIZE if the record is longer than max, -EBADMSG if it is a fragment.
 */
ssize_t oncrpc_record_size(const uint8_t *buf, size_t received, size_t max);

/* The functions below take one whole record, mark included. */

/*
 * 0 with the result of a reply. *ret_results points to the results of ONCRPC_SUCCESS in the record; ret_results and
 * ret_results_size may be NULL. -EBADMSG if the record is no reply, -ENOMSG if it is the reply to another xid.
 */
int oncrpc_decode_reply(const uint8_t *record, size_t size, uint32_t xid, enum oncrpc_result *ret_result,
	const uint8_t **ret_results, size_t *ret_results_size);

/*
 * 0 with the call, whose args point into the record, and ONCRPC_SUCCESS in *ret_result. Another *ret_result
 * (ONCRPC_DENIED_*) is the reply that the call must get; only the call's xid is set then. -EBADMSG if no reply is
 * possible: the caller closes the connection.
 */
int oncrpc_decode_call(const uint8_t *record, size_t size, struct oncrpc_call *ret, enum oncrpc_result *ret_result);

/* Encodes a reply without results. version: the lowest and the highest version in the reply ONCRPC_PROG_MISMATCH. */
ssize_t oncrpc_encode_reply(uint32_t xid, enum oncrpc_result result, uint32_t version, uint8_t *buf, size_t size);
