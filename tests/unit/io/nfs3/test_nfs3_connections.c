/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The connections of an NFSv3 server, against a server that the test plays. */
#include <sys/ioctl.h>

#include "base/clock.h"
#include "base/util.h"
#include "base/whole_io.h"
#include "io/fake_server.h"

/* The FIN of the server leaves the client's port in other states than an RST. */
static void the_port_stays_when_the_server_closes_in_order(void **state)
{
	struct fake_server *s = *state;
	struct server *t = start(s, (struct server_options){0});
	unsigned port, port_again;
	int fd = take_live_connection(s, &port);

	for (int n = 0; n < 3; n++) {
		(void)close(fd);
		fd = take_live_connection(s, &port_again);
		assert_int_equal(port_again, port);
	}
	assert_true(s->downs >= 3);
	server_free(t);
	hang_up(fd);
}

/* The n-th wait of a client that has no success: 20 ms, doubled each time; the client adds up to half of this. */
static uint64_t least_wait(int n)
{
	return UINT64_C(20) << n;
}

/* A busy machine makes the wait longer, but not by seconds. */
static void check_wait(uint64_t ms, int n)
{
	assert_in_range(ms, least_wait(n) - 10, least_wait(n) * 3 / 2 + 5000);
}

static void a_server_that_hangs_up_is_asked_less_and_less_often(void **state)
{
	struct fake_server *s = *state;
	struct server *t = start(s, (struct server_options){0});

	hang_up(take_connection(s, NULL));
	for (int n = 0; n < 7; n++) {
		uint64_t begin = now_ms();
		int fd = take_connection(s, NULL);

		check_wait(now_ms() - begin, n);
		hang_up(fd);
	}
	assert_int_equal(s->ups, 0);
	server_free(t);
}

/* A server that answers NULL and no other call is no better. */
static void a_server_that_answers_null_only_is_asked_less_and_less_often(void **state)
{
	struct fake_server *s = *state;
	struct server *t = start(s, (struct server_options){0});
	struct client c = {0};
	int fd = take_live_connection(s, NULL);

	submit(t, &c, NFS_GETATTR);
	for (int n = 0; n < 7; n++) {
		struct request r;
		uint64_t begin;

		take_request(fd, &r);
		begin = now_ms();
		hang_up(fd);
		fd = take_live_connection(s, NULL);
		check_wait(now_ms() - begin, n);
	}
	hang_up(fd);
	server_free(t);
	assert_int_equal(c.call.error, -ENOTCONN);
}

/* After so many attempts another client would wait for more than 10 s. */
static void a_server_on_this_host_is_asked_every_second(void **state)
{
	struct fake_server *s = *state;
	struct server *t = start(s, (struct server_options){0});
	uint64_t begin;

	server_near(t);
	for (int n = 0; n < 10; n++)
		hang_up(take_connection(s, NULL));
	begin = now_ms();
	hang_up(take_connection(s, NULL));
	assert_true(now_ms() - begin < least_wait(9));
	server_free(t);
}

static void backoff_begins_anew_when_calls_were_answered_for_a_while(void **state)
{
	struct fake_server *s = *state;
	struct server *t = start(s, (struct server_options){0});
	uint64_t begin;
	int fd;

	for (int n = 0; n < 7; n++)
		hang_up(take_connection(s, NULL));
	fd = take_live_connection(s, NULL);
	(void)poll(NULL, 0, 5200);
	hang_up(fd);
	begin = now_ms();
	fd = take_live_connection(s, NULL);
	assert_true(now_ms() - begin < least_wait(7)); /* the next wait without a success */
	server_free(t);
	hang_up(fd);
}

static void wait_for_connections(struct server *t, unsigned wanted)
{
	unsigned up = 0;

	for (int tries = 0; tries < 1000 && up < wanted; tries++) {
		struct server_stats stats;

		server_stats(t, &stats);
		up = 0;
		for (unsigned n = 0; n < stats.nconnections; n++)
			up += stats.connections[n].connected;
		(void)poll(NULL, 0, 10);
	}
	assert_int_equal(up, wanted);
}

static void calls_are_spread_over_all_connections(void **state)
{
	struct fake_server *s = *state;
	struct server *t = start(s, (struct server_options){.nconnect = 4});
	struct client c[8] = {0};
	unsigned ports[4];
	int fds[4];
	struct server_stats stats;

	/* Only the first connection, until the server answers. */
	fds[0] = take_connection(s, &ports[0]);
	assert_false(readable(s->listener, 200));
	{
		struct request null;

		take_request(fds[0], &null);
		answer(fds[0], null.call.xid, NULL, 0);
	}
	for (int n = 1; n < 4; n++)
		fds[n] = take_live_connection(s, &ports[n]);
	wait_for_connections(t, 4);
	server_stats(t, &stats);
	assert_int_equal(stats.nconnections, 4);
	assert_int_equal(stats.connections[0].port, ports[0]);
	for (int n = 0; n < 8; n++)
		submit(t, &c[n], NFS_GETATTR);
	for (int n = 0; n < 4; n++)
		for (int m = 0; m < 2; m++) {
			struct request r;

			take_request(fds[n], &r);
			answer_status(fds[n], r.call.xid, 2);
		}
	for (int n = 0; n < 8; n++)
		await(&c[n]);
	server_stats(t, &stats);
	for (int n = 0; n < 4; n++)
		assert_int_equal(stats.connections[n].answered, 2);
	server_free(t);
	for (int n = 0; n < 4; n++)
		hang_up(fds[n]);
}

/* The server has a reply cache per port, so the call must not change to another connection. */
static void a_lost_call_waits_for_its_own_connection(void **state)
{
	struct fake_server *s = *state;
	struct server *t = start(s, (struct server_options){.nconnect = 2});
	unsigned ports[2], port;
	int fds[2];
	struct client c = {.call.name = "name"}, other = {0};
	struct request r;
	int lost;

	fds[0] = take_live_connection(s, &ports[0]);
	fds[1] = take_live_connection(s, &ports[1]);
	wait_for_connections(t, 2);
	submit(t, &c, NFS_MKDIR);
	lost = readable(fds[0], 2000) ? 0 : 1;
	take_request(fds[lost], &r);
	hang_up(fds[lost]);
	submit(t, &other, NFS_GETATTR);
	{
		struct request r2;

		take_request(fds[!lost], &r2);
		answer_status(fds[!lost], r2.call.xid, 2);
		await(&other);
	}
	fds[lost] = take_live_connection(s, &port);
	assert_int_equal(port, ports[lost]);
	take_request(fds[lost], &r);
	answer_status(fds[lost], r.call.xid, 13);
	await(&c);
	assert_int_equal(c.call.error, -EACCES);
	assert_int_equal(s->downs, 0);
	server_free(t);
	hang_up(fds[0]);
	hang_up(fds[1]);
}

/* Many threads, several connections, and a server that breaks the connections all the time. */
struct crowd {
	struct server *t;
	atomic_int answered;
};

static void *crowd_member(void *arg)
{
	struct crowd *crowd = arg;

	for (int n = 0; n < 200; n++) {
		struct nfs_call call = {.proc = NFS_GETATTR, .fh = {.len = 4}};

		if (server_call(crowd->t, &call) == -ENOENT)
			crowd->answered++;
	}
	return NULL;
}

struct worker {
	struct fake_server *s;
	atomic_bool stop;
	unsigned served;
};

/* Answers every request on all connections, and breaks a connection after each 50 answers. */
static void *break_and_answer(void *arg)
{
	struct worker *w = arg;
	struct pollfd fds[9] = {{.fd = w->s->listener, .events = POLLIN}};
	int n = 1;

	while (!w->stop) {
		if (poll(fds, (nfds_t)n, 20) <= 0)
			continue;
		for (int i = n - 1; i > 0; i--) {
			uint8_t record[8192];
			size_t size;

			if (!fds[i].revents)
				continue;
			if (recv(fds[i].fd, record, 4, MSG_WAITALL) == 4) {
				size = load_u32(record) & 0x7fffffff;
				if (recv(fds[i].fd, record + 4, size, MSG_WAITALL) == (ssize_t)size) {
					uint8_t reply[64];
					bool null = load_u32(record + 24) == 0;
					ssize_t length = oncrpc_encode_reply(load_u32(record + 4), ONCRPC_SUCCESS, 0,
						reply, sizeof(reply));

					if (!null) {
						reply[3] = (uint8_t)(reply[3] + 4);
						memcpy(reply + length, "\0\0\0\2", 4);
						length += 4;
					}
					if (++w->served % 50 != 0) {
						(void)!send(fds[i].fd, reply, (size_t)length, MSG_NOSIGNAL);
						continue;
					}
				}
			}
			hang_up(fds[i].fd);
			fds[i] = fds[--n];
		}
		if (fds[0].revents && n < 9)
			fds[n++] = (struct pollfd){.fd = accept(w->s->listener, NULL, NULL), .events = POLLIN};
	}
	for (int i = 1; i < n; i++)
		hang_up(fds[i].fd);
	return NULL;
}

static void many_threads_and_a_server_that_breaks(void **state)
{
	struct fake_server *s = *state;
	struct worker w = {.s = s};
	struct crowd crowd = {.t = start(s, (struct server_options){.nconnect = 4})};
	pthread_t server, members[4];

	assert_int_equal(pthread_create(&server, NULL, break_and_answer, &w), 0);
	for (size_t n = 0; n < ARRAY_SIZE(members); n++)
		assert_int_equal(pthread_create(&members[n], NULL, crowd_member, &crowd), 0);
	for (size_t n = 0; n < ARRAY_SIZE(members); n++)
		(void)pthread_join(members[n], NULL);
	assert_int_equal(crowd.answered, 800);
	server_free(crowd.t);
	w.stop = true;
	(void)pthread_join(server, NULL);
}

/* The name has a new address: the old address refuses connections, so the client resolves the name. */
static void a_server_that_moved_is_found_by_its_name(void **state)
{
	struct fake_server *s = *state;
	struct server_options o = {.host = "localhost"};
	struct server_place place = {.address = "127.0.0.2", .port = s->port};
	struct server *t = NULL;
	int fd;

	assert_int_equal(nfs3_version.start(&o, &place, &t), 0);
	fd = take_live_connection(s, NULL);
	server_free(t);
	hang_up(fd);
}

static void calls_that_are_submitted_together_leave_together(void **state)
{
	struct fake_server *s = *state;
	struct server *t = start(s, (struct server_options){0});
	int fd = take_live_connection(s, NULL), left;
	struct client c[3];
	struct list calls;
	struct request r;

	for (int round = 0; round < 50; round++) {
		memset(c, 0, sizeof(c));
		list_init(&calls);
		for (int n = 0; n < 3; n++) {
			prepare(&c[n], NFS_GETATTR);
			list_append(&calls, &c[n].call.node);
		}
		server_submit_all(t, &calls);
		assert_true(list_empty(&calls));
		take_request(fd, &r);
		assert_true(ioctl(fd, FIONREAD, &left) == 0 && left == 2 * (int)r.size);
		answer_status(fd, r.call.xid, 2);
		for (int n = 1; n < 3; n++) {
			take_request(fd, &r);
			answer_status(fd, r.call.xid, 2);
		}
		for (int n = 0; n < 3; n++) {
			await(&c[n]);
			assert_int_equal(c[n].call.error, -ENOENT);
		}
	}
	server_stop(t);
	memset(c, 0, sizeof(c));
	for (int n = 0; n < 3; n++) {
		prepare(&c[n], NFS_GETATTR);
		list_append(&calls, &c[n].call.node);
	}
	server_submit_all(t, &calls);
	for (int n = 0; n < 3; n++)
		assert_int_equal(c[n].call.error, -ENOTCONN);
	server_free(t);
	hang_up(fd);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(the_port_stays_when_the_server_closes_in_order),
		TEST(a_server_that_hangs_up_is_asked_less_and_less_often),
		TEST(a_server_that_answers_null_only_is_asked_less_and_less_often),
		TEST(a_server_on_this_host_is_asked_every_second),
		TEST(backoff_begins_anew_when_calls_were_answered_for_a_while),
		TEST(calls_are_spread_over_all_connections),
		TEST(calls_that_are_submitted_together_leave_together),
		TEST(a_lost_call_waits_for_its_own_connection),
		TEST(many_threads_and_a_server_that_breaks),
		TEST(a_server_that_moved_is_found_by_its_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
