/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cmocka_setup.h"

#include <fcntl.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/uio.h>

#include "io/uring.h"

#define SIZE 1000003
#define MANY 2000 /* more than a ring takes at once */

static uint8_t content[SIZE];

struct waiter {
	struct uring_io io;
	ssize_t result;
	unsigned calls;
	sem_t *done;
};

static void note(struct uring_io *io, ssize_t result)
{
	struct waiter *w = CONTAINER_OF(io, struct waiter, io);

	w->result = result;
	w->calls++;
	(void)sem_post(w->done);
}

struct fixture {
	struct uring *uring;
	int fd;
	sem_t done;
};

static int set_up(void **state)
{
	static struct fixture f;
	char path[] = "/var/tmp/test_uring.XXXXXX"; /* no tmpfs: its pages are all there */
	int r = uring_new(&f.uring);

	if (r == -ENOSYS || r == -EPERM) {
		(void)printf("# this kernel allows no io_uring here: %d\n", r);
		return -1;
	}
	f.fd = mkstemp(path);
	(void)unlink(path);
	for (size_t i = 0; i < SIZE; i++)
		content[i] = (uint8_t)(i * 2654435761U >> 13);
	(void)sem_init(&f.done, 0, 0);
	*state = &f;
	return f.fd >= 0 ? write_all(f.fd, content, SIZE) : -1;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	f->uring = uring_free(f->uring);
	f->fd = close_fd(f->fd);
	return sem_destroy(&f->done);
}

static void forget_pages(int fd)
{
	assert_int_equal(fsync(fd), 0);
	assert_int_equal(posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED), 0);
}

static void start(struct fixture *f, struct waiter *w, int fd, uint64_t offset, size_t size)
{
	*w = (struct waiter){.done = &f->done,
		.io = {.fd = fd, .offset = offset, .size = size, .align = 1, .buf = malloc(size), .done = note}};
	assert_non_null(w->io.buf);
	uring_read(f->uring, &w->io);
}

static void finish(struct waiter *w, ssize_t expected)
{
	assert_int_equal(w->result, expected);
	assert_int_equal(w->calls, 1);
	if (expected > 0)
		assert_memory_equal(w->io.buf, content + w->io.offset, (size_t)expected);
	free(w->io.buf);
}

static void read_one(struct fixture *f, int fd, uint64_t offset, size_t size, ssize_t expected)
{
	struct waiter w;

	start(f, &w, fd, offset, size);
	assert_int_equal(sem_wait(&f->done), 0);
	finish(&w, expected);
}

static void what_the_file_has_is_read(void **state)
{
	struct fixture *f = *state;

	for (int cached = 0; cached < 2; cached++) {
		if (!cached)
			forget_pages(f->fd);
		read_one(f, f->fd, 0, SIZE, SIZE);
		read_one(f, f->fd, 4097, 1, 1);
		read_one(f, f->fd, 77, 500000, 500000);
		read_one(f, f->fd, SIZE - 10, 4096, 10);
		read_one(f, f->fd, SIZE, 4096, 0);
		read_one(f, f->fd, SIZE + 100000, 4096, 0);
	}
}

/* What is not in the page cache behind what is. */
static void a_read_that_is_half_there_is_whole(void **state)
{
	struct fixture *f = *state;

	forget_pages(f->fd);
	assert_int_equal(posix_fadvise(f->fd, 0, 0, POSIX_FADV_RANDOM), 0);
	read_one(f, f->fd, 0, 8192, 8192);
	read_one(f, f->fd, 0, 200000, 200000);
	read_one(f, f->fd, 199000, SIZE, SIZE - 199000);
}

/* A file ends in the middle of a block, where the next read begins. */
static void direct_reads_end_with_the_file(void **state)
{
	struct fixture *f = *state;
	const unsigned align = 4096;

	assert_int_equal(fcntl(f->fd, F_SETFL, O_DIRECT), 0);
	for (size_t from = 0; from < SIZE + align; from += 25 * align) {
		struct waiter w = {.done = &f->done,
			.io = {.fd = f->fd, .offset = from, .size = 100 * align, .no_cache = true,
				.align = align, .buf = aligned_alloc(align, 100 * align), .done = note}};

		assert_non_null(w.io.buf);
		uring_read(f->uring, &w.io);
		assert_int_equal(sem_wait(&f->done), 0);
		finish(&w, MIN((ssize_t)(100 * align), MAX((ssize_t)SIZE - (ssize_t)from, 0)));
	}
}

struct appender {
	int fd;
	atomic_bool enough;
};

static void *append(void *arg)
{
	struct appender *a = arg;
	char path[48];
	int fd;

	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", a->fd);
	fd = open(path, O_WRONLY | O_APPEND);
	while (fd >= 0 && !a->enough && write(fd, content, 777) == 777)
		(void)usleep(20);
	return (void *)(intptr_t)close_fd(fd);
}

/* It is longer by the time that the read would go on. */
static void direct_reads_end_where_the_file_did(void **state)
{
	struct fixture *f = *state;
	const unsigned align = 4096;
	struct appender appender = {.fd = f->fd};
	struct waiter w = {.done = &f->done, .result = 1};
	pthread_t thread;

	assert_int_equal(fcntl(f->fd, F_SETFL, O_DIRECT), 0);
	assert_int_equal(pthread_create(&thread, NULL, append, &appender), 0);
	for (int n = 0; n < 5000 && w.result >= 0; n++) {
		uint64_t end = (uint64_t)lseek(f->fd, 0, SEEK_END);

		w.io = (struct uring_io){.fd = f->fd, .offset = end / align * align, .size = 16 * align,
			.no_cache = true, .align = align, .buf = aligned_alloc(align, 16 * align), .done = note};
		assert_non_null(w.io.buf);
		uring_read(f->uring, &w.io);
		assert_int_equal(sem_wait(&f->done), 0);
		free(w.io.buf);
	}
	appender.enough = true;
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_true(w.result >= 0);
}

static void many_at_once_are_each_answered_once(void **state)
{
	struct fixture *f = *state;
	struct waiter *w = calloc(MANY, sizeof(*w));

	assert_non_null(w);
	forget_pages(f->fd);
	for (unsigned n = 0; n < MANY; n++)
		start(f, &w[n], f->fd, n * 487ULL, 3000);
	for (unsigned n = 0; n < MANY; n++)
		assert_int_equal(sem_wait(&f->done), 0);
	for (unsigned n = 0; n < MANY; n++)
		finish(&w[n], MIN(3000, SIZE - (ssize_t)(n * 487)));
	free(w);
}

static void errors_are_told(void **state)
{
	struct fixture *f = *state;
	_cleanup_close_ int directory = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	read_one(f, -1, 0, 10, -EBADF);
	read_one(f, directory, 0, 10, -EISDIR);
}

static ssize_t write_one(struct fixture *f, int fd, struct uring_io io)
{
	struct waiter w = {.done = &f->done, .io = io};

	w.io.fd = fd;
	w.io.done = note;
	uring_write(f->uring, &w.io);
	assert_int_equal(sem_wait(&f->done), 0);
	assert_int_equal(w.calls, 1);
	return w.result;
}

static void what_is_written_is_there(void **state)
{
	struct fixture *f = *state;
	struct waiter *w = calloc(MANY, sizeof(*w)), last = {.done = &f->done, .io = {.fd = f->fd, .done = note}};
	uint8_t *bytes = malloc(SIZE);
	struct stat st;

	assert_non_null(w);
	assert_non_null(bytes);
	for (size_t i = 0; i < SIZE; i++)
		bytes[i] = (uint8_t)(content[i] ^ 0x5a);
	for (unsigned n = 0; n < MANY; n++) {
		w[n] = (struct waiter){.done = &f->done,
			.io = {.fd = f->fd, .offset = n * 500U, .buf = bytes + n * 500U, .size = n + 1 < MANY ? 500 : SIZE - n * 500U,
				.how = n % 3 == 0 ? RWF_SYNC : 0, .as_root = n % 2 == 0, .done = note}};
		uring_write(f->uring, &w[n].io);
	}
	for (unsigned n = 0; n < MANY; n++)
		assert_int_equal(sem_wait(&f->done), 0);
	for (unsigned n = 0; n < MANY; n++) {
		assert_int_equal(w[n].calls, 1);
		assert_int_equal(w[n].result, w[n].io.size);
	}
	assert_int_equal(write_one(f, f->fd, (struct uring_io){.buf = bytes, .size = 1000, .how = RWF_APPEND}), 1000);
	uring_sync(f->uring, &last.io);
	assert_int_equal(sem_wait(&f->done), 0);
	assert_int_equal(last.result, 0);
	assert_int_equal(fstat(f->fd, &st), 0);
	assert_int_equal(st.st_size, SIZE + 1000);
	memcpy(content, bytes, SIZE);
	read_one(f, f->fd, 0, SIZE, SIZE);
	free(bytes);
	free(w);
}

/* And so are those of root: he has no CAP_FSETID there. */
static void writes_clear_set_id_bits(void **state)
{
	struct fixture *f = *state;
	uint8_t byte = 0;
	struct stat st;

	if (geteuid() != 0)
		skip();
	for (int as_root = 0; as_root < 2; as_root++) {
		assert_int_equal(fchmod(f->fd, 06777), 0);
		assert_int_equal(write_one(f, f->fd, (struct uring_io){.buf = &byte, .size = 1, .as_root = as_root}), 1);
		assert_int_equal(fstat(f->fd, &st), 0);
		assert_int_equal(st.st_mode & 07777, 0777);
	}
}

static void a_limit_of_ours_is_an_error(void **state)
{
	struct fixture *f = *state;
	struct rlimit before, low;
	uint8_t bytes[100] = {0};

	assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
	low = (struct rlimit){.rlim_cur = SIZE + 50, .rlim_max = before.rlim_max};
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &low), 0);
	assert_int_equal(write_one(f, f->fd, (struct uring_io){.buf = bytes, .size = 100, .offset = SIZE + 60}), -EFBIG);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
	assert_int_equal(write_one(f, -1, (struct uring_io){.buf = bytes, .size = 1}), -EBADF);
}

static void a_pause_takes_its_time(void **state)
{
	struct fixture *f = *state;
	struct waiter w = {.done = &f->done, .io.done = note}, last = w;
	struct timespec before, after;

	assert_int_equal(clock_gettime(CLOCK_MONOTONIC, &before), 0);
	uring_pause(f->uring, &w.io);
	assert_int_equal(sem_wait(&f->done), 0);
	assert_int_equal(clock_gettime(CLOCK_MONOTONIC, &after), 0);
	assert_true((after.tv_sec - before.tv_sec) * 1000000000L + after.tv_nsec - before.tv_nsec >= 300000);
	assert_true(w.result < 0);
	uring_pause(f->uring, &last.io);
	f->uring = uring_free(f->uring);
	assert_int_equal(w.calls + last.calls, 2);
}

static void the_end_waits_for_all(void **state)
{
	struct fixture *f = *state;
	static struct waiter w[200];

	forget_pages(f->fd);
	for (unsigned n = 0; n < ARRAY_SIZE(w); n++)
		start(f, &w[n], f->fd, n * 5000ULL, 4096);
	f->uring = uring_free(f->uring);
	for (unsigned n = 0; n < ARRAY_SIZE(w); n++)
		finish(&w[n], MIN(4096, SIZE - (ssize_t)(n * 5000)));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(what_the_file_has_is_read, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_read_that_is_half_there_is_whole, set_up, tear_down),
		cmocka_unit_test_setup_teardown(direct_reads_end_with_the_file, set_up, tear_down),
		cmocka_unit_test_setup_teardown(direct_reads_end_where_the_file_did, set_up, tear_down),
		cmocka_unit_test_setup_teardown(many_at_once_are_each_answered_once, set_up, tear_down),
		cmocka_unit_test_setup_teardown(errors_are_told, set_up, tear_down),
		cmocka_unit_test_setup_teardown(what_is_written_is_there, set_up, tear_down),
		cmocka_unit_test_setup_teardown(writes_clear_set_id_bits, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_limit_of_ours_is_an_error, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_pause_takes_its_time, set_up, tear_down),
		cmocka_unit_test_setup_teardown(the_end_waits_for_all, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
