/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Write-behind of a file that the test plays, against a server and a backing file that the test plays, too: they answer
 * when, and in the order, the test says.
 */
#include "cmocka_setup.h"

#include <malloc.h>
#include <string.h>

#include "fuse/writes/attr_clock.h"
#include "fuse/writes/write_behind.h"
#include "io/uring.h"

#define WSIZE 4096

struct fake_server {
	struct server server;
	struct list calls; /* submitted and not yet answered */
	unsigned waiting;
	uint8_t verf;
	uint8_t file[64 * WSIZE];
};

/* The file. Its session is 1: a writer of that session may write to the backing file. */
struct file {
	pthread_mutex_t lock;
	struct write_behind behind;
	struct write_log log;
	struct nfs_fh fh;
	unsigned refs;
	bool seen_locally;      /* an open sees the backing file */
	bool has_descriptor;    /* writers may write locally */
	struct uring_io *local; /* under way, or NULL */
	struct uring_io *pause;
	unsigned changed_locally;
	size_t written; /* bytes */
};

#define SESSION 1

static struct fake_server fake;
static struct file file;
static const struct nfs_cred cred = {.uid = 1}, other_cred = {.uid = 2};

static void ref(const struct behind_file *f)
{
	((struct file *)f->file)->refs++;
}

static void unref(const struct behind_file *f)
{
	((struct file *)f->file)->refs--;
}

static int choose(const struct behind_file *f, uint64_t session, uint64_t *ret_session)
{
	const struct file *of = f->file;

	assert_int_not_equal(pthread_mutex_trylock(f->behind->lock), 0);
	if (of->seen_locally || (of->has_descriptor && session != SESSION))
		return -EBUSY;
	*ret_session = of->has_descriptor ? SESSION : 0;
	return 0;
}

static bool begin_local_write(const struct behind_file *f, uint64_t session, struct uring_io *io)
{
	struct file *of = f->file;

	assert_int_equal(session, SESSION);
	assert_null(of->local);
	of->local = of->has_descriptor ? io : NULL;
	return of->local;
}

static void end_local_write(const struct behind_file *f, struct uring_io *io)
{
	struct file *of = f->file;

	of->changed_locally += io->have > 0;
}

static void make_pause(const struct behind_file *f, struct uring_io *io)
{
	struct file *of = f->file;

	assert_null(of->pause);
	of->pause = io;
}

static void on_written(const struct behind_file *f, size_t bytes)
{
	((struct file *)f->file)->written += bytes;
}

static const struct behind_file_ops ops = {
	.ref = ref,
	.unref = unref,
	.choose = choose,
	.begin_local_write = begin_local_write,
	.end_local_write = end_local_write,
	.pause = make_pause,
	.on_written = on_written,
};

static const struct behind_file behind_file = {.ops = &ops,
	.file = &file,
	.behind = &file.behind,
	.log = &file.log,
	.fh = &file.fh,
	.server = &fake.server,
	.wsize = WSIZE};

static void fake_submit(struct server *s, struct nfs_call *call)
{
	(void)s;
	list_append(&fake.calls, &call->node);
	fake.waiting++;
}

static const struct server_ops fake_ops = {.submit = fake_submit};

static int setup(void **state)
{
	(void)state;
	memset(&fake, 0, sizeof(fake));
	memset(&file, 0, sizeof(file));
	fake.server.ops = &fake_ops;
	list_init(&fake.calls);
	(void)pthread_mutex_init(&file.lock, NULL);
	file.fh.len = 4;
	write_behind_init(&file.behind, &file.lock);
	write_log_init(&file.log);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	assert_true(list_empty(&fake.calls));
	assert_null(file.local);
	assert_null(file.pause);
	assert_int_equal(file.refs, 0);
	write_log_done(&file.log);
	(void)pthread_mutex_destroy(&file.lock);
	return 0;
}

/* The backing file takes in up to limit bytes of the local write, which then ends with this error. */
static void end_local(size_t limit, int error)
{
	struct uring_io *io = file.local;

	assert_non_null(io);
	file.local = NULL;
	io->have = MIN(limit, io->size);
	memcpy(fake.file + io->offset, io->buf, io->have);
	io->done(io, error < 0 ? error : (ssize_t)io->have);
}

static void end_pause(void)
{
	struct uring_io *io = file.pause;

	assert_non_null(io);
	file.pause = NULL;
	io->done(io, -ETIME);
}

/* Answers the n-th call that waits: a WRITE takes in up to limit bytes, a COMMIT all. */
static void answer(unsigned n, size_t limit, int error)
{
	struct list *pos = fake.calls.next;
	struct nfs_call *call;

	while (n-- > 0)
		pos = pos->next;
	call = CONTAINER_OF(pos, struct nfs_call, node);
	list_remove(pos);
	fake.waiting--;
	call->error = error;
	if (call->proc == NFS_WRITE && error == 0) {
		call->res.io.count = (uint32_t)MIN(limit, call->args.io.count);
		call->res.io.committed = call->args.io.stable;
		memcpy(fake.file + call->args.io.offset, call->args.io.data, call->res.io.count);
	}
	memset(&call->res.io.verf, fake.verf, sizeof(call->res.io.verf));
	call->done(call);
}

static const struct nfs_call *waiting(unsigned n)
{
	const struct list *pos = fake.calls.next;

	assert_true(n < fake.waiting);
	while (n-- > 0)
		pos = pos->next;
	return CONTAINER_OF(pos, const struct nfs_call, node);
}

struct flag {
	struct behind_writer writer;
	struct behind_wait wait;
	struct stable_wait stable;
	int done, error;
};

static void writer_done(struct behind_writer *w, int error)
{
	CONTAINER_OF(w, struct flag, writer)->done++;
	CONTAINER_OF(w, struct flag, writer)->error = error;
}

static void wait_done(struct behind_wait *w, int error)
{
	CONTAINER_OF(w, struct flag, wait)->done++;
	CONTAINER_OF(w, struct flag, wait)->error = error;
}

static bool give_up(void *arg)
{
	return *(bool *)arg;
}

static void stable_done(struct stable_wait *w, int error)
{
	struct flag *f = CONTAINER_OF(w, struct flag, stable);

	f->done++;
	f->error = error;
}

static int add(uint64_t offset, const void *data, size_t size, struct flag *f)
{
	f->writer.done = writer_done;
	return write_behind_add(&behind_file, &cred, offset, data, size, &f->writer);
}

static void settle(struct flag *f)
{
	f->wait.done = wait_done;
	write_behind_settle(&file.behind, &f->wait);
}

static void small_writes_are_gathered_while_one_is_on_its_way(void **state)
{
	struct flag w = {0}, s = {0};
	uint64_t asked = attr_clock();

	assert_int_equal(add(0, "a", 1, &w), 0);
	assert_int_equal(fake.waiting, 1); /* nothing lies still */
	assert_int_equal(add(1, "b", 1, &w), 0);
	assert_int_equal(add(2, "cd", 2, &w), 0);
	assert_int_equal(add(3, "D", 1, &w), 0); /* over what was gathered */
	assert_int_equal(fake.waiting, 1);
	assert_true(write_behind_outdates(&file.behind, attr_clock()));
	settle(&s);
	assert_int_equal(fake.waiting, 2);
	assert_int_equal(waiting(1)->args.io.offset, 1);
	assert_int_equal(waiting(1)->args.io.count, 3);
	answer(1, WSIZE, 0);
	assert_int_equal(s.done, 0);
	answer(0, WSIZE, 0);
	assert_int_equal(s.done, 1);
	assert_memory_equal(fake.file, "abcD", 4);
	assert_true(write_behind_outdates(&file.behind, asked)); /* it was asked before the answers */
	assert_false(write_behind_outdates(&file.behind, attr_clock()));
	assert_true(write_log_dirty(&file.log));
	settle(&s);
	assert_int_equal(s.done, 2);
}

static void what_is_kept_takes_no_more_room_than_it_needs(void **state)
{
	struct flag w = {0};
	const struct data_write *sent;

	assert_int_equal(add(0, "small", 5, &w), 0);
	sent = CONTAINER_OF(waiting(0), const struct data_write, call);
	assert_true(malloc_usable_size((void *)(uintptr_t)sent) < sizeof(*sent) + WSIZE / 2);
	answer(0, WSIZE, 0);
	assert_memory_equal(fake.file, "small", 5);
}

static void what_was_gathered_goes_with_the_answer(void **state)
{
	struct flag w = {0};

	assert_int_equal(add(0, "a", 1, &w), 0);
	assert_int_equal(add(1, "b", 1, &w), 0);
	answer(0, WSIZE, 0);
	assert_int_equal(fake.waiting, 1);
	answer(0, WSIZE, 0);
	assert_int_equal(fake.waiting, 0);
}

static void nothing_overlaps_on_its_way(void **state)
{
	static uint8_t block[WSIZE];
	struct flag w = {0};

	assert_int_equal(add(10, "abc", 3, &w), 0);
	assert_int_equal(add(12, "x", 1, &w), -EBUSY);
	assert_int_equal(add(8, "xyz", 3, &w), -EBUSY);
	assert_int_equal(add(13, "d", 1, &w), 0);
	assert_int_equal(add(100, "e", 1, &w), 0); /* elsewhere: another request */
	assert_int_equal(add(13, "x", 1, &w), -EBUSY);
	assert_int_equal(add(99, block, WSIZE, &w), -EBUSY); /* also over what is only gathered */
	while (fake.waiting > 0)
		answer(0, WSIZE, 0);
	assert_int_equal(add(12, "x", 1, &w), 0);
	answer(0, WSIZE, 0);
}

static void credentials_do_not_mix(void **state)
{
	struct flag w = {0};

	assert_int_equal(add(0, "a", 1, &w), 0);
	assert_int_equal(add(1, "b", 1, &w), 0);
	assert_int_equal(write_behind_add(&behind_file, &other_cred, 2, "c", 1, &w.writer), 0);
	answer(0, WSIZE, 0);
	assert_int_equal(waiting(0)->cred.uid, 1);
	answer(0, WSIZE, 0);
	assert_int_equal(waiting(0)->cred.uid, 2);
	answer(0, WSIZE, 0);
}

static void beside_local_opens_nothing_is_kept(void **state)
{
	struct flag w = {0};

	file.seen_locally = true;
	assert_int_equal(add(0, "a", 1, &w), -EBUSY);
}

static void a_local_writer_writes_to_the_backing_file(void **state)
{
	struct flag w = {.writer.session = SESSION, .writer.as_root = true}, s = {0};

	file.has_descriptor = true;
	assert_int_equal(add(0, "a", 1, &w), 0);
	assert_int_equal(fake.waiting, 0);
	assert_true(file.local->as_root);
	assert_int_equal(file.changed_locally, 0);
	settle(&s);
	assert_int_equal(s.done, 0);
	end_local(WSIZE, 0);
	assert_int_equal(s.done, 1);
	assert_int_equal(file.changed_locally, 1);
	assert_int_equal(file.written, 1);
	assert_memory_equal(fake.file, "a", 1);
	assert_false(write_log_dirty(&file.log)); /* the server has nothing to commit */
	end_pause();
}

static void what_comes_in_the_pause_is_gathered(void **state)
{
	struct flag w = {.writer.session = SESSION};

	file.has_descriptor = true;
	assert_int_equal(add(0, "a", 1, &w), 0);
	end_local(WSIZE, 0);
	assert_int_equal(add(1, "b", 1, &w), 0);
	assert_int_equal(add(2, "c", 1, &w), 0);
	assert_null(file.local);
	end_pause();
	assert_int_equal(file.local->size, 2);
	end_local(WSIZE, 0);
	end_pause();
	assert_memory_equal(fake.file, "abc", 3);
}

static void what_fails_locally_goes_to_the_server(void **state)
{
	struct flag w = {.writer.session = SESSION};

	file.has_descriptor = true;
	assert_int_equal(add(0, "abc", 3, &w), 0);
	end_local(2, -ENOSPC);
	assert_int_equal(file.changed_locally, 1);
	assert_int_equal(waiting(0)->args.io.offset, 0);
	assert_int_equal(waiting(0)->args.io.count, 3);
	assert_int_equal(waiting(0)->args.io.stable, NFS_FILE_SYNC); /* beside local writes nothing is kept */
	answer(0, WSIZE, 0);
	assert_memory_equal(fake.file, "abc", 3);
	assert_int_equal(file.written, 3);
	assert_false(write_log_dirty(&file.log));
}

static void a_writer_without_the_session_is_not_gathered_beside_local_ones(void **state)
{
	struct flag w = {0};

	file.has_descriptor = true;
	assert_int_equal(add(0, "a", 1, &w), -EBUSY);
}

static void a_writer_that_is_too_fast_waits(void **state)
{
	static uint8_t block[WSIZE];
	struct flag w[40] = {0};
	unsigned n = 0;
	int r = 0;

	for (; n < ARRAY_SIZE(w) && r == 0; n++)
		r = add(n * WSIZE, block, WSIZE, &w[n]);
	assert_int_equal(r, 1);
	assert_int_equal(fake.waiting, n - 1);
	assert_int_equal(w[n - 1].done, 0);
	answer(3, WSIZE, 0);
	assert_int_equal(w[n - 1].done, 1);
	while (fake.waiting > 0)
		answer(0, WSIZE, 0);
}

static void short_answers_are_gone_on_with(void **state)
{
	struct flag w = {0}, s = {0};

	assert_int_equal(add(0, "abcdef", 6, &w), 0);
	settle(&s);
	answer(0, 2, 0);
	assert_int_equal(s.done, 0);
	answer(0, 1, 0);
	answer(0, WSIZE, 0);
	assert_int_equal(s.done, 1);
	assert_memory_equal(fake.file, "abcdef", 6);
}

static void an_error_is_told_once_to_each_open_file(void **state)
{
	struct errors_heard one = write_log_open(&file.log), other = one;
	struct flag w = {0}, s = {0};

	assert_int_equal(add(0, "a", 1, &w), 0);
	assert_int_equal(add(1, "b", 1, &w), 0);
	answer(0, WSIZE, -ENOSPC);
	answer(0, WSIZE, 0);
	s.stable.done = stable_done;
	write_behind_commit(&behind_file, &cred, &s.stable);
	answer(0, WSIZE, 0); /* COMMIT of what was taken in */
	assert_int_equal(s.done, 1);
	assert_int_equal(write_log_tell(&file.log, &one, false), -ENOSPC);
	assert_int_equal(write_log_tell(&file.log, &one, false), 0);
	assert_int_equal(write_log_tell(&file.log, &other, true), -ENOSPC);
}

static void a_commit_covers_what_was_on_its_way(void **state)
{
	struct flag w = {0}, s = {0};

	assert_int_equal(add(0, "a", 1, &w), 0);
	assert_int_equal(add(1, "b", 1, &w), 0);
	s.stable.done = stable_done;
	write_behind_commit(&behind_file, &cred, &s.stable);
	assert_int_equal(fake.waiting, 2);
	answer(1, WSIZE, 0);
	answer(0, WSIZE, 0);
	fake.verf = 1; /* the server restarts: both are sent again, in order, one at a time */
	memset(fake.file, 0, 2);
	assert_int_equal(waiting(0)->proc, NFS_COMMIT);
	answer(0, WSIZE, 0);
	for (unsigned n = 0; n < 2; n++) {
		assert_int_equal(fake.waiting, 1);
		assert_int_equal(waiting(0)->proc, NFS_WRITE);
		assert_int_equal(waiting(0)->args.io.stable, NFS_FILE_SYNC);
		assert_int_equal(s.done, 0);
		answer(0, WSIZE, 0);
	}
	assert_int_equal(s.done, 1);
	assert_int_equal(s.error, 0);
	assert_memory_equal(fake.file, "ab", 2);
	assert_false(write_log_dirty(&file.log));
}

static void who_was_killed_waits_no_longer(void **state)
{
	struct flag w = {0}, s = {0}, other = {0};
	bool killed = false;
	struct nfs_call *call;

	assert_int_equal(add(0, "a", 1, &w), 0);
	s.wait.patience = (struct patience){.given_up = give_up, .arg = &killed};
	settle(&s);
	settle(&other);
	call = CONTAINER_OF(fake.calls.next, struct nfs_call, node);
	assert_false(call->given_up(call));
	assert_int_equal(s.done, 0);
	killed = true;
	assert_false(call->given_up(call)); /* the WRITE itself goes on */
	assert_int_equal(s.done, 1);
	assert_int_equal(s.error, -EINTR);
	answer(0, WSIZE, 0);
	assert_int_equal(s.done, 1);
	assert_int_equal(other.done, 1);
	assert_int_equal(other.error, 0);
}

/* Whatever the order of writes and answers, the server ends with what the writer wrote. */
static void random_writes_end_right(void **state)
{
	static uint8_t model[sizeof(fake.file)], data[2 * WSIZE];
	static struct flag w[5000];
	struct flag s = {0};
	uint64_t end = 0;

	srandom(1);
	memset(w, 0, sizeof(w));
	memset(model, 0, sizeof(model));
	for (unsigned n = 0; n < ARRAY_SIZE(w); n++) {
		size_t size = 1 + (size_t)random() % (random() % 8 == 0 ? sizeof(data) : 100);
		uint64_t offset = (uint64_t)random() % (sizeof(model) - size);
		int r;

		if (random() % 3 != 0)
			offset = MIN(end, sizeof(model) - size);
		end = offset + size;
		memset(data, (int)n, size);
		r = add(offset, data, size, &w[n]);
		if (r == -EBUSY) { /* as fuse/files/write.c does */
			settle(&s);
			while (fake.waiting > 0)
				answer((unsigned)random() % fake.waiting, 1 + (size_t)random() % WSIZE, 0);
			r = add(offset, data, size, &w[n]);
		}
		assert_true(r == 0 || r == 1);
		memcpy(model + offset, data, size);
		while (fake.waiting > 0 && (random() % 4 == 0 || (r == 1 && !w[n].done)))
			answer((unsigned)random() % fake.waiting, WSIZE, 0);
	}
	settle(&s);
	while (fake.waiting > 0)
		answer((unsigned)random() % fake.waiting, WSIZE, 0);
	assert_memory_equal(fake.file, model, sizeof(model));
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(small_writes_are_gathered_while_one_is_on_its_way),
		TEST(what_is_kept_takes_no_more_room_than_it_needs),
		TEST(what_was_gathered_goes_with_the_answer),
		TEST(nothing_overlaps_on_its_way),
		TEST(credentials_do_not_mix),
		TEST(beside_local_opens_nothing_is_kept),
		TEST(a_local_writer_writes_to_the_backing_file),
		TEST(what_comes_in_the_pause_is_gathered),
		TEST(what_fails_locally_goes_to_the_server),
		TEST(a_writer_without_the_session_is_not_gathered_beside_local_ones),
		TEST(a_writer_that_is_too_fast_waits),
		TEST(short_answers_are_gone_on_with),
		TEST(an_error_is_told_once_to_each_open_file),
		TEST(a_commit_covers_what_was_on_its_way),
		TEST(who_was_killed_waits_no_longer),
		TEST(random_writes_end_right),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
