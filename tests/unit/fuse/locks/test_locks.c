/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The table of locks, compared with the kernel's locks on a local file, and used by many threads at once. */
#include "cmocka_setup.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>

#include "base/clock.h"
#include "fuse/locks/locks.h"

static struct locks *table;
static const struct nfs_fh file = {.len = 4, .data = "one"}, other_file = {.len = 4, .data = "two"};

static int setup(void **state)
{
	(void)state;
	return locks_new(&table);
}

static int teardown(void **state)
{
	size_t held, waiting;

	(void)state;
	locks_count(table, &held, &waiting);
	table = locks_free(table);
	return held + waiting == 0 ? 0 : -1;
}

/* A wait and its result. */
struct waiter {
	struct lock_wait wait;
	unsigned told;
	int error;
};

static void told(struct lock_wait *w, int error)
{
	struct waiter *waiter = CONTAINER_OF(w, struct waiter, wait);

	waiter->told++;
	waiter->error = error;
}

static struct lock range(uint64_t owner, enum lock_mode mode, int64_t start, int64_t end)
{
	return (struct lock){.owner = owner, .via = owner + 100, .mode = mode, .start = start, .end = end, .pid = 7};
}

static struct lock whole(uint64_t owner, enum lock_mode mode)
{
	struct lock l = range(owner, mode, 0, LOCK_END);

	l.kind = LOCK_KIND_FLOCK;
	return l;
}

static int set_on(const struct nfs_fh *fh, struct lock lock)
{
	struct lock_wait w = {.lock = lock};

	return locks_set(table, fh, &w, false);
}

static int set(struct lock lock)
{
	return set_on(&file, lock);
}

static int wait_on(const struct nfs_fh *fh, struct waiter *w, struct lock lock)
{
	memset(w, 0, sizeof(*w));
	w->wait.lock = lock;
	w->wait.done = told;
	return locks_set(table, fh, &w->wait, true);
}

static int wait_for(struct waiter *w, struct lock lock)
{
	return wait_on(&file, w, lock);
}

/* The process that is the owner closes its open file. */
static void closed(const struct nfs_fh *fh, uint64_t owner)
{
	locks_closed(table, fh, owner, owner + 100);
}

#define NONE      LOCK_MODE_NONE
#define SHARED    LOCK_MODE_SHARED
#define EXCLUSIVE LOCK_MODE_EXCLUSIVE

static void owners_conflict_where_one_writes(void **state)
{
	struct lock found;

	assert_int_equal(set(range(1, SHARED, 0, 9)), 0);
	assert_int_equal(set(range(2, SHARED, 5, 14)), 0);
	assert_int_equal(set(range(3, EXCLUSIVE, 9, 9)), -EAGAIN);
	assert_int_equal(set(range(3, EXCLUSIVE, 15, LOCK_END)), 0);
	assert_int_equal(set_on(&other_file, range(3, EXCLUSIVE, 0, LOCK_END)), 0);
	assert_true(
		locks_test(table, &file, &(struct lock){.owner = 1, .mode = SHARED, .start = 20, .end = 20}, &found));
	assert_int_equal(found.owner, 3);
	assert_int_equal(found.start, 15);
	assert_int_equal(found.end, LOCK_END);
	assert_int_equal(found.pid, 7);
	/* With LOCK_MODE_NONE the owner's own locks are found, and no others. */
	assert_true(locks_test(table, &file, &(struct lock){.owner = 2, .mode = NONE, .end = LOCK_END}, &found));
	assert_int_equal(found.owner, 2);
	assert_int_equal(found.start, 5);
	assert_false(locks_test(table, &file, &(struct lock){.owner = 2, .mode = NONE, .start = 15, .end = LOCK_END},
		&found));
	closed(&file, 1);
	closed(&file, 2);
	assert_int_equal(set(range(3, EXCLUSIVE, 0, 14)), 0);
	closed(&file, 3);
	assert_false(locks_test(table, &file, &(struct lock){.owner = 1, .mode = EXCLUSIVE, .end = LOCK_END}, &found));
	closed(&other_file, 3);
}

static void ranges_and_flocks_are_strangers(void **state)
{
	assert_int_equal(set(whole(1, EXCLUSIVE)), 0);
	assert_int_equal(set(range(2, EXCLUSIVE, 0, LOCK_END)), 0);
	locks_closed(table, &file, 1, 99); /* a flock belongs to the open file, not to a process */
	assert_int_equal(set(whole(3, SHARED)), -EAGAIN);
	locks_released(table, &file, 101);
	assert_int_equal(set(whole(3, SHARED)), 0);
	locks_released(table, &file, 103);
	locks_released(table, &file, 102);
}

static void whoever_waits_gets_it_when_nothing_is_in_the_way(void **state)
{
	struct waiter reader, second, writer;

	assert_int_equal(set(range(1, EXCLUSIVE, 0, 9)), 0);
	assert_int_equal(wait_for(&writer, range(2, EXCLUSIVE, 5, 5)), 1);
	assert_int_equal(wait_for(&reader, range(3, SHARED, 0, 20)), 1);
	assert_int_equal(wait_for(&second, range(4, SHARED, 9, 9)), 1);
	assert_int_equal(set(range(1, NONE, 6, 9)), 0);
	assert_int_equal(second.told, 1);
	assert_int_equal(second.error, 0);
	assert_int_equal(reader.told + writer.told, 0);
	assert_int_equal(set(range(1, SHARED, 0, 5)), 0); /* a smaller range than before */
	assert_int_equal(reader.told, 1);
	assert_int_equal(writer.told, 0);
	closed(&file, 1);
	closed(&file, 3);
	assert_int_equal(writer.told, 1);
	closed(&file, 2);
	closed(&file, 4);
}

static void a_lock_that_was_granted_lets_others_go_on(void **state)
{
	struct waiter downgrade, reader;

	assert_int_equal(set(range(1, EXCLUSIVE, 0, 9)), 0);
	assert_int_equal(set(range(2, EXCLUSIVE, 10, 19)), 0);
	assert_int_equal(wait_for(&reader, range(3, SHARED, 10, 10)), 1);
	assert_int_equal(wait_for(&downgrade, range(2, SHARED, 0, 19)), 1);
	locks_released(table, &file, 101);
	assert_int_equal(downgrade.told, 1);
	assert_int_equal(reader.told, 1);
	closed(&file, 2);
	closed(&file, 3);
}

static void a_wait_that_is_cancelled_gets_nothing(void **state)
{
	struct waiter w, late = {0};

	assert_int_equal(set(whole(1, EXCLUSIVE)), 0);
	assert_int_equal(wait_for(&w, whole(2, SHARED)), 1);
	assert_true(locks_cancel(table, &w.wait));
	assert_false(locks_cancel(table, &w.wait));
	late.wait.lock = whole(2, SHARED);
	assert_false(locks_cancel(table, &late.wait)); /* before locks_set() was called */
	assert_int_equal(locks_set(table, &file, &late.wait, true), -EINTR);
	locks_released(table, &file, 101);
	assert_int_equal(w.told, 0);
}

static void the_end_of_the_mount_ends_waits(void **state)
{
	struct waiter a, b;

	assert_int_equal(set(whole(1, EXCLUSIVE)), 0);
	assert_int_equal(set_on(&other_file, range(1, SHARED, 0, 0)), 0);
	assert_int_equal(wait_for(&a, whole(2, SHARED)), 1);
	assert_int_equal(wait_on(&other_file, &b, range(2, EXCLUSIVE, 0, 0)), 1);
	locks_end_waits(table, -ENOTCONN);
	assert_int_equal(a.told, 1);
	assert_int_equal(a.error, -ENOTCONN);
	assert_int_equal(b.told, 1);
	locks_released(table, &file, 101);
	closed(&other_file, 1);
}

static void a_circle_is_a_deadlock(void **state)
{
	struct waiter a, b;

	for (uint64_t owner = 1; owner <= 3; owner++)
		assert_int_equal(set_on(owner == 3 ? &other_file : &file,
					 range(owner, EXCLUSIVE, (int64_t)owner, (int64_t)owner)),
			0);
	assert_int_equal(wait_for(&a, range(1, SHARED, 2, 2)), 1);
	assert_int_equal(wait_on(&other_file, &b, range(2, SHARED, 3, 3)), 1);
	assert_int_equal(wait_for(&(struct waiter){0}, range(3, SHARED, 1, 1)), -EDEADLK);
	assert_int_equal(wait_for(&(struct waiter){0}, range(3, EXCLUSIVE, 0, LOCK_END)), -EDEADLK);
	closed(&other_file, 3);
	assert_int_equal(b.told, 1);
	closed(&file, 2);
	assert_int_equal(a.told, 1);
	closed(&other_file, 2);
	closed(&file, 1);
}

static void there_is_a_limit(void **state)
{
	for (int64_t n = 0; n < LOCKS_MAX / 64; n++) { /* in many files, so that the test is fast */
		struct nfs_fh fh = {.len = 8};

		memcpy(fh.data, &n, sizeof(n));
		for (int64_t i = 0; i < 64; i++)
			assert_int_equal(set_on(&fh, range(1, SHARED, 4 * i, 4 * i + 2)), 0);
	}
	assert_int_equal(set(range(1, SHARED, 0, 0)), -ENOLCK);
	for (int64_t n = 0; n < LOCKS_MAX / 64; n++) {
		struct nfs_fh fh = {.len = 8};

		memcpy(fh.data, &n, sizeof(n));
		if (n == 0) /* one range becomes two pieces */
			assert_int_equal(set_on(&fh, range(1, NONE, 1, 1)), -ENOLCK);
		closed(&fh, 1);
	}
	assert_int_equal(set(range(1, SHARED, 0, 0)), 0);
	closed(&file, 1);
}

struct thread_wait {
	struct lock_wait wait;
	pthread_mutex_t lock;
	pthread_cond_t answered;
	bool done;
	int error;
};

static void thread_told(struct lock_wait *w, int error)
{
	struct thread_wait *t = CONTAINER_OF(w, struct thread_wait, wait);

	LOCKED(&t->lock);
	t->done = true;
	t->error = error;
	(void)pthread_cond_signal(&t->answered);
}

static int wait_for_answer(struct thread_wait *t)
{
	LOCKED(&t->lock);
	while (!t->done)
		(void)pthread_cond_wait(&t->answered, &t->lock);
	return t->error;
}

/* RELEASE may arrive after a request that was made after the last close(2). */
static void who_does_not_want_to_wait_waits_for_a_file_to_be_gone(void **state)
{
	struct thread_wait t = {.wait = {.done = thread_told, .lock = whole(2, EXCLUSIVE)},
		.lock = PTHREAD_MUTEX_INITIALIZER,
		.answered = PTHREAD_COND_INITIALIZER};
	struct waiter w = {.wait = {.done = told, .lock = whole(2, EXCLUSIVE)}};
	struct lock silent = whole(1, EXCLUSIVE);
	uint64_t since;

	assert_int_equal(set(whole(1, SHARED)), 0);
	assert_int_equal(set(whole(2, EXCLUSIVE)), -EAGAIN);
	closed(&file, 1); /* by one of two processes, or by the last */
	assert_int_equal(locks_set(table, &file, &w.wait, false), 1);
	locks_released(table, &file, 101);
	assert_int_equal(w.told, 1);
	assert_int_equal(w.error, 0);
	locks_released(table, &file, 102);

	assert_int_equal(set(whole(1, SHARED)), 0);
	closed(&file, 1);
	since = now_ms();
	assert_int_equal(locks_set(table, &file, &t.wait, false), 1);
	assert_int_equal(wait_for_answer(&t), -EAGAIN);
	assert_true(now_ms() - since >= LOCK_GRACE_MS);
	assert_int_equal(set(whole(3, SHARED)), 0);
	assert_int_equal(set(whole(2, EXCLUSIVE)),
		-EAGAIN); /* refused at once, because the open file of the second lock is not closed */
	locks_released(table, &file, 101);
	locks_released(table, &file, 103);

	silent.quiet = true;
	assert_int_equal(set(silent), 0);
	assert_int_equal(locks_set(table, &file, &w.wait, false), 1); /* perhaps closed without a FLUSH */
	locks_released(table, &file, 101);
	assert_int_equal(w.told, 2);
	assert_int_equal(w.error, 0);
	locks_released(table, &file, 102);
}

/* ---- beside the kernel ---- */

#define OWNERS 4
#define BYTES  24

static unsigned seed(void)
{
	const char *text = getenv("LOCALIOFS_SEED");

	return text ? (unsigned)strtoul(text, NULL, 10) : 1;
}

static struct flock kernel_range(const struct lock *l)
{
	return (struct flock){
		.l_type = l->mode == EXCLUSIVE ? F_WRLCK
			  : l->mode == SHARED  ? F_RDLCK
					       : F_UNLCK,
		.l_whence = SEEK_SET,
		.l_start = l->start,
		.l_len = l->end == LOCK_END ? 0 : l->end - l->start + 1,
	};
}

/*
 * For each byte, all bytes from there, each owner and both kinds: the same lock conflicts in the table and in the
 * kernel.
 */
static void assert_same_ranges(const int *fds)
{
	for (uint64_t owner = 0; owner < OWNERS; owner++)
		for (int64_t n = 0; n < 2 * BYTES; n++)
			for (enum lock_mode mode = SHARED; mode <= EXCLUSIVE; mode++) {
				struct lock wanted = range(owner, mode, n / 2, n % 2 ? LOCK_END : n / 2), found;
				struct flock f = kernel_range(&wanted), ours;
				bool there = locks_test(table, &file, &wanted, &found);

				assert_int_equal(fcntl(fds[owner], F_OFD_GETLK, &f), 0);
				assert_int_equal(there, f.l_type != F_UNLCK);
				if (!there)
					continue;
				ours = kernel_range(&found);
				assert_int_equal(ours.l_type, f.l_type);
				assert_int_equal(ours.l_start, f.l_start);
				assert_int_equal(ours.l_len, f.l_len);
			}
}

static void ranges_are_the_kernels(void **state)
{
	unsigned random = seed();
	char path[] = "/tmp/localiofs-locks.XXXXXX";
	int fds[OWNERS];

	print_message("LOCALIOFS_SEED=%u\n", random);
	(void)close(mkstemp(path));
	for (size_t n = 0; n < OWNERS; n++)
		assert_true((fds[n] = open(path, O_RDWR | O_CLOEXEC)) >= 0);
	for (unsigned step = 0; step < 4000; step++) {
		unsigned owner = (unsigned)rand_r(&random) % OWNERS;
		int64_t a = rand_r(&random) % BYTES, b = rand_r(&random) % BYTES;
		struct lock l = range(owner, (enum lock_mode)(rand_r(&random) % 3), MIN(a, b),
			rand_r(&random) % 8 ? MAX(a, b) : LOCK_END);
		struct flock f = kernel_range(&l);
		int expected = fcntl(fds[owner], F_OFD_SETLK, &f) < 0 ? -errno : 0;

		assert_int_equal(set(l), expected);
		if (step % 200 == 199) { /* closed, and opened again */
			(void)close(fds[owner]);
			assert_true((fds[owner] = open(path, O_RDWR | O_CLOEXEC)) >= 0);
			locks_released(table, &file, owner + 100);
		}
		assert_same_ranges(fds);
	}
	for (unsigned n = 0; n < OWNERS; n++) {
		(void)close(fds[n]);
		closed(&file, n);
	}
	(void)unlink(path);
}

static void flocks_are_the_kernels(void **state)
{
	static const int operations[] = {[NONE] = LOCK_UN, [SHARED] = LOCK_SH, [EXCLUSIVE] = LOCK_EX};
	unsigned random = seed();
	char path[] = "/tmp/localiofs-locks.XXXXXX";
	int fds[OWNERS];

	(void)close(mkstemp(path));
	for (size_t n = 0; n < OWNERS; n++)
		assert_true((fds[n] = open(path, O_RDWR | O_CLOEXEC)) >= 0);
	for (unsigned step = 0; step < 20000; step++) {
		unsigned owner = (unsigned)rand_r(&random) % OWNERS;
		enum lock_mode mode = (enum lock_mode)(rand_r(&random) % 3);
		int expected = flock(fds[owner], operations[mode] | LOCK_NB) < 0 ? -errno : 0;

		assert_int_equal(set(whole(owner, mode)), expected);
	}
	for (unsigned n = 0; n < OWNERS; n++) {
		(void)close(fds[n]);
		locks_released(table, &file, n + 100);
	}
	(void)unlink(path);
}

/* ---- many at once ---- */

#define THREADS 8
#define ROUNDS  1500

static unsigned inside[2]; /* the number of writers in each file; only the tested locks guard it */

static void *contend(void *arg)
{
	uint64_t owner = (uintptr_t)arg;
	unsigned random = seed() + (unsigned)owner;

	for (unsigned round = 0; round < ROUNDS; round++) {
		unsigned which = (unsigned)rand_r(&random) % 2;
		const struct nfs_fh *fh = which ? &other_file : &file;
		bool flocks = which;
		struct thread_wait t = {.wait = {.done = thread_told,
						.lock = flocks ? whole(owner, EXCLUSIVE)
							       : range(owner, EXCLUSIVE, 0, 9)},
			.lock = PTHREAD_MUTEX_INITIALIZER,
			.answered = PTHREAD_COND_INITIALIZER};
		int r = locks_set(table, fh, &t.wait, true);

		if (r == 1 && rand_r(&random) % 8 == 0 && locks_cancel(table, &t.wait))
			continue;
		if (r == 1)
			r = wait_for_answer(&t);
		if (r < 0)
			return (void *)1;
		if (++inside[which] != 1)
			return (void *)2;
		inside[which]--;
		if (rand_r(&random) % 2)
			locks_released(table, fh, owner + 100);
		else
			(void)set_on(fh, flocks ? whole(owner, NONE) : range(owner, NONE, 0, LOCK_END));
	}
	return NULL;
}

static void many_threads_exclude_each_other(void **state)
{
	pthread_t threads[THREADS];
	void *result;

	for (uintptr_t n = 0; n < THREADS; n++)
		assert_int_equal(pthread_create(&threads[n], NULL, contend, (void *)(n + 1)), 0);
	for (size_t n = 0; n < THREADS; n++) {
		assert_int_equal(pthread_join(threads[n], &result), 0);
		assert_null(result);
	}
}

static atomic_bool has_enough;
static atomic_uint told_of_enough;

static bool enough(struct lock_wait *w)
{
	(void)w;
	return has_enough;
}

static void told_enough(struct lock_wait *w, int error)
{
	(void)w;
	if (error == -EINTR)
		atomic_fetch_add(&told_of_enough, 1);
}

static void who_has_had_enough_is_asked(void **state)
{
	struct lock_wait w = {.lock = whole(2, EXCLUSIVE), .done = told_enough, .given_up = enough};
	size_t held, waiting;
	uint64_t end;

	assert_int_equal(set(whole(1, EXCLUSIVE)), 0);
	assert_int_equal(locks_set(table, &file, &w, true), 1);
	(void)usleep((LOCK_ASK_MS + LOCK_ASK_MS / 2) * 1000);
	locks_count(table, &held, &waiting);
	assert_int_equal(waiting, 1);
	has_enough = true;
	for (end = now_ms() + 10 * LOCK_ASK_MS; told_of_enough == 0 && now_ms() < end;)
		(void)usleep(1000);
	assert_int_equal(told_of_enough, 1);
	assert_int_equal(set(whole(1, NONE)), 0);
}

#define LOCK_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		LOCK_TEST(who_has_had_enough_is_asked),
		LOCK_TEST(owners_conflict_where_one_writes),
		LOCK_TEST(ranges_and_flocks_are_strangers),
		LOCK_TEST(whoever_waits_gets_it_when_nothing_is_in_the_way),
		LOCK_TEST(a_lock_that_was_granted_lets_others_go_on),
		LOCK_TEST(a_wait_that_is_cancelled_gets_nothing),
		LOCK_TEST(the_end_of_the_mount_ends_waits),
		LOCK_TEST(a_circle_is_a_deadlock),
		LOCK_TEST(there_is_a_limit),
		LOCK_TEST(who_does_not_want_to_wait_waits_for_a_file_to_be_gone),
		LOCK_TEST(ranges_are_the_kernels),
		LOCK_TEST(flocks_are_the_kernels),
		LOCK_TEST(many_threads_exclude_each_other),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
