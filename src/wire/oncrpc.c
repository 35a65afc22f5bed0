/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "wire/oncrpc.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#define RPC_VERSION   2
#define LAST_FRAGMENT 0x80000000U

enum {
	MSG_CALL = 0,
	MSG_REPLY = 1
};
enum {
	MSG_ACCEPTED = 0,
	MSG_DENIED = 1
};
enum {
	RPC_MISMATCH = 0,
	AUTH_ERROR = 1
};
enum {
	AUTH_BADCRED = 1
};

/* A position in a buffer. After a step past the end, failed stays true and all further steps do nothing. */
struct out {
	uint8_t *p;
	size_t left, done;
	bool failed;
};

struct in {
	const uint8_t *p;
	size_t left;
	bool failed;
};

static void put_bytes(struct out *o, const void *data, size_t len)
{
	static const uint8_t zero[4];
	size_t pad = (4 - len % 4) % 4;

	if (o->failed || len + pad > o->left) {
		o->failed = true;
		return;
	}
	if (len > 0)
		memcpy(o->p, data, len);
	memcpy(o->p + len, zero, pad);
	o->p += len + pad;
	o->left -= len + pad;
	o->done += len + pad;
}

static void put_u32(struct out *o, uint32_t v)
{
	uint8_t b[4] = {(uint8_t)(v >> 24), (uint8_t)(v >> 16), (uint8_t)(v >> 8), (uint8_t)v};

	put_bytes(o, b, sizeof(b));
}

static uint32_t load_u32(const uint8_t *b)
{
	return (uint32_t)b[0] << 24 | (uint32_t)b[1] << 16 | (uint32_t)b[2] << 8 | b[3];
}

/* Takes len bytes and their padding. NULL, and failed, if fewer bytes are left. */
static const uint8_t *get_bytes(struct in *in, size_t len)
{
	size_t padded = len + (4 - len % 4) % 4;
	const uint8_t *at = in->p;

	if (in->failed || padded > in->left) {
		in->failed = true;
		return NULL;
	}
	in->p += padded;
	in->left -= padded;
	return at;
}

static uint32_t get_u32(struct in *in)
{
	const uint8_t *b = get_bytes(in, 4);

	return b != NULL ? load_u32(b) : 0;
}

/* Takes an opaque_auth: the flavor, and a body of at most ONCRPC_MAX_AUTH bytes. */
static uint32_t get_auth(struct in *in, struct in *ret_body)
{
	uint32_t flavor = get_u32(in);
	uint32_t len = get_u32(in);

	*ret_body = (struct in){.failed = true};
	if (len > ONCRPC_MAX_AUTH) {
		in->failed = true;
		return flavor;
	}
	ret_body->p = get_bytes(in, len);
	ret_body->left = len;
	ret_body->failed = in->failed;
	return flavor;
}

static ssize_t finish(const struct out *o, uint8_t *buf)
{
	struct out mark = {.p = buf, .left = ONCRPC_MARK_SIZE};

	if (o->failed)
		return -EMSGSIZE;
	put_u32(&mark, (uint32_t)(o->done - ONCRPC_MARK_SIZE) | LAST_FRAGMENT);
	return (ssize_t)o->done;
}

ssize_t oncrpc_encode_call(const struct oncrpc_call *call, uint8_t *buf, size_t size)
{
	struct out o = {.p = buf, .left = size};
	size_t machine = strnlen(call->machine, sizeof(call->machine));

	if (call->ngroups > ONCRPC_MAX_GROUPS || machine > ONCRPC_MAX_MACHINE || call->flavor > ONCRPC_AUTH_UNIX ||
		call->args_length % 4 != 0)
		return -EINVAL;
	put_u32(&o, 0); /* the mark: finish() */
	put_u32(&o, call->xid);
	put_u32(&o, MSG_CALL);
	put_u32(&o, RPC_VERSION);
	put_u32(&o, call->program);
	put_u32(&o, call->version);
	put_u32(&o, call->procedure);
	put_u32(&o, call->flavor);
	if (call->flavor == ONCRPC_AUTH_NONE) {
		put_u32(&o, 0);
	} else {
		put_u32(&o, (uint32_t)(20 + (machine + 3) / 4 * 4 + 4 * (size_t)call->ngroups));
		put_u32(&o, 0); /* stamp */
		put_u32(&o, (uint32_t)machine);
		put_bytes(&o, call->machine, machine);
		put_u32(&o, call->uid);
		put_u32(&o, call->gid);
		put_u32(&o, call->ngroups);
		for (uint32_t i = 0; i < call->ngroups; i++)
			put_u32(&o, call->groups[i]);
	}
	put_u32(&o, ONCRPC_AUTH_NONE); /* verifier */
	put_u32(&o, 0);
	put_bytes(&o, call->args, call->args_length);
	return finish(&o, buf);
}

ssize_t oncrpc_record_size(const uint8_t *buf, size_t received, size_t max)
{
	uint32_t mark;
	size_t size;

	if (received < ONCRPC_MARK_SIZE)
		return 0;
	mark = load_u32(buf);
	if ((mark & LAST_FRAGMENT) == 0)
		return -EBADMSG;
	size = (size_t)(mark & ~LAST_FRAGMENT) + ONCRPC_MARK_SIZE;
	if (size > max)
		return -EMSGSIZE;
	return received < size ? 0 : (ssize_t)size;
}

int oncrpc_decode_reply(const uint8_t *record, size_t size, uint32_t xid, enum oncrpc_result *ret_result,
	const uint8_t **ret_results, size_t *ret_results_size)
{
	struct in in = {.p = record, .left = size}, body;
	uint32_t reply_xid, kind, stat;

	(void)get_u32(&in); /* the mark */
	reply_xid = get_u32(&in);
	kind = get_u32(&in);
	if (in.failed || kind != MSG_REPLY)
		return -EBADMSG;
	if (reply_xid != xid)
		return -ENOMSG;
	kind = get_u32(&in);
	if (kind == MSG_DENIED) {
		stat = get_u32(&in);
		if (in.failed || stat > AUTH_ERROR)
			return -EBADMSG;
		*ret_result = stat == RPC_MISMATCH ? ONCRPC_DENIED_VERSION : ONCRPC_DENIED_AUTH;
		return 0;
	}
	(void)get_auth(&in, &body);
	stat = get_u32(&in);
	if (in.failed || kind != MSG_ACCEPTED || stat > ONCRPC_SYSTEM_ERR)
		return -EBADMSG;
	*ret_result = (enum oncrpc_result)stat;
	if (ret_results != NULL)
		*ret_results = in.p;
	if (ret_results_size != NULL)
		*ret_results_size = in.left;
	return 0;
}

/* authsys_parms, RFC 5531 appendix A. False if the body is malformed, or longer than authsys_parms. */
static bool decode_auth_unix(struct in *in, struct oncrpc_call *call)
{
	const uint8_t *machine;
	uint32_t len;

	(void)get_u32(in); /* stamp */
	len = get_u32(in);
	if (len > ONCRPC_MAX_MACHINE)
		return false;
	machine = get_bytes(in, len);
	call->uid = get_u32(in);
	call->gid = get_u32(in);
	call->ngroups = get_u32(in);
	if (in->failed || machine == NULL || call->ngroups > ONCRPC_MAX_GROUPS)
		return false;
	for (uint32_t i = 0; i < call->ngroups; i++)
		call->groups[i] = get_u32(in);
	memcpy(call->machine, machine, len);
	call->machine[len] = '\0';
	return !in->failed && in->left == 0;
}

int oncrpc_decode_call(const uint8_t *record, size_t size, struct oncrpc_call *ret, enum oncrpc_result *ret_result)
{
	struct in in = {.p = record, .left = size}, cred, verifier;
	struct oncrpc_call call = {0};
	uint32_t kind, version;

	(void)get_u32(&in); /* the mark */
	call.xid = get_u32(&in);
	kind = get_u32(&in);
	version = get_u32(&in);
	if (in.failed || kind != MSG_CALL)
		return -EBADMSG;
	*ret = (struct oncrpc_call){.xid = call.xid};
	if (version != RPC_VERSION) {
		*ret_result = ONCRPC_DENIED_VERSION;
		return 0;
	}
	call.program = get_u32(&in);
	call.version = get_u32(&in);
	call.procedure = get_u32(&in);
	call.flavor = get_auth(&in, &cred);
	(void)get_auth(&in, &verifier);
	if (in.failed)
		return -EBADMSG;
	if (!(call.flavor == ONCRPC_AUTH_NONE && cred.left == 0) &&
		!(call.flavor == ONCRPC_AUTH_UNIX && decode_auth_unix(&cred, &call))) {
		*ret_result = ONCRPC_DENIED_AUTH;
		return 0;
	}
	call.args = in.p;
	call.args_length = in.left;
	*ret = call;
	*ret_result = ONCRPC_SUCCESS;
	return 0;
}

ssize_t oncrpc_encode_reply(uint32_t xid, enum oncrpc_result result, uint32_t version, uint8_t *buf, size_t size)
{
	struct out o = {.p = buf, .left = size};

	put_u32(&o, 0); /* the mark: finish() */
	put_u32(&o, xid);
	put_u32(&o, MSG_REPLY);
	switch (result) {
	case ONCRPC_DENIED_VERSION:
		put_u32(&o, MSG_DENIED);
		put_u32(&o, RPC_MISMATCH);
		put_u32(&o, RPC_VERSION);
		put_u32(&o, RPC_VERSION);
		break;
	case ONCRPC_DENIED_AUTH:
		put_u32(&o, MSG_DENIED);
		put_u32(&o, AUTH_ERROR);
		put_u32(&o, AUTH_BADCRED);
		break;
	default:
		put_u32(&o, MSG_ACCEPTED);
		put_u32(&o, ONCRPC_AUTH_NONE); /* verifier */
		put_u32(&o, 0);
		put_u32(&o, result);
		if (result == ONCRPC_PROG_MISMATCH) {
			put_u32(&o, version);
			put_u32(&o, version);
		}
	}
	return finish(&o, buf);
}
