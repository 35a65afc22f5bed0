/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Calls of an NFSv3 server, and their answers, against a server that the test plays. */
#include "base/clock.h"
#include "base/util.h"
#include "base/whole_io.h"
#include "io/fake_server.h"

static void a_call_is_answered(void **state)
{
	struct fake_server *s = *state;
	struct server *t = start(s, (struct server_options){0});
	int fd = take_live_connection(s, NULL);
	struct client c = {0};
	struct server_stats stats;
	struct request r;

	submit(t, &c, NFS_GETATTR);
	take_request(fd, &r);
	assert_int_equal(r.call.procedure, 1);
	answer_status(fd, r.call.xid, 2);
	await(&c);
	assert_int_equal(c.call.error, -ENOENT);
	server_stats(t, &stats);
	assert_true(stats.connected);
	assert_int_equal(stats.calls[NFS_GETATTR], 1);
	assert_int_equal(stats.connections[0].answered, 1);
	assert_int_equal(s->ups, 1);
	server_free(t);
	hang_up(fd);
}

static void answers_may_come_in_any_order(void **state)
{
	struct fake_server *s = *state;
	struct server *t = start(s, (struct server_options){0});
	int fd = take_live_connection(s, NULL);
	struct client first = {0}, second = {0};
	struct request r1, r2;

	submit(t, &first, NFS_GETATTR);
	take_request(fd, &r1);
	submit(t, &second, NFS_GETATTR);
	take_request(fd, &r2);
	answer_status(fd, r2.call.xid, 2);
	await(&second);
	assert_int_equal(first.times, 0);
	answer_status(fd, r1.call.xid, 13);
	await(&first);
	assert_int_equal(first.call.error, -EACCES);
	assert_int_equal(second.call.error, -ENOENT);
	server_free(t);
	hang_up(fd);
}

/* The times that a thread of this process has gone to sleep. */
static unsigned long sleeps_of(int thread)
{
	char path[64], line[256];
	unsigned long sleeps = 0;
	FILE *f;

	(void)snprintf(path, sizeof(path), "/proc/self/task/%d/status", thread);
	f = fopen(path, "re");
	assert_non_null(f);
	while (fgets(line, sizeof(line), f))
		(void)sscanf(line, "voluntary_ctxt_switches: %lu", &sleeps);
	(void)fclose(f);
	return sleeps;
}

static void the_thread_that_submits_a_call_sends_it(void **state)
{
	enum {
		CALLS = 100
	};
	struct fake_server *s = *state;
	struct server *t = start(s, (struct server_options){0});
	int fd = take_live_connection(s, NULL);
	static struct client c[CALLS + 1];
	unsigned long before;
	uint64_t begin;
	struct request r;

	submit(t, &c[CALLS], NFS_GETATTR);
	take_request(fd, &r);
	answer_status(fd, r.call.xid, 2);
	await(&c[CALLS]);
	assert_true(s->loop != 0);
	begin = now_ms();
	before = sleeps_of(s->loop);
	for (int n = 0; n < CALLS; n++) {
		submit(t, &c[n], NFS_GETATTR);
		take_request(fd, &r);
	}
	assert_true(sleeps_of(s->loop) - before < CALLS / 2 + (now_ms() - begin) / 500);
	server_free(t);
	hang_up(fd);
}

/* The server's reply cache knows a call again by its bytes and the client's port. */
static void a_call_is_sent_again_as_the_same_bytes_from_the_same_port(void **state)
{
	struct fake_server *s = *state;
	struct server *t = start(s, (struct server_options){0});
	unsigned port, port_again;
	int fd = take_live_connection(s, &port);
	struct client c = {.call.name = "made once"};
	struct request before, after;

	submit(t, &c, NFS_MKDIR);
	take_request(fd, &before);
	hang_up(fd);
	fd = take_live_connection(s, &port_again);
	take_request(fd, &after);
	assert_int_equal(after.size, before.size);
	assert_memory_equal(after.record, before.record, before.size);
	assert_int_equal(port_again, port);
	answer_status(fd, after.call.xid, 13);
	await(&c);
	assert_int_equal(c.times, 1);
	server_free(t);
	hang_up(fd);
}

static void lost_calls_are_sent_again_in_order_before_new_calls(void **state)
{
	struct fake_server *s = *state;
	struct server *t = start(s, (struct server_options){0});
	int fd = take_live_connection(s, NULL);
	struct client old[3] = {0}, new = {0};
	struct request r;
	uint32_t xids[3];

	for (int n = 0; n < 3; n++) {
		submit(t, &old[n], NFS_GETATTR);
		take_request(fd, &r);
		xids[n] = r.call.xid;
	}
	hang_up(fd);
	submit(t, &new, NFS_ACCESS);
	fd = take_live_connection(s, NULL);
	for (int n = 0; n < 3; n++) {
		take_request(fd, &r);
		assert_int_equal(r.call.xid, xids[n]);
		answer_status(fd, r.call.xid, 2);
		await(&old[n]);
	}
	take_request(fd, &r);
	assert_int_equal(r.call.procedure, 4);
	answer_status(fd, r.call.xid, 2);
	await(&new);
	server_free(t);
	hang_up(fd);
}

/* libnfs gives up a connection after an answer without a call. The calls are sent again on the next connection. */
static void an_answer_without_a_call_does_no_harm(void **state)
{
	struct fake_server *s = *state;
	struct server *t = start(s, (struct server_options){0});
	int fd = take_live_connection(s, NULL);
	struct client c = {0};
	struct request r, again;

	submit(t, &c, NFS_GETATTR);
	take_request(fd, &r);
	answer_status(fd, r.call.xid + 1000, 0);
	hang_up(fd);
	fd = take_live_connection(s, NULL);
	take_request(fd, &again);
	assert_int_equal(again.call.xid, r.call.xid);
	answer_status(fd, r.call.xid, 2);
	await(&c);
	assert_int_equal(c.call.error, -ENOENT);
	server_free(t);
	hang_up(fd);
}

static atomic_bool unwanted;

static bool give_up(struct nfs_call *call)
{
	return unwanted;
}

static void a_call_that_is_given_up_ends_and_its_answer_is_dropped(void **state)
{
	struct fake_server *s = *state;
	struct server *t = start(s, (struct server_options){0});
	int fd = take_live_connection(s, NULL);
	struct client c = {.call.given_up = give_up, .call.name = "late"}, next = {0};
	struct request r, r2;

	unwanted = false;
	submit(t, &c, NFS_MKDIR);
	take_request(fd, &r);
	unwanted = true;
	await(&c);
	assert_int_equal(c.call.error, -EINTR);
	memset(&c.call, 0xee, sizeof(c.call)); /* the call belongs to the caller again */
	submit(t, &next, NFS_GETATTR);
	take_request(fd, &r2);
	answer_status(fd, r.call.xid, 0);
	answer_status(fd, r2.call.xid, 2);
	await(&next);
	assert_int_equal(next.call.error, -ENOENT);
	assert_int_equal(c.times, 1);
	server_free(t);
	hang_up(fd);
}

static void calls_can_be_given_up_while_there_is_no_server(void **state)
{
	struct fake_server *s = *state;
	struct server *t;
	struct client c = {.call.given_up = give_up};

	unwanted = true;
	(void)shutdown(s->listener, SHUT_RDWR); /* from now on connections are refused */
	t = start(s, (struct server_options){0});
	submit(t, &c, NFS_GETATTR);
	await(&c);
	assert_int_equal(c.call.error, -EINTR);
	server_free(t);
}

/* The data belongs to the caller again while libnfs still has to send the call. */
static void a_call_may_be_given_up_while_it_is_written(void **state)
{
	struct fake_server *s = *state;
	struct server *t = start(s, (struct server_options){0});
	int fd = take_live_connection(s, NULL);
	size_t size = 16U << 20, sum = 0;
	struct client big = {.call.given_up = give_up}, next = {0};
	char *data = malloc(size);
	uint8_t mark[4], *request;
	struct request r;

	assert_non_null(data);
	memset(data, 1, size);
	big.call.args.io.data = data;
	big.call.args.io.count = (uint32_t)size;
	unwanted = false;
	submit(t, &big, NFS_WRITE);
	assert_true(readable(fd, PATIENCE_S * 1000));
	unwanted = true;
	await(&big);
	assert_int_equal(big.call.error, -EINTR);
	memset(data, 2, size);
	free(data);
	memset(&big.call, 0xee, sizeof(big.call));
	submit(t, &next, NFS_GETATTR);
	read_exactly(fd, mark, 4);
	size = load_u32(mark) & 0x7fffffff;
	request = malloc(size);
	assert_non_null(request);
	read_exactly(fd, request, size);
	for (size_t n = size - (16U << 20); n < size; n++)
		sum += request[n];
	assert_int_equal(sum, 16U << 20);
	free(request);
	take_request(fd, &r);
	assert_int_equal(r.call.procedure, 1);
	answer_status(fd, r.call.xid, 2);
	await(&next);
	server_free(t);
	hang_up(fd);
}

static void a_call_without_an_answer_is_sent_again(void **state)
{
	struct fake_server *s = *state;
	struct server *t = start(s, (struct server_options){.timeo_ms = 200, .retrans = 100});
	int fd = take_live_connection(s, NULL);
	struct client c = {.call.name = "name"};
	struct request first, again, third;
	uint64_t begin = now_ms(), second_at;

	submit(t, &c, NFS_MKDIR);
	take_request(fd, &first);
	take_request(fd, &again);
	second_at = now_ms();
	take_request(fd, &third);
	assert_memory_equal(again.record, first.record, first.size);
	assert_memory_equal(third.record, first.record, first.size);
	assert_in_range(second_at - begin, 190, 7000);
	assert_true(now_ms() - second_at >= 390); /* the wait grows by timeo each time */
	answer_status(fd, first.call.xid, 13);
	await(&c);
	server_free(t);
	hang_up(fd);
}

/* The requests that wait on the connection: records of one fragment each. */
static unsigned requests_waiting(int fd)
{
	uint8_t bytes[16384];
	ssize_t n = recv(fd, bytes, sizeof(bytes), MSG_DONTWAIT);
	unsigned count = 0;

	for (ssize_t at = 0; at + 4 <= n; count++)
		at += 4 + (ssize_t)(load_u32(bytes + at) & 0x7fffffff);
	return count;
}

/* most: the requests that a client sends in this time. A busy machine may delay the end, and then sends fewer. */
static void soft_calls_end(struct fake_server *s, int error, unsigned retrans, uint64_t ms, unsigned most)
{
	struct server *t = start(s, (struct server_options){.soft = error, .timeo_ms = 200, .retrans = retrans});
	int fd = take_live_connection(s, NULL);
	uint64_t begin = now_ms();
	struct client c = {0};

	submit(t, &c, NFS_GETATTR);
	await(&c);
	assert_int_equal(c.call.error, error);
	assert_true(c.ended - begin >= ms - 10);
	assert_in_range(requests_waiting(fd), 1, most);
	server_free(t);
	hang_up(fd);
}

static void soft_ends_calls_after_timeo_and_retrans_times_more(void **state)
{
	soft_calls_end(*state, -EIO, 2, 600, 2); /* at 0 and 200 ms; the next would be at 600 */
	soft_calls_end(*state, -ETIMEDOUT, 0, 200, 1);
}

/* The loop thread sleeps without a limit, and another thread sends the call. */
static void a_call_after_a_rest_ends_in_time(void **state)
{
	struct fake_server *s = *state;
	struct server *t = start(s, (struct server_options){.soft = -EIO, .timeo_ms = 100});
	int fd = take_live_connection(s, NULL);
	struct client first = {0}, c = {0};
	struct request r;

	submit(t, &first, NFS_GETATTR);
	take_request(fd, &r);
	answer_status(fd, r.call.xid, 2);
	await(&first);
	(void)poll(NULL, 0, 500);
	submit(t, &c, NFS_GETATTR);
	await(&c);
	assert_int_equal(c.call.error, -EIO);
	server_free(t);
	hang_up(fd);
}

static void soft_ends_calls_of_a_server_that_is_not_there(void **state)
{
	struct fake_server *s = *state;
	struct server *t;
	struct client c = {0};

	(void)shutdown(s->listener, SHUT_RDWR);
	t = start(s, (struct server_options){.soft = -ETIMEDOUT, .timeo_ms = 200, .retrans = 1});
	submit(t, &c, NFS_GETATTR);
	await(&c);
	assert_int_equal(c.call.error, -ETIMEDOUT);
	server_free(t);
}

static void hard_waits(void **state)
{
	struct fake_server *s = *state;
	struct server *t = start(s, (struct server_options){.timeo_ms = 100, .retrans = 0});
	int fd = take_live_connection(s, NULL);
	struct client c = {0};
	struct request r;

	submit(t, &c, NFS_GETATTR);
	take_request(fd, &r);
	/* The server answers nothing for timeo, so the client makes a new connection. */
	hang_up(take_connection(s, NULL));
	(void)poll(NULL, 0, 1000);
	assert_int_equal(c.times, 0);
	hang_up(fd);
	do {
		fd = take_connection(s, NULL);
	} while (!readable(fd, 100) || !answer_null(fd));
	take_request(fd, &r);
	answer_status(fd, r.call.xid, 2);
	await(&c);
	assert_int_equal(c.call.error, -ENOENT);
	server_free(t);
	hang_up(fd);
}

static void a_call_may_limit_its_patience(void **state)
{
	struct fake_server *s = *state;
	struct server *t = start(s, (struct server_options){0});
	int fd = take_live_connection(s, NULL);
	struct client c = {.call.patience_ms = 500};

	submit(t, &c, NFS_GETATTR);
	await(&c);
	assert_int_equal(c.call.error, -ETIMEDOUT);
	server_free(t);
	hang_up(fd);
}

static void denials_are_the_kernels_errnos(void **state)
{
	static const struct {
		enum oncrpc_result result;
		int error;
	} known[] = {{ONCRPC_PROG_UNAVAIL, -EPFNOSUPPORT}, {ONCRPC_PROG_MISMATCH, -EPROTONOSUPPORT},
		{ONCRPC_PROC_UNAVAIL, -EOPNOTSUPP}, {ONCRPC_GARBAGE_ARGS, -EIO}, {ONCRPC_SYSTEM_ERR, -EIO},
		{ONCRPC_DENIED_AUTH, -EACCES}};
	struct fake_server *s = *state;
	struct server *t = start(s, (struct server_options){0});
	int fd = take_live_connection(s, NULL);

	for (size_t n = 0; n < ARRAY_SIZE(known); n++) {
		struct client c = {0};
		struct request r;

		submit(t, &c, NFS_GETATTR);
		take_request(fd, &r);
		deny(fd, r.call.xid, known[n].result);
		await(&c);
		assert_int_equal(c.call.error, known[n].error);
	}
	assert_int_equal(s->ups, 1);
	server_free(t);
	hang_up(fd);
}

static void a_server_that_has_lost_nfsacl_has_no_acls(void **state)
{
	static const enum oncrpc_result results[] = {ONCRPC_PROG_UNAVAIL, ONCRPC_PROG_MISMATCH};
	struct fake_server *s = *state;
	struct server *t = start(s, (struct server_options){0});
	int fd = take_live_connection(s, NULL);

	for (size_t n = 0; n < ARRAY_SIZE(results); n++) {
		struct client c = {0};
		struct request r;

		submit(t, &c, NFS_GETACL);
		take_request(fd, &r);
		deny(fd, r.call.xid, results[n]);
		await(&c);
		assert_int_equal(c.call.error, -EOPNOTSUPP);
	}
	server_free(t);
	hang_up(fd);
}

static void an_impossible_answer_is_eio(void **state)
{
	static const uint8_t garbage[] = "\x80\0\0\x10"
					 "xid?"
					 "\0\0\0\1"
					 "\0\0\0\7"
					 "\0\0\0\7";
	struct fake_server *s = *state;
	struct server *t = start(s, (struct server_options){0});
	int fd = take_live_connection(s, NULL);
	struct client c = {0};
	struct request r;
	uint8_t record[20];

	submit(t, &c, NFS_GETATTR);
	take_request(fd, &r);
	memcpy(record, garbage, sizeof(record));
	memcpy(record + 4, r.record + 4, 4);
	assert_int_equal(write_all(fd, record, sizeof(record)), 0);
	await(&c);
	assert_int_equal(c.call.error, -EIO);
	memset(&c, 0, sizeof(c));
	submit(t, &c, NFS_GETATTR);
	take_request(fd, &r);
	answer(fd, r.call.xid, NULL, 0); /* an empty result */
	await(&c);
	assert_int_equal(c.call.error, -EIO);
	server_free(t);
	hang_up(fd);
}

static void an_answer_too_large_ends_the_connection_only(void **state)
{
	struct fake_server *s = *state;
	struct server *t = start(s, (struct server_options){0});
	int fd = take_live_connection(s, NULL);
	struct client c = {0};
	uint8_t record[8] = {0xff, 0xff, 0xff, 0xff};
	struct request r;

	submit(t, &c, NFS_READ);
	take_request(fd, &r);
	memcpy(record + 4, r.record + 4, 4);
	assert_int_equal(write_all(fd, record, sizeof(record)), 0);
	hang_up(fd);
	fd = take_live_connection(s, NULL);
	take_request(fd, &r);
	answer_status(fd, r.call.xid, 2);
	await(&c);
	assert_int_equal(c.call.error, -ENOENT);
	server_free(t);
	hang_up(fd);
}

static void a_call_is_sent_again_with_a_new_xid_after_jukebox(void **state)
{
	struct fake_server *s = *state;
	struct server *t = start(s, (struct server_options){0});
	int fd = take_live_connection(s, NULL);
	uint64_t begin = now_ms();
	struct client c = {0};
	struct request first, again;

	submit(t, &c, NFS_GETATTR);
	take_request(fd, &first);
	answer_status(fd, first.call.xid, 10008);
	take_request(fd, &again);
	assert_true(again.call.xid != first.call.xid);
	assert_true(now_ms() - begin >= NFS3_JUKEBOX_MS - 10);
	answer_status(fd, again.call.xid, 2);
	await(&c);
	assert_int_equal(c.times, 1);
	server_free(t);
	hang_up(fd);
}

static void a_stale_handle_raises_the_event(void **state)
{
	struct fake_server *s = *state;
	struct server *t = start(s, (struct server_options){0});
	int fd = take_live_connection(s, NULL);
	struct client c = {0};
	struct request r;

	submit(t, &c, NFS_GETATTR);
	take_request(fd, &r);
	answer_status(fd, r.call.xid, 70);
	await(&c);
	assert_int_equal(c.call.error, -ESTALE);
	assert_int_equal(s->stale, 1);
	server_free(t);
	hang_up(fd);
}

static void the_end_ends_all_calls_once(void **state)
{
	struct fake_server *s = *state;
	struct server *t = start(s, (struct server_options){.nconnect = 2});
	int fd = take_live_connection(s, NULL);
	struct client c[4] = {0}, late = {0};
	struct request r;

	for (int n = 0; n < 3; n++)
		submit(t, &c[n], NFS_GETATTR);
	take_request(fd, &r);
	answer_status(fd, r.call.xid, 10008);
	hang_up(fd);
	submit(t, &c[3], NFS_GETATTR);
	server_stop(t);
	for (int n = 0; n < 4; n++) {
		assert_int_equal(c[n].times, 1);
		assert_int_equal(c[n].call.error, -ENOTCONN);
	}
	submit(t, &late, NFS_GETATTR);
	assert_int_equal(late.times, 1);
	assert_int_equal(late.call.error, -ENOTCONN);
	server_free(t);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(a_call_is_answered),
		TEST(the_thread_that_submits_a_call_sends_it),
		TEST(answers_may_come_in_any_order),
		TEST(a_call_is_sent_again_as_the_same_bytes_from_the_same_port),
		TEST(lost_calls_are_sent_again_in_order_before_new_calls),
		TEST(an_answer_without_a_call_does_no_harm),
		TEST(a_call_that_is_given_up_ends_and_its_answer_is_dropped),
		TEST(calls_can_be_given_up_while_there_is_no_server),
		TEST(a_call_may_be_given_up_while_it_is_written),
		TEST(a_call_without_an_answer_is_sent_again),
		TEST(soft_ends_calls_after_timeo_and_retrans_times_more),
		TEST(a_call_after_a_rest_ends_in_time),
		TEST(soft_ends_calls_of_a_server_that_is_not_there),
		TEST(hard_waits),
		TEST(a_call_may_limit_its_patience),
		TEST(denials_are_the_kernels_errnos),
		TEST(a_server_that_has_lost_nfsacl_has_no_acls),
		TEST(an_impossible_answer_is_eio),
		TEST(an_answer_too_large_ends_the_connection_only),
		TEST(a_call_is_sent_again_with_a_new_xid_after_jukebox),
		TEST(a_stale_handle_raises_the_event),
		TEST(the_end_ends_all_calls_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
