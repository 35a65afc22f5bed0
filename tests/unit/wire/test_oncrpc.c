/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cmocka_setup.h"

#include <stdlib.h>
#include <string.h>

#include "localiofs/local_rpc.h"
#include "wire/oncrpc.h"
#include "base/util.h"

static const uint8_t uuid[16] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};

static struct oncrpc_call uuid_call(void)
{
	struct oncrpc_call c = {.xid = 0x01020304,
		.program = LOCAL_RPC_PROGRAM,
		.version = LOCAL_RPC_VERSION,
		.procedure = LOCAL_RPC_UUID_IS_LOCAL,
		.flavor = ONCRPC_AUTH_UNIX,
		.uid = 1000,
		.gid = 100,
		.ngroups = 2,
		.groups = {4, 27},
		.machine = "host1",
		.args = uuid,
		.args_length = sizeof(uuid)};

	return c;
}

/* As rpc.statd's or the kernel's client would put it on the wire (RFC 5531). */
static void a_call_is_encoded_byte_for_byte(void **state)
{
	static const uint8_t expected[] = {0x80, 0, 0, 92,                /* last fragment, 92 bytes */
		1, 2, 3, 4, 0, 0, 0, 0, 0, 0, 0, 2,                       /* xid, CALL, RPC version 2 */
		0x00, 0x06, 0x1a, 0xfa, 0, 0, 0, 1, 0, 0, 0, 1,           /* 400122, 1, UUID_IS_LOCAL */
		0, 0, 0, 1, 0, 0, 0, 36,                                  /* AUTH_UNIX of 36 bytes */
		0, 0, 0, 0, 0, 0, 0, 5, 'h', 'o', 's', 't', '1', 0, 0, 0, /* stamp, machine */
		0, 0, 3, 0xe8, 0, 0, 0, 100, 0, 0, 0, 2, 0, 0, 0, 4, 0, 0, 0, 27, 0, 0, 0, 0, 0, 0, 0,
		0, /* verifier: none */
		1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16};
	struct oncrpc_call c = uuid_call();
	uint8_t buf[ONCRPC_MAX_RECORD];

	assert_int_equal(oncrpc_encode_call(&c, buf, sizeof(buf)), sizeof(expected));
	assert_memory_equal(buf, expected, sizeof(expected));
}

static void a_call_comes_back_as_it_went(void **state)
{
	struct oncrpc_call c = uuid_call(), d;
	uint8_t buf[ONCRPC_MAX_RECORD];
	enum oncrpc_result result;
	ssize_t n = oncrpc_encode_call(&c, buf, sizeof(buf));

	assert_int_equal(oncrpc_record_size(buf, (size_t)n, sizeof(buf)), n);
	assert_int_equal(oncrpc_decode_call(buf, (size_t)n, &d, &result), 0);
	assert_int_equal(result, ONCRPC_SUCCESS);
	assert_int_equal(d.xid, c.xid);
	assert_int_equal(d.program, LOCAL_RPC_PROGRAM);
	assert_int_equal(d.procedure, LOCAL_RPC_UUID_IS_LOCAL);
	assert_int_equal(d.uid, 1000);
	assert_int_equal(d.ngroups, 2);
	assert_int_equal(d.groups[1], 27);
	assert_string_equal(d.machine, "host1");
	assert_int_equal(d.args_length, 16);
	assert_memory_equal(d.args, uuid, 16);
}

static void a_buffer_too_small_is_said(void **state)
{
	struct oncrpc_call c = uuid_call();
	uint8_t buf[ONCRPC_MAX_RECORD];

	for (size_t size = 0; size < 96; size++)
		assert_int_equal(oncrpc_encode_call(&c, buf, size), -EMSGSIZE);
	c.ngroups = 17;
	assert_int_equal(oncrpc_encode_call(&c, buf, sizeof(buf)), -EINVAL);
}

static void records_wait_for_their_end_and_stay_bounded(void **state)
{
	const uint8_t whole[] = {0x80, 0, 0, 4, 1, 2, 3, 4}, fragment[] = {0, 0, 0, 4, 1, 2, 3, 4};
	const uint8_t huge[] = {0xff, 0xff, 0xff, 0xff};

	for (size_t have = 0; have < 8; have++)
		assert_int_equal(oncrpc_record_size(whole, have, 64), 0);
	assert_int_equal(oncrpc_record_size(whole, 8, 64), 8);
	assert_int_equal(oncrpc_record_size(whole, 8, 7), -EMSGSIZE);
	assert_int_equal(oncrpc_record_size(fragment, 8, 64), -EBADMSG);
	assert_int_equal(oncrpc_record_size(huge, 4, ONCRPC_MAX_RECORD), -EMSGSIZE);
}

static void each_answer_is_told_apart(void **state)
{
	static const enum oncrpc_result all[] = {ONCRPC_SUCCESS, ONCRPC_PROG_UNAVAIL, ONCRPC_PROG_MISMATCH,
		ONCRPC_PROC_UNAVAIL, ONCRPC_GARBAGE_ARGS, ONCRPC_SYSTEM_ERR, ONCRPC_DENIED_VERSION, ONCRPC_DENIED_AUTH};
	uint8_t buf[64];

	for (size_t i = 0; i < ARRAY_SIZE(all); i++) {
		enum oncrpc_result got = ONCRPC_SYSTEM_ERR;
		ssize_t n = oncrpc_encode_reply(7, all[i], 1, buf, sizeof(buf));

		assert_true(n > 0);
		assert_int_equal(oncrpc_decode_reply(buf, (size_t)n, 7, &got, NULL, NULL), 0);
		assert_int_equal(got, all[i]);
		assert_int_equal(oncrpc_decode_reply(buf, (size_t)n, 8, &got, NULL, NULL), -ENOMSG);
	}
}

static void a_cut_reply_or_call_is_refused(void **state)
{
	struct oncrpc_call c = uuid_call(), d;
	uint8_t buf[ONCRPC_MAX_RECORD];
	enum oncrpc_result result;
	ssize_t n = oncrpc_encode_reply(7, ONCRPC_SUCCESS, 1, buf, sizeof(buf));

	for (size_t cut = 0; cut < (size_t)n; cut++)
		assert_int_equal(oncrpc_decode_reply(buf, cut, 7, &result, NULL, NULL), -EBADMSG);
	(void)oncrpc_encode_call(&c, buf, sizeof(buf));
	for (size_t cut = 0; cut < 80; cut++)
		assert_int_equal(oncrpc_decode_call(buf, cut, &d, &result), -EBADMSG);
}

static void a_bad_credential_is_denied_not_believed(void **state)
{
	struct oncrpc_call c = uuid_call(), d;
	uint8_t buf[ONCRPC_MAX_RECORD];
	enum oncrpc_result result;
	ssize_t n = oncrpc_encode_call(&c, buf, sizeof(buf));

	buf[4 + 6 * 4 + 3] = 6; /* RPCSEC_GSS */
	assert_int_equal(oncrpc_decode_call(buf, (size_t)n, &d, &result), 0);
	assert_int_equal(result, ONCRPC_DENIED_AUTH);
	assert_int_equal(d.xid, c.xid);
	buf[4 + 6 * 4 + 3] = 1;
	buf[63] = 17; /* more groups than there may be */
	assert_int_equal(oncrpc_decode_call(buf, (size_t)n, &d, &result), 0);
	assert_int_equal(result, ONCRPC_DENIED_AUTH);
	buf[63] = 2;
	buf[4 + 7 * 4 + 2] = 2; /* a credential of more than 400 bytes */
	assert_int_equal(oncrpc_decode_call(buf, (size_t)n, &d, &result), -EBADMSG);
	n = oncrpc_encode_call(&c, buf, sizeof(buf));
	buf[15] = 3; /* RPC version 3 */
	assert_int_equal(oncrpc_decode_call(buf, (size_t)n, &d, &result), 0);
	assert_int_equal(result, ONCRPC_DENIED_VERSION);
}

static void random_bytes_do_no_harm(void **state)
{
	struct oncrpc_call c = uuid_call(), d;
	uint8_t good[ONCRPC_MAX_RECORD];
	enum oncrpc_result result;
	size_t n = (size_t)oncrpc_encode_call(&c, good, sizeof(good));

	srandom(1);
	for (int i = 0; i < 200000; i++) {
		size_t size = (size_t)random() % (n + 1);
		uint8_t *exact = malloc(size + 1); /* so that a sanitizer sees one byte too many */

		assert_non_null(exact);
		memcpy(exact, good, size);
		for (int j = random() % 4; j >= 0 && size > 0; j--)
			exact[(size_t)random() % size] = (uint8_t)random();
		(void)oncrpc_record_size(exact, size, 512);
		if (oncrpc_decode_call(exact, size, &d, &result) == 0 && result == ONCRPC_SUCCESS) {
			assert_true(d.ngroups <= ONCRPC_MAX_GROUPS);
			assert_true(d.args + d.args_length <= exact + size);
		}
		(void)oncrpc_decode_reply(exact, size, c.xid, &result, NULL, NULL);
		free(exact);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_call_is_encoded_byte_for_byte),
		cmocka_unit_test(a_call_comes_back_as_it_went),
		cmocka_unit_test(a_buffer_too_small_is_said),
		cmocka_unit_test(records_wait_for_their_end_and_stay_bounded),
		cmocka_unit_test(each_answer_is_told_apart),
		cmocka_unit_test(a_cut_reply_or_call_is_refused),
		cmocka_unit_test(a_bad_credential_is_denied_not_believed),
		cmocka_unit_test(random_bytes_do_no_harm),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
