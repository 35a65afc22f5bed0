/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The write log against a server that the test plays: it answers when the test says so. */
#include "cmocka_setup.h"

#include <string.h>

#include "fuse/writes/write_log.h"

struct fake_server {
	struct server server;
	struct list calls; /* submitted and not yet answered */
};

static void fake_submit(struct server *t, struct nfs_call *call)
{
	list_append(&CONTAINER_OF(t, struct fake_server, server)->calls, &call->node);
}

static const struct server_ops fake_ops = {.submit = fake_submit};

struct waiter {
	struct commit_wait wait;
	int calls, error;
};

static void waiter_done(struct commit_wait *w, int error)
{
	struct waiter *waiter = CONTAINER_OF(w, struct waiter, wait);

	waiter->calls++;
	waiter->error = error;
}

static struct nfs_fh fh;
static struct nfs_cred cred;

static void fake_server_init(struct fake_server *s)
{
	s->server.ops = &fake_ops;
	list_init(&s->calls);
}

static struct nfs_call *next_call(struct fake_server *s, enum nfs_proc proc)
{
	struct nfs_call *call;

	assert_false(list_empty(&s->calls));
	call = CONTAINER_OF(s->calls.next, struct nfs_call, node);
	list_remove(&call->node);
	assert_int_equal(call->proc, proc);
	return call;
}

/* A write of "data" at an offset that is on its way to the server, and its answer. */
static struct data_write *send_write(struct write_log *log, struct fake_server *s, uint64_t offset)
{
	struct data_write *w = data_write_new(4);

	assert_non_null(w);
	memcpy(w->data, "data", 4);
	w->call.proc = NFS_WRITE;
	w->call.args.io.offset = offset;
	w->call.args.io.count = 4;
	write_log_started(log);
	write_log_send(log, &s->server, w);
	return w;
}

static void answer_write(struct write_log *log, struct data_write *w, enum write_result result, uint8_t verf)
{
	list_remove(&w->call.node);
	memset(w->verf.data, verf, sizeof(w->verf.data));
	assert_false(write_log_answered(log, w, result));
}

/* One acknowledged UNSTABLE write. */
static void keep_write(struct write_log *log, struct fake_server *s, uint64_t offset, uint8_t verf)
{
	answer_write(log, send_write(log, s, offset), WRITE_UNSTABLE, verf);
}

static void answer_resend(struct nfs_call *call)
{
	call->error = 0;
	call->res.io.count = call->args.io.count;
	call->done(call);
}

static void answer_commit(struct nfs_call *call, int error, uint8_t verf)
{
	call->error = error;
	memset(call->res.io.verf.data, verf, sizeof(call->res.io.verf.data));
	call->done(call);
}

static void start(struct write_log *log, struct fake_server *s, struct waiter *w)
{
	memset(w, 0, sizeof(*w));
	w->wait.done = waiter_done;
	write_log_commit(log, &s->server, &fh, &cred, &w->wait);
}

static void nothing_kept_needs_no_commit(void **state)
{
	struct write_log log = {0};
	struct fake_server s;
	struct waiter w;

	fake_server_init(&s);
	write_log_init(&log);
	assert_false(write_log_dirty(&log));
	start(&log, &s, &w);
	assert_int_equal(w.calls, 1);
	assert_int_equal(w.error, 0);
	assert_true(list_empty(&s.calls));
	write_log_done(&log);
}

static void a_write_on_the_wire_makes_the_log_dirty(void **state)
{
	struct write_log log = {0};
	struct data_write *w = data_write_new(1);

	write_log_init(&log);
	write_log_started(&log);
	assert_true(write_log_dirty(&log));
	(void)write_log_answered(&log, w, WRITE_FAILED);
	assert_false(write_log_dirty(&log));
	write_log_done(&log);
}

static void the_same_verifier_ends_the_commit(void **state)
{
	struct write_log log = {0};
	struct fake_server s;
	struct waiter w;

	fake_server_init(&s);
	write_log_init(&log);
	keep_write(&log, &s, 0, 1);
	keep_write(&log, &s, 4, 1);
	start(&log, &s, &w);
	assert_int_equal(w.calls, 0);
	answer_commit(next_call(&s, NFS_COMMIT), 0, 1);
	assert_int_equal(w.calls, 1);
	assert_int_equal(w.error, 0);
	assert_true(list_empty(&s.calls));
	assert_false(write_log_dirty(&log));
	write_log_done(&log);
}

static struct waiter *killed;

static bool is_killed(void *arg)
{
	return arg == killed;
}

/* Before the COMMIT is answered, and while data is sent again: waiters of this commit and of the next. */
static void who_was_killed_waits_no_longer_and_the_commit_goes_on(void **state)
{
	struct write_log log = {0};
	struct fake_server s;
	struct waiter w[3];
	struct nfs_call *call;

	fake_server_init(&s);
	write_log_init(&log);
	keep_write(&log, &s, 0, 1);
	for (int n = 0; n < 3; n++) {
		start(&log, &s, &w[n]);
		w[n].wait.patience = (struct patience){.given_up = is_killed, .arg = &w[n]};
	}
	call = next_call(&s, NFS_COMMIT);
	killed = NULL;
	assert_false(call->given_up(call));
	killed = &w[1]; /* waits for the next commit */
	assert_false(call->given_up(call));
	assert_int_equal(w[1].calls, 1);
	assert_int_equal(w[1].error, -EINTR);
	answer_commit(call, 0, 2);
	call = next_call(&s, NFS_WRITE);
	killed = &w[0]; /* waits for this one */
	assert_false(call->given_up(call));
	assert_int_equal(w[0].calls, 1);
	assert_int_equal(w[0].error, -EINTR);
	answer_resend(call);
	assert_true(list_empty(&s.calls)); /* nothing is left for the next */
	assert_int_equal(w[2].calls, 1);
	assert_int_equal(w[2].error, 0);
	assert_int_equal(w[0].calls + w[1].calls, 2);
	write_log_done(&log);
}

static void another_verifier_sends_the_data_again_as_file_sync(void **state)
{
	struct write_log log = {0};
	struct fake_server s;
	struct waiter w;
	struct nfs_call *call;

	fake_server_init(&s);
	write_log_init(&log);
	keep_write(&log, &s, 0, 1);
	keep_write(&log, &s, 100, 2);
	start(&log, &s, &w);
	answer_commit(next_call(&s, NFS_COMMIT), 0, 2);
	call = next_call(&s, NFS_WRITE);
	assert_int_equal(call->args.io.offset, 0);
	assert_int_equal(call->args.io.stable, NFS_FILE_SYNC);
	assert_memory_equal(call->args.io.data, "data", 4);
	assert_true(list_empty(&s.calls));
	assert_int_equal(w.calls, 0);
	answer_resend(call);
	assert_int_equal(w.calls, 1);
	assert_int_equal(w.error, 0);
	write_log_done(&log);
}

/* Overlapping data: the older was lost, the newer was not; alone, the older would cover it. */
static void newer_data_is_sent_behind_older_data(void **state)
{
	struct write_log log = {0};
	struct fake_server s;
	struct waiter w;
	static const uint64_t offsets[] = {0, 2, 3};

	fake_server_init(&s);
	write_log_init(&log);
	keep_write(&log, &s, 0, 1);
	keep_write(&log, &s, 2, 2);
	answer_write(&log, send_write(&log, &s, 100), WRITE_STABLE, 2);
	answer_write(&log, send_write(&log, &s, 3), WRITE_STABLE, 2);
	start(&log, &s, &w);
	answer_commit(next_call(&s, NFS_COMMIT), 0, 2);
	for (size_t n = 0; n < ARRAY_SIZE(offsets); n++) {
		struct nfs_call *call = next_call(&s, NFS_WRITE);

		assert_int_equal(call->args.io.offset, offsets[n]);
		assert_true(list_empty(&s.calls));
		answer_resend(call);
	}
	assert_int_equal(w.calls, 1);
	assert_int_equal(w.error, 0);
	assert_true(list_empty(&s.calls));
	assert_false(write_log_dirty(&log));
	write_log_done(&log);
}

static void nothing_else_is_written_while_data_is_sent_again(void **state)
{
	struct write_log log = {0};
	struct fake_server s;
	struct waiter w;
	struct data_write *before, *after;
	struct nfs_call *call;

	fake_server_init(&s);
	write_log_init(&log);
	keep_write(&log, &s, 0, 1);
	start(&log, &s, &w);
	call = next_call(&s, NFS_COMMIT);
	keep_write(&log, &s, 1, 2); /* while the commit runs */
	before = send_write(&log, &s, 2);
	answer_commit(call, 0, 2);
	after = send_write(&log, &s, 3);
	assert_ptr_equal(next_call(&s, NFS_WRITE), &before->call);
	assert_true(list_empty(&s.calls)); /* neither data nor what came after it */
	answer_write(&log, before, WRITE_UNSTABLE, 2);
	for (uint64_t offset = 0; offset < 3; offset++) {
		call = next_call(&s, NFS_WRITE);
		assert_int_equal(call->args.io.offset, offset);
		assert_true(list_empty(&s.calls));
		answer_resend(call);
	}
	assert_int_equal(w.calls, 1);
	assert_ptr_equal(next_call(&s, NFS_WRITE), &after->call);
	answer_write(&log, after, WRITE_STABLE, 2);
	assert_false(write_log_dirty(&log));
	write_log_done(&log);
}

static void a_failed_resend_is_told(void **state)
{
	struct write_log log = {0};
	struct fake_server s;
	struct waiter w;
	struct nfs_call *call;

	fake_server_init(&s);
	write_log_init(&log);
	keep_write(&log, &s, 0, 1);
	start(&log, &s, &w);
	answer_commit(next_call(&s, NFS_COMMIT), 0, 2);
	call = next_call(&s, NFS_WRITE);
	call->error = -ENOSPC;
	call->done(call);
	assert_int_equal(w.calls, 1);
	assert_int_equal(w.error, -ENOSPC);
	write_log_done(&log);
}

static void a_failed_commit_is_told(void **state)
{
	struct write_log log = {0};
	struct fake_server s;
	struct waiter w;

	fake_server_init(&s);
	write_log_init(&log);
	keep_write(&log, &s, 0, 1);
	start(&log, &s, &w);
	answer_commit(next_call(&s, NFS_COMMIT), -EIO, 0);
	assert_int_equal(w.error, -EIO);
	assert_int_equal(w.calls, 1);
	write_log_done(&log);
}

static void who_comes_during_a_commit_waits_for_the_next(void **state)
{
	struct write_log log = {0};
	struct fake_server s;
	struct waiter first, second;

	fake_server_init(&s);
	write_log_init(&log);
	keep_write(&log, &s, 0, 1);
	start(&log, &s, &first);
	keep_write(&log, &s, 4, 1);
	start(&log, &s, &second);
	answer_commit(next_call(&s, NFS_COMMIT), 0, 1);
	assert_int_equal(first.calls, 1);
	assert_int_equal(second.calls, 0);
	answer_commit(next_call(&s, NFS_COMMIT), 0, 1);
	assert_int_equal(second.calls, 1);
	assert_int_equal(second.error, 0);
	assert_false(write_log_dirty(&log));
	write_log_done(&log);
}

static void who_comes_during_a_failing_commit_is_told_too(void **state)
{
	struct write_log log = {0};
	struct fake_server s;
	struct waiter first, second;

	fake_server_init(&s);
	write_log_init(&log);
	keep_write(&log, &s, 0, 1);
	start(&log, &s, &first);
	start(&log, &s, &second);
	answer_commit(next_call(&s, NFS_COMMIT), -EIO, 0);
	assert_int_equal(first.error, -EIO);
	assert_int_equal(second.calls, 1);
	assert_int_equal(second.error, -EIO);
	write_log_done(&log);
}

/* How many writes of a megabyte are answered until one is told to commit first. */
static unsigned fill(struct write_log *log, struct fake_server *s, unsigned most)
{
	for (unsigned n = 1; n <= most; n++) {
		struct data_write *w = data_write_new(DATA_WRITE_MAX);

		assert_non_null(w);
		w->call.proc = NFS_WRITE;
		w->call.args.io.offset = n * (uint64_t)DATA_WRITE_MAX;
		w->call.args.io.count = DATA_WRITE_MAX;
		write_log_started(log);
		write_log_send(log, &s->server, w);
		list_remove(&w->call.node);
		if (write_log_answered(log, w, WRITE_UNSTABLE))
			return n;
	}
	return 0;
}

static void a_fast_writer_commits_beside_its_writes(void **state)
{
	const unsigned early = WRITE_LOG_COMMIT / DATA_WRITE_MAX, most = WRITE_LOG_LIMIT / DATA_WRITE_MAX;
	struct write_log log = {0}, other = {0};
	struct fake_server s;
	struct waiter w;

	fake_server_init(&s);
	write_log_init(&log);
	write_log_init(&other);
	assert_int_equal(fill(&log, &s, most), early);
	start(&log, &s, &w);
	/* One commit is enough, until the process has no room left. */
	assert_int_equal(fill(&log, &s, most), most - early);
	assert_int_equal(fill(&other, &s, most), 1);
	answer_commit(next_call(&s, NFS_COMMIT), 0, 0);
	assert_int_equal(w.calls, 1);
	assert_int_equal(fill(&other, &s, most), early - 1);
	start(&log, &s, &w);
	answer_commit(next_call(&s, NFS_COMMIT), 0, 0);
	assert_int_equal(fill(&log, &s, most), early);
	write_log_done(&log);
	write_log_done(&other);
	data_write_trim();
}

static void memory_of_full_writes_is_used_again(void **state)
{
	struct data_write *a = data_write_new(DATA_WRITE_MAX), *b, *small = data_write_new(100);

	assert_non_null(a);
	assert_non_null(small);
	memset(a->data, 1, DATA_WRITE_MAX);
	a->sent = true;
	(void)data_write_free(small);
	assert_null(data_write_free(a));
	assert_null(data_write_free(NULL));
	b = data_write_new(DATA_WRITE_MAX - 5);
	assert_ptr_equal(a, b);
	assert_false(b->sent);
	(void)data_write_free(b);
	data_write_trim();
	data_write_trim();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_kept_needs_no_commit),
		cmocka_unit_test(a_write_on_the_wire_makes_the_log_dirty),
		cmocka_unit_test(the_same_verifier_ends_the_commit),
		cmocka_unit_test(who_was_killed_waits_no_longer_and_the_commit_goes_on),
		cmocka_unit_test(another_verifier_sends_the_data_again_as_file_sync),
		cmocka_unit_test(newer_data_is_sent_behind_older_data),
		cmocka_unit_test(nothing_else_is_written_while_data_is_sent_again),
		cmocka_unit_test(a_failed_resend_is_told),
		cmocka_unit_test(a_failed_commit_is_told),
		cmocka_unit_test(who_comes_during_a_commit_waits_for_the_next),
		cmocka_unit_test(who_comes_during_a_failing_commit_is_told_too),
		cmocka_unit_test(a_fast_writer_commits_beside_its_writes),
		cmocka_unit_test(memory_of_full_writes_is_used_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
