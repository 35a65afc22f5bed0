/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cmocka_setup.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/util.h"
#include "sidecar/broker/packet.h"
#include "sidecar/session/session.h"
#include "wire/broker_messages.h"

#define EVERY_STATE (SESSION_NEW | SESSION_ANNOUNCED | SESSION_MATCHED | SESSION_READY)

/* The protocol once more, in numbers: bytes of the packet and of the reply's. */
static const struct {
	uint32_t type, length, reply, states;
	bool descriptor;
	int fh, cred, fh2; /* fh2: 0: none */
} expected[] = {
	{BROKER_ANNOUNCE, 40, 72, SESSION_NEW | SESSION_READY, false, -1, -1},
	{BROKER_HELLO, 156, 248, SESSION_MATCHED, true, 4, -1},
	{BROKER_OPEN, 228, 152, SESSION_READY, false, 0, 132},
	{BROKER_RELEASE, 144, 24, SESSION_READY, false, -1, -1},
	{BROKER_COMMIT, 24, 24, SESSION_READY, false, -1, -1},
	{BROKER_PING, 16, 24, EVERY_STATE, false, -1, -1},
	{BROKER_FALLOCATE, 40, 24, SESSION_READY, false, -1, -1},
	{BROKER_SEEK, 40, 32, SESSION_READY, false, -1, -1},
	{BROKER_COPY, 48, 32, SESSION_READY, false, -1, -1},
	{BROKER_TRUNCATE, 232, 112, SESSION_READY, false, 0, 132},
	{BROKER_SYNC_DIR, 224, 24, SESSION_READY, false, 0, 132},
	{BROKER_LOOKUP, 484, 336, SESSION_READY, false, 0, 132},
	{BROKER_DIGEST, 240, 128, SESSION_READY, false, 0, 132},
	{BROKER_LIST, 232, 120, SESSION_READY, false, 0, 132},
	{BROKER_MAKE, 500, 424, SESSION_READY, false, 0, 132},
	{BROKER_SYMLINK, 996, 424, SESSION_READY, false, 0, 132},
	{BROKER_REMOVE, 484, 504, SESSION_READY, false, 0, 132},
	{BROKER_RENAME, 872, 504, SESSION_READY, false, 0, 264, 132},
	{BROKER_LINK, 616, 504, SESSION_READY, false, 0, 264, 132},
	{BROKER_SETATTR, 272, 504, SESSION_READY, false, 0, 132},
	{BROKER_PROVE, 16, 24, SESSION_MATCHED, true, -1, -1},
	{BROKER_MATCHED, 80, 0, 0, false, -1, -1},
	{BROKER_REVOKE, 24, 0, 0, false, -1, -1},
	{BROKER_GOODBYE, 24, 0, 0, false, -1, -1},
	{BROKER_NOTICE, 592, 0, 0, false, -1, -1},
};

static int pair[2];

static int connect_pair(void **state)
{
	return socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair);
}

static int close_pair(void **state)
{
	(void)close_fd(pair[0]);
	(void)close_fd(pair[1]);
	return 0;
}

static struct packet packet_of(uint32_t type)
{
	struct packet p = {.header = {.type = type, .length = broker_packet_length(type), .id = 5}};

	return p;
}

static void send_with_fds(const struct packet *p, size_t size, int nfds)
{
	union {
		struct cmsghdr align;
		char room[CMSG_SPACE(8 * sizeof(int))];
	} control = {0};
	struct iovec iov = {.iov_base = (void *)(uintptr_t)p, .iov_len = size};
	struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1};
	int fds[8];

	for (int i = 0; i < nfds; i++)
		fds[i] = pair[0];
	if (nfds > 0) {
		struct cmsghdr *c;

		msg.msg_control = &control;
		msg.msg_controllen = CMSG_SPACE((size_t)nfds * sizeof(int));
		c = CMSG_FIRSTHDR(&msg);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN((size_t)nfds * sizeof(int));
		memcpy(CMSG_DATA(c), fds, (size_t)nfds * sizeof(int));
	}
	assert_true(sendmsg(pair[0], &msg, 0) >= 0);
}

static int lowest_free_fd(void)
{
	int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);

	(void)close_fd(fd);
	return fd;
}

static void every_line_of_the_table_is_as_the_protocol_says(void **state)
{
	for (size_t i = 0; i < ARRAY_SIZE(expected); i++) {
		const struct broker_message *m = broker_message_find(expected[i].type);

		assert_non_null(m);
		assert_int_equal(m->type, expected[i].type);
		assert_int_equal(broker_packet_length(m->type), expected[i].length);
		assert_int_equal(broker_packet_length(m->type | BROKER_REPLY), expected[i].reply);
		assert_int_equal(m->states, expected[i].states);
		assert_int_equal(m->descriptor, expected[i].descriptor);
		assert_int_equal(m->fh, expected[i].fh);
		assert_int_equal(m->cred, expected[i].cred);
		assert_int_equal(m->fh2, expected[i].fh2 > 0 ? expected[i].fh2 : -1);
	}
}

static void there_are_no_other_messages(void **state)
{
	unsigned messages = 0, packets = 0;

	for (uint32_t type = 0; type < 0x1000; type++) {
		uint32_t length = broker_packet_length(type);

		assert_true(length <= BROKER_MAX_MESSAGE);
		messages += broker_message_find(type) != NULL;
		packets += length != 0;
	}
	assert_int_equal(messages, ARRAY_SIZE(expected));
	assert_int_equal(packets, 46);
}

static void only_the_reply_to_list_has_several_lengths(void **state)
{
	for (uint32_t type = 0; type < 0x1000; type++) {
		uint32_t least = broker_packet_length(type);
		uint32_t most = type == (BROKER_LIST | BROKER_REPLY) ? BROKER_MAX_LISTED : least;

		for (uint32_t length = 0; least == 0 && length < 100; length++)
			assert_false(broker_packet_fits(type, length));
		if (least == 0)
			continue;
		assert_false(broker_packet_fits(type, least - 1));
		assert_true(broker_packet_fits(type, least));
		assert_true(broker_packet_fits(type, most));
		assert_false(broker_packet_fits(type, most + 1));
		assert_true(most == least || broker_packet_fits(type, least + 1));
	}
}

/* ---- the entries behind the reply to LIST ---- */

static const uint8_t handle[BROKER_MAX_FH] = {1, 2, 3};
static char name[BROKER_MAX_NAME + 1];

/* A name and a handle of these lengths. */
static struct broker_entry_ref entry_of(uint32_t fh_length, uint32_t name_length)
{
	memset(name, 'n', name_length);
	name[name_length] = '\0';
	return (struct broker_entry_ref){.entry = {.cookie = name_length,
						 .fileid = 7,
						 .fh_length = fh_length,
						 .name_length = name_length},
		.fh = handle,
		.name = name};
}

static void an_entry_is_read_as_it_was_written(void **state)
{
	static uint8_t room[2 * BROKER_MAX_LISTED];
	size_t used = 0, at = 0;
	struct broker_entry_ref e;

	for (uint32_t length = 1; length <= BROKER_MAX_NAME; length++) {
		size_t before = used;

		e = entry_of(length % (BROKER_MAX_FH + 1), length);
		assert_false(
			broker_entry_put(room, used + broker_entry_size(e.entry.fh_length, length) - 1, &used, &e));
		assert_int_equal(used, before);
		assert_true(broker_entry_put(room, used + broker_entry_size(e.entry.fh_length, length), &used, &e));
		assert_int_equal(used % 8, 0);
	}
	for (uint32_t length = 1; length <= BROKER_MAX_NAME; length++) {
		assert_true(broker_entry_get(room, used, &at, &e));
		assert_int_equal(e.entry.cookie, length);
		assert_int_equal(e.entry.fh_length, length % (BROKER_MAX_FH + 1));
		assert_memory_equal(e.fh, handle, e.entry.fh_length);
		assert_int_equal(strlen(e.name), length);
	}
	assert_int_equal(at, used);
	assert_false(broker_entry_get(room, used, &at, &e));
}

/* An entry of which one byte is another. */
static bool is_read_with(size_t offset, uint8_t byte)
{
	uint8_t room[256];
	size_t used = 0, at = 0;
	struct broker_entry_ref e = entry_of(5, 3);

	assert_true(broker_entry_put(room, sizeof(room), &used, &e));
	room[offset] = byte;
	return broker_entry_get(room, used, &at, &e);
}

static void a_wrong_entry_is_not_read(void **state)
{
	const size_t fh_length = offsetof(struct broker_entry, fh_length);
	const size_t name_length = offsetof(struct broker_entry, name_length);
	const size_t text = sizeof(struct broker_entry) + 5;
	uint8_t room[256];
	size_t used = 0;
	struct broker_entry_ref e = entry_of(5, 3);

	assert_true(is_read_with(0, 9));
	for (unsigned byte = 0; byte < 256; byte++) {
		assert_int_equal(is_read_with(name_length, (uint8_t)byte), byte == 3);
		assert_int_equal(is_read_with(text + 1, (uint8_t)byte), byte != 0 && byte != '/');
		assert_int_equal(is_read_with(text + 3, (uint8_t)byte), byte == 0);
	}
	assert_false(is_read_with(fh_length, BROKER_MAX_FH + 1));
	assert_false(is_read_with(fh_length + 3, 1));
	assert_false(is_read_with(name_length + 3, 1));
	assert_true(broker_entry_put(room, sizeof(room), &used, &e));
	for (size_t length = 0; length < used; length++) {
		size_t at = 0;

		assert_false(broker_entry_get(room, length, &at, &e));
	}
}

/* The kernel refuses a packet that can never be sent. */
static void the_room_of_a_socket_is_that_of_the_kernel(void **state)
{
	static const uint8_t entries[BROKER_MAX_LISTED];
	const struct broker_listed reply = {.count = 1};
	const size_t fixed = sizeof(struct broker_header) + sizeof(reply);
	static uint8_t got[BROKER_MAX_LISTED];
	struct counters counters = {0};
	socklen_t size = sizeof(int);
	int room = 20000;

	assert_int_equal(setsockopt(pair[1], SOL_SOCKET, SO_SNDBUF, &room, sizeof(room)), 0);
	assert_int_equal(getsockopt(pair[1], SOL_SOCKET, SO_SNDBUF, &room, &size), 0);
	assert_true(packet_has_room(pair[1], (size_t)room - 32));
	assert_int_equal(packet_reply_listed(pair[1], &counters, 9, &reply, entries, (size_t)room - 32 - fixed), 0);
	assert_int_equal(recv(pair[0], got, sizeof(got), 0), room - 32);
	assert_false(packet_has_room(pair[1], (size_t)room - 31));
	assert_int_equal(packet_reply_listed(pair[1], &counters, 9, &reply, entries, (size_t)room - 31 - fixed),
		-EMSGSIZE);
	assert_false(packet_has_room(-1, 1));
}

static void every_request_and_nothing_else_has_a_handler(void **state)
{
	for (uint32_t type = 0; type < 0x1000; type++) {
		const struct broker_message *m = broker_message_find(type);

		assert_int_equal(session_handler(type) != NULL, m != NULL && m->states != 0);
	}
}

/* The session takes descriptors in no other state, and closes those of a hostile client in a process of their own. */
static void descriptors_come_after_the_match_only(void **state)
{
	for (size_t i = 0; i < ARRAY_SIZE(expected); i++)
		if (broker_message_find(expected[i].type)->descriptor)
			assert_int_equal(broker_message_find(expected[i].type)->states, SESSION_MATCHED);
}

static void every_length_but_the_right_one_is_refused(void **state)
{
	struct packet p;

	for (uint32_t type = 0; type < 0x400; type++) {
		const struct broker_message *m = broker_message_find(type);
		const uint32_t one = 1;

		p = packet_of(type);
		if (m != NULL && m->fh >= 0)
			memcpy(p.body.bytes + m->fh, &one, sizeof(one));
		if (m != NULL && m->fh2 >= 0)
			memcpy(p.body.bytes + m->fh2, &one, sizeof(one));
		if (type == BROKER_ANNOUNCE)
			p.body.announce.version = BROKER_VERSION;
		for (uint32_t size = 0; size <= BROKER_MAX_MESSAGE; size++) {
			bool right = type < BROKER_REPLY && size > 0 && size == broker_packet_length(type);

			p.header.length = size;
			for (int fds = 0; fds <= 2; fds++) {
				bool taken = right && fds <= (m->descriptor ? 1 : 0);

				assert_int_equal(packet_check(&p, size, fds), taken ? 0 : -EPROTO);
			}
		}
	}
	p = packet_of(BROKER_PING);
	assert_int_equal(packet_check(&p, p.header.length - 1, 0), -EPROTO);
}

/* The length of the handle and the number of groups, where a message has them: below, in and above their ranges. */
static void lengths_inside_are_checked_in_every_message(void **state)
{
	static const uint32_t lengths[] = {0, 1, BROKER_MAX_FH, BROKER_MAX_FH + 1, UINT32_MAX};
	static const uint32_t counts[] = {0, BROKER_MAX_GROUPS, BROKER_MAX_GROUPS + 1, UINT32_MAX - 1,
		BROKER_GROUPS_UNTOLD};

	for (size_t i = 0; i < ARRAY_SIZE(expected); i++) {
		struct packet p = packet_of(expected[i].type);

		if (expected[i].fh < 0)
			continue;
		for (size_t j = 0; expected[i].fh2 > 0 && j < ARRAY_SIZE(lengths); j++) {
			const uint32_t one = 1;

			memcpy(p.body.bytes + expected[i].fh, &one, sizeof(one));
			memcpy(p.body.bytes + expected[i].fh2, &lengths[j], sizeof(lengths[j]));
			assert_int_equal(packet_check(&p, p.header.length, 0),
				lengths[j] >= 1 && lengths[j] <= BROKER_MAX_FH ? 0 : -EPROTO);
		}
		if (expected[i].fh2 > 0) {
			const uint32_t one = 1;

			memcpy(p.body.bytes + expected[i].fh2, &one, sizeof(one));
		}
		for (size_t j = 0; j < ARRAY_SIZE(lengths) * ARRAY_SIZE(counts); j++) {
			uint32_t length = lengths[j % ARRAY_SIZE(lengths)], count = counts[j / ARRAY_SIZE(lengths)];
			bool right =
				length >= 1 && length <= BROKER_MAX_FH &&
				(expected[i].cred < 0 || count <= BROKER_MAX_GROUPS || count == BROKER_GROUPS_UNTOLD);

			memcpy(p.body.bytes + expected[i].fh, &length, sizeof(length));
			if (expected[i].cred >= 0) /* behind uid and gid */
				memcpy(p.body.bytes + expected[i].cred + 8, &count, sizeof(count));
			assert_int_equal(packet_check(&p, p.header.length, 0), right ? 0 : -EPROTO);
		}
	}
}

static void another_version_is_told_from_a_broken_message(void **state)
{
	struct packet p = packet_of(BROKER_ANNOUNCE);
	uint32_t right = p.header.length;

	p.body.announce.version = BROKER_VERSION;
	assert_int_equal(packet_check(&p, right, 0), 0);
	p.body.announce.version = BROKER_VERSION + 1;
	for (uint32_t size = sizeof(p.header) + 4; size <= BROKER_MAX_MESSAGE; size++) {
		p.header.length = size;
		assert_int_equal(packet_check(&p, size, 0), -EPROTONOSUPPORT);
	}
	p.header.length = right + 1;
	assert_int_equal(packet_check(&p, right, 0), -EPROTO);
}

static void lengths_inside_are_checked(void **state)
{
	struct packet p = packet_of(BROKER_OPEN);

	assert_int_equal(packet_check(&p, p.header.length, 0), -EPROTO); /* no handle */
	p.body.open.fh.length = BROKER_MAX_FH;
	assert_int_equal(packet_check(&p, p.header.length, 0), 0);
	p.body.open.fh.length = BROKER_MAX_FH + 1;
	assert_int_equal(packet_check(&p, p.header.length, 0), -EPROTO);
	p.body.open.fh.length = 32;
	p.body.open.cred.ngroups = BROKER_MAX_GROUPS + 1;
	assert_int_equal(packet_check(&p, p.header.length, 0), -EPROTO);
	p = packet_of(BROKER_TRUNCATE);
	assert_int_equal(packet_check(&p, p.header.length, 0), -EPROTO);
	p.body.truncate.fh.length = 32;
	assert_int_equal(packet_check(&p, p.header.length, 0), 0);
	p.body.truncate.cred.ngroups = BROKER_MAX_GROUPS + 1;
	assert_int_equal(packet_check(&p, p.header.length, 0), -EPROTO);
	p = packet_of(BROKER_SYNC_DIR);
	assert_int_equal(packet_check(&p, p.header.length, 0), -EPROTO);
	p.body.sync_dir.fh.length = 32;
	assert_int_equal(packet_check(&p, p.header.length, 0), 0);
	p.body.sync_dir.cred.ngroups = BROKER_MAX_GROUPS + 1;
	assert_int_equal(packet_check(&p, p.header.length, 0), -EPROTO);
	p = packet_of(BROKER_HELLO);
	assert_int_equal(packet_check(&p, p.header.length, 1), -EPROTO);
	p.body.hello.root.length = 32;
	assert_int_equal(packet_check(&p, p.header.length, 1), 0);
	assert_int_equal(packet_check(&p, p.header.length, 0), 0); /* nothing can be registered */
	assert_int_equal(packet_check(&p, p.header.length, 2), -EPROTO);
}

static void hello_brings_its_descriptor(void **state)
{
	struct packet p = packet_of(BROKER_HELLO), q;

	p.body.hello.root.length = 32;
	send_with_fds(&p, p.header.length, 1);
	assert_int_equal(packet_receive(pair[1], true, &q), 0);
	assert_true(q.fd >= 0);
	assert_int_equal(fcntl(q.fd, F_GETFD), FD_CLOEXEC);
	(void)close_fd(q.fd);
}

static void stray_descriptors_are_closed(void **state)
{
	struct packet p = packet_of(BROKER_PING), q;
	int before = lowest_free_fd();

	for (int n = 1; n <= 8; n++) { /* more than there is room for, too */
		send_with_fds(&p, p.header.length, n);
		assert_int_equal(packet_receive(pair[1], true, &q), -EPROTO);
		assert_int_equal(q.fd, -1);
	}
	p = packet_of(BROKER_HELLO);
	p.body.hello.root.length = 32;
	for (int n = 2; n <= 8; n++) {
		send_with_fds(&p, p.header.length, n);
		assert_int_equal(packet_receive(pair[1], true, &q), -EPROTO);
	}
	assert_int_equal(lowest_free_fd(), before);
}

static void a_packet_too_long_is_refused(void **state)
{
	static uint8_t big[2 * BROKER_MAX_MESSAGE];
	struct packet p = packet_of(BROKER_PING), q;

	memcpy(big, &p.header, sizeof(p.header));
	assert_true(send(pair[0], big, sizeof(big), 0) == sizeof(big));
	assert_int_equal(packet_receive(pair[1], true, &q), -EPROTO);
}

static void the_end_is_seen(void **state)
{
	struct packet q;

	assert_int_equal(packet_receive(pair[1], true, &q), -EAGAIN);
	pair[0] = close_fd(pair[0]);
	assert_int_equal(packet_receive(pair[1], true, &q), -ECONNRESET);
}

static void a_status_arrives_whole(void **state)
{
	struct {
		struct broker_header header;
		struct broker_status status;
	} got;

	assert_int_equal(packet_send_status(pair[1], BROKER_PING | BROKER_REPLY, 9, -EAGAIN, 23), 0);
	assert_int_equal(recv(pair[0], &got, sizeof(got), 0), sizeof(got));
	assert_int_equal(got.header.type, BROKER_PING | BROKER_REPLY);
	assert_int_equal(got.header.length, sizeof(got));
	assert_int_equal(got.header.id, 9);
	assert_int_equal(got.status.error, -EAGAIN);
	assert_int_equal(got.status.reason, 23);
}

static void random_packets_do_no_harm(void **state)
{
	int before = lowest_free_fd();

	srandom(1);
	for (int i = 0; i < 50000; i++) {
		struct packet p = packet_of((uint32_t)(random() % 16)), q;
		size_t size = random() % 3 == 0 ? (size_t)random() % BROKER_MAX_MESSAGE + 1 : p.header.length;

		for (int j = 0; j < 8; j++)
			p.body.bytes[random() % 64] = (uint8_t)random();
		if (size == 0)
			continue;
		send_with_fds(&p, size, (int)(random() % 3));
		if (packet_receive(pair[1], true, &q) == 0)
			(void)close_fd(q.fd);
	}
	assert_int_equal(lowest_free_fd(), before);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_line_of_the_table_is_as_the_protocol_says),
		cmocka_unit_test(there_are_no_other_messages),
		cmocka_unit_test(only_the_reply_to_list_has_several_lengths),
		cmocka_unit_test(an_entry_is_read_as_it_was_written),
		cmocka_unit_test(a_wrong_entry_is_not_read),
		cmocka_unit_test_setup_teardown(the_room_of_a_socket_is_that_of_the_kernel, connect_pair, close_pair),
		cmocka_unit_test(every_request_and_nothing_else_has_a_handler),
		cmocka_unit_test(descriptors_come_after_the_match_only),
		cmocka_unit_test(every_length_but_the_right_one_is_refused),
		cmocka_unit_test(lengths_inside_are_checked_in_every_message),
		cmocka_unit_test(another_version_is_told_from_a_broken_message),
		cmocka_unit_test(lengths_inside_are_checked),
		cmocka_unit_test_setup_teardown(hello_brings_its_descriptor, connect_pair, close_pair),
		cmocka_unit_test_setup_teardown(stray_descriptors_are_closed, connect_pair, close_pair),
		cmocka_unit_test_setup_teardown(a_packet_too_long_is_refused, connect_pair, close_pair),
		cmocka_unit_test_setup_teardown(the_end_is_seen, connect_pair, close_pair),
		cmocka_unit_test_setup_teardown(a_status_arrives_whole, connect_pair, close_pair),
		cmocka_unit_test_setup_teardown(random_packets_do_no_harm, connect_pair, close_pair),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
