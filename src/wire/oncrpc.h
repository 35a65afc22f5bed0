/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * ONC RPC over TCP (RFC 5531, record marking of section 11): just the codec that program 400122
 * needs, for both ends. Works on the caller's buffers, does no I/O and allocates nothing.
 *
 * One record is one fragment: messages this small are never cut in pieces, and who does it anyway
 * is refused. Lengths come from the wire and are checked before use. Any thread.
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
#define ONCRPC_MAX_RECORD  1024 /* mark included: more than any message of ours has */

enum oncrpc_flavor {
	ONCRPC_AUTH_NONE = 0,
	ONCRPC_AUTH_UNIX = 1,
};

/* What a reply says. The first six are RFC 5531's accept_stat. */
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
	/* the arguments as they lie on the wire; a multiple of 4 bytes */
	const uint8_t *args;
	size_t args_length;
};

/* The bytes written, record mark included, or -EMSGSIZE, -EINVAL. */
ssize_t oncrpc_encode_call(const struct oncrpc_call *call, uint8_t *buf, size_t size);

/*
 * Looks for one whole record at the start of what was received: its size with the mark, 0 when more
 * bytes must come first, -EMSGSIZE when it will be longer than max, -EBADMSG when it is a fragment.
 */
ssize_t oncrpc_record_size(const uint8_t *buf, size_t received, size_t max);

/* All of these take one whole record, mark included. */

/*
 * 0 and what the reply says; a success with results has them at *ret_results (both may be NULL).
 * -EBADMSG when it is no reply, -ENOMSG when it answers another xid.
 */
int oncrpc_decode_reply(const uint8_t *record, size_t size, uint32_t xid, enum oncrpc_result *ret_result,
	const uint8_t **ret_results, size_t *ret_results_size);

/*
 * 0 and the call (its args point into the record), and in *ret_result ONCRPC_SUCCESS or with what it
 * must be answered already (ONCRPC_DENIED_*; then only the xid is set). -EBADMSG when there is
 * nothing to answer: the connection is to be closed.
 */
int oncrpc_decode_call(const uint8_t *record, size_t size, struct oncrpc_call *ret, enum oncrpc_result *ret_result);

/* A reply without results. ONCRPC_PROG_MISMATCH names version as lowest and highest. */
ssize_t oncrpc_encode_reply(uint32_t xid, enum oncrpc_result result, uint32_t version, uint8_t *buf, size_t size);
