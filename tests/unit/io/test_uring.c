/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "cmocka_setup.h"

#include <fcntl.h>
#include <sched.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/uio.h>

#include "base/whole_io.h"
#include "io/registered.h"

#define SIZE 1000003
#define MANY 2000 /* more requests than a ring has entries */

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
	struct uring_file file; /* with the same fd */
	sem_t done;
};

static int set_up(void **state)
{
	static struct fixture f;
	char path[] = "/var/tmp/test_uring.XXXXXX"; /* not on tmpfs, whose pages are always in memory */
	int r = uring_new(&f.uring);

	if (r == -ENOSYS || r == -EPERM) {
		(void)printf("# this kernel allows no io_uring here: %d\n", r);
		return -1;
	}
	f.fd = mkstemp(path);
	f.file = (struct uring_file){.fd = f.fd};
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

static void start(struct fixture *f, struct waiter *w, struct uring_file *file, uint64_t offset, size_t size)
{
	*w = (struct waiter){.done = &f->done,
		.io = {.file = file, .offset = offset, .size = size, .align = 1, .buf = malloc(size), .done = note}};
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

static void read_one(struct fixture *f, struct uring_file *file, uint64_t offset, size_t size, ssize_t expected)
{
	struct waiter w;

	start(f, &w, file, offset, size);
	assert_int_equal(sem_wait(&f->done), 0);
	finish(&w, expected);
}

static void a_read_gets_the_content(void **state)
{
	struct fixture *f = *state;

	for (int cached = 0; cached < 2; cached++) {
		if (!cached)
			forget_pages(f->fd);
		read_one(f, &f->file, 0, SIZE, SIZE);
		read_one(f, &f->file, 4097, 1, 1);
		read_one(f, &f->file, 77, 500000, 500000);
		read_one(f, &f->file, SIZE - 10, 4096, 10);
		read_one(f, &f->file, SIZE, 4096, 0);
		read_one(f, &f->file, SIZE + 100000, 4096, 0);
	}
}

/* A read whose first part is in the page cache, and the second part is not. */
static void a_read_that_is_half_in_the_page_cache_is_complete(void **state)
{
	struct fixture *f = *state;

	forget_pages(f->fd);
	assert_int_equal(posix_fadvise(f->fd, 0, 0, POSIX_FADV_RANDOM), 0);
	read_one(f, &f->file, 0, 8192, 8192);
	read_one(f, &f->file, 0, 200000, 200000);
	read_one(f, &f->file, 199000, SIZE, SIZE - 199000);
}

/* The file ends in the middle of a block. */
static void direct_reads_end_with_the_file(void **state)
{
	struct fixture *f = *state;
	const unsigned align = 4096;

	assert_int_equal(fcntl(f->fd, F_SETFL, O_DIRECT), 0);
	for (size_t from = 0; from < SIZE + align; from += 25 * align) {
		struct waiter w = {.done = &f->done,
			.io = {.file = &f->file,
				.offset = from,
				.size = 100 * align,
				.no_cache = true,
				.align = align,
				.buf = aligned_alloc(align, 100 * align),
				.done = note}};

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

/* The file grows before the read could go on. */
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

		w.io = (struct uring_io){.file = &f->file,
			.offset = end / align * align,
			.size = 16 * align,
			.no_cache = true,
			.align = align,
			.buf = aligned_alloc(align, 16 * align),
			.done = note};
		assert_non_null(w.io.buf);
		uring_read(f->uring, &w.io);
		assert_int_equal(sem_wait(&f->done), 0);
		free(w.io.buf);
	}
	appender.enough = true;
	assert_int_equal(pthread_join(thread, NULL), 0);
	assert_true(w.result >= 0);
}

static void each_of_many_requests_is_answered_once(void **state)
{
	struct fixture *f = *state;
	struct waiter *w = calloc(MANY, sizeof(*w));

	assert_non_null(w);
	forget_pages(f->fd);
	for (unsigned n = 0; n < MANY; n++)
		start(f, &w[n], &f->file, n * 487ULL, 3000);
	for (unsigned n = 0; n < MANY; n++)
		assert_int_equal(sem_wait(&f->done), 0);
	for (unsigned n = 0; n < MANY; n++)
		finish(&w[n], MIN(3000, SIZE - (ssize_t)(n * 487)));
	free(w);
}

static void errors_are_results(void **state)
{
	struct fixture *f = *state;
	_cleanup_close_ int fd = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct uring_file none = {.fd = -1}, directory = {.fd = fd};

	read_one(f, &none, 0, 10, -EBADF);
	read_one(f, &directory, 0, 10, -EISDIR);
}

static ssize_t write_one(struct fixture *f, struct uring_file *file, struct uring_io io)
{
	struct waiter w = {.done = &f->done, .io = io};

	w.io.file = file;
	w.io.done = note;
	uring_write(f->uring, &w.io);
	assert_int_equal(sem_wait(&f->done), 0);
	assert_int_equal(w.calls, 1);
	return w.result;
}

static void written_data_is_in_the_file(void **state)
{
	struct fixture *f = *state;
	struct waiter *w = calloc(MANY, sizeof(*w)), last = {.done = &f->done, .io = {.file = &f->file, .done = note}};
	uint8_t *bytes = malloc(SIZE);
	struct stat st;

	assert_non_null(w);
	assert_non_null(bytes);
	for (size_t i = 0; i < SIZE; i++)
		bytes[i] = (uint8_t)(content[i] ^ 0x5a);
	for (unsigned n = 0; n < MANY; n++) {
		w[n] = (struct waiter){.done = &f->done,
			.io = {.file = &f->file,
				.offset = n * 500U,
				.buf = bytes + n * 500U,
				.size = n + 1 < MANY ? 500 : SIZE - n * 500U,
				.how = n % 3 == 0 ? RWF_SYNC : 0,
				.as_root = n % 2 == 0,
				.done = note}};
		uring_write(f->uring, &w[n].io);
	}
	for (unsigned n = 0; n < MANY; n++)
		assert_int_equal(sem_wait(&f->done), 0);
	for (unsigned n = 0; n < MANY; n++) {
		assert_int_equal(w[n].calls, 1);
		assert_int_equal(w[n].result, w[n].io.size);
	}
	assert_int_equal(write_one(f, &f->file, (struct uring_io){.buf = bytes, .size = 1000, .how = RWF_APPEND}),
		1000);
	uring_sync(f->uring, &last.io);
	assert_int_equal(sem_wait(&f->done), 0);
	assert_int_equal(last.result, 0);
	assert_int_equal(fstat(f->fd, &st), 0);
	assert_int_equal(st.st_size, SIZE + 1000);
	memcpy(content, bytes, SIZE);
	read_one(f, &f->file, 0, SIZE, SIZE);
	free(bytes);
	free(w);
}

/* Also when root writes: the ring's root has no CAP_FSETID. */
static void writes_clear_set_id_bits(void **state)
{
	struct fixture *f = *state;
	uint8_t byte = 0;
	struct stat st;

	if (geteuid() != 0)
		skip();
	for (int as_root = 0; as_root < 2; as_root++) {
		assert_int_equal(fchmod(f->fd, 06777), 0);
		assert_int_equal(write_one(f, &f->file, (struct uring_io){.buf = &byte, .size = 1, .as_root = as_root}),
			1);
		assert_int_equal(fstat(f->fd, &st), 0);
		assert_int_equal(st.st_mode & 07777, 0777);
	}
}

static void a_file_size_limit_is_an_error(void **state)
{
	struct fixture *f = *state;
	struct rlimit before, low;
	struct uring_file none = {.fd = -1};
	uint8_t bytes[100] = {0};

	assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
	low = (struct rlimit){.rlim_cur = SIZE + 50, .rlim_max = before.rlim_max};
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &low), 0);
	assert_int_equal(write_one(f, &f->file, (struct uring_io){.buf = bytes, .size = 100, .offset = SIZE + 60}),
		-EFBIG);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
	assert_int_equal(write_one(f, &none, (struct uring_io){.buf = bytes, .size = 1}), -EBADF);
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

/* Counts the lines below a heading in the fdinfo of this process's rings. */
static unsigned registered(const char *heading)
{
	char path[300], line[300];
	unsigned count = 0;

	for (int fd = 3; fd < 100; fd++) {
		bool below = false;
		FILE *f;

		(void)snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
		f = fopen(path, "re");
		while (f && fgets(line, sizeof(line), f)) {
			unsigned number;
			char first;

			if (sscanf(line, " %u: %c", &number, &first) == 2)
				count += below && first != '<'; /* <none> */
			else
				below = strncmp(line, heading, strlen(heading)) == 0;
		}
		if (f)
			(void)fclose(f);
	}
	return count;
}

static bool eventually(const char *heading, unsigned least, unsigned most)
{
	unsigned count = 0;

	for (int n = 0; n < 1000; n++) {
		count = registered(heading);
		if (count >= least && count <= most)
			return true;
		(void)usleep(10000); /* the fdinfo of a busy ring is incomplete */
	}
	(void)printf("# %s %u, expected %u to %u\n", heading, count, least, most);
	return false;
}

/* Linux 6.14: io/registered.c */
static bool registers_files(void)
{
	struct io_uring trial;
	bool does;

	assert_int_equal(io_uring_queue_init(2, &trial, 0), 0);
	does = trial.features & IORING_FEAT_RW_ATTR;
	io_uring_queue_exit(&trial);
	return does;
}

static sem_t closed;

static void note_closed(struct uring_file *file)
{
	assert_int_equal(file->fd, -1);
	(void)sem_post(&closed);
}

/* Reads that the page cache cannot answer, so each read needs a ring. */
static void read_by_rings(struct fixture *f, struct uring_file *file, struct iovec payload, int times)
{
	for (int n = 0; n < times; n++) {
		struct waiter w = {.done = &f->done,
			.io = {.file = file,
				.offset = (uint64_t)n * 1000,
				.size = 5000,
				.align = 1,
				.no_cache = true,
				.payload = payload,
				.done = note}};

		w.io.buf = payload.iov_base ? (uint8_t *)payload.iov_base + n : malloc(w.io.size);
		uring_read(f->uring, &w.io);
		assert_int_equal(sem_wait(&f->done), 0);
		assert_int_equal(w.result, 5000);
		assert_memory_equal(w.io.buf, content + w.io.offset, 5000);
		if (!payload.iov_base)
			free(w.io.buf);
	}
}

static void files_with_many_requests_are_registered(void **state)
{
	struct fixture *f = *state;
	struct uring_file file, once = {.fd = dup(f->fd)}, files[300] = {0};
	const bool does = registers_files();
	cpu_set_t all, one;
	char path[48];

	CPU_ZERO(&one);
	(void)sem_init(&closed, 0, 0);
	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", f->fd);
	read_by_rings(f, &once, (struct iovec){0}, 1);
	assert_true(eventually("UserFiles:", 0, 0));
	uring_file_close(f->uring, &once, note_closed);
	assert_int_equal(sem_trywait(&closed), 0);

	/* More files than a ring can register, and enough requests per file. The CPU decides which ring serves. */
	assert_int_equal(sched_getaffinity(0, sizeof(all), &all), 0);
	CPU_SET(sched_getcpu(), &one);
	assert_int_equal(sched_setaffinity(0, sizeof(one), &one), 0);
	for (unsigned n = 0; n < ARRAY_SIZE(files); n++) {
		files[n].fd = open(path, O_RDONLY | O_CLOEXEC);
		assert_true(files[n].fd >= 0);
		read_by_rings(f, &files[n], (struct iovec){0}, REGISTERED_OFTEN + 1);
	}
	assert_true(eventually("UserFiles:", does ? REGISTERED_FILES : 0, REGISTERED_FILES));
	for (unsigned n = 0; n < ARRAY_SIZE(files); n++)
		uring_file_close(f->uring, &files[n], note_closed);
	for (unsigned n = 0; n < ARRAY_SIZE(files); n++)
		assert_int_equal(sem_wait(&closed), 0);
	assert_true(eventually("UserFiles:", 0, 0));
	assert_int_equal(fcntl(f->fd, F_SETLEASE, F_WRLCK), 0); /* fails if anybody else has the file open */
	assert_int_equal(fcntl(f->fd, F_SETLEASE, F_UNLCK), 0);

	/* The places of the closed files are free again. */
	for (int n = 0; n < 2; n++) {
		file = (struct uring_file){.fd = open(path, O_RDONLY | O_CLOEXEC)};
		read_by_rings(f, &file, (struct iovec){0}, 100);
		assert_true(eventually("UserFiles:", does ? 1 : 0, URING_MAX_RINGS));
		if (n == 0) {
			uring_file_close(f->uring, &file, note_closed);
			assert_int_equal(sem_wait(&closed), 0);
			assert_int_equal(sched_setaffinity(0, sizeof(all), &all), 0);
		}
	}
	uring_stop(f->uring);
	uring_file_close(f->uring, &file, note_closed);
	assert_int_equal(sem_trywait(&closed), 0);
	assert_int_equal(fcntl(f->fd, F_SETLEASE, F_WRLCK), 0);
	assert_int_equal(fcntl(f->fd, F_SETLEASE, F_UNLCK), 0);
	uring_file_close(NULL, &(struct uring_file){.fd = dup(f->fd)}, note_closed);
	assert_int_equal(sem_trywait(&closed), 0);
}

static void payloads_are_registered(void **state)
{
	struct fixture *f = *state;
	const size_t size = 8192, count = 100; /* more payloads than a ring can register */
	uint8_t *room = aligned_alloc(4096, count * size);
	struct iovec payload;
	struct rlimit pinned;

	assert_non_null(room);
	for (size_t n = 0; n < count; n++) {
		payload = (struct iovec){.iov_base = room + n * size, .iov_len = n == 0 ? count * size : size};
		read_by_rings(f, &f->file, payload, 40);
	}
	payload = (struct iovec){.iov_base = room, .iov_len = count * size};
	for (unsigned n = 0; n < count; n++) { /* only the beginning of the payload is registered */
		struct waiter w = {.done = &f->done,
			.io = {.file = &f->file,
				.size = 5000,
				.align = 1,
				.no_cache = true,
				.payload = payload,
				.buf = room + REGISTERED_BYTES - 50 * n,
				.done = note}};

		uring_read(f->uring, &w.io);
		assert_int_equal(sem_wait(&f->done), 0);
		assert_int_equal(w.result, 5000);
		assert_memory_equal(w.io.buf, content, 5000);
	}
	assert_int_equal(getrlimit(RLIMIT_MEMLOCK, &pinned), 0);
	assert_true(eventually("UserBufs:", pinned.rlim_cur > 1U << 22 ? 2 : 0, 32));
	for (int n = 0; n < 100; n++)
		assert_int_equal(write_one(f, &f->file,
					 (struct uring_io){.buf = (uint8_t *)payload.iov_base + n,
						 .payload = payload,
						 .size = 100,
						 .offset = SIZE + 100 * (uint64_t)n}),
			100);
	for (int n = 0; n < 100; n++) {
		uint8_t bytes[100];

		assert_int_equal(pread(f->fd, bytes, sizeof(bytes), SIZE + 100 * n), sizeof(bytes));
		assert_memory_equal(bytes, (uint8_t *)payload.iov_base + n, sizeof(bytes));
	}
	f->uring = uring_free(f->uring);
	free(room);
}

static void the_end_waits_for_all_requests(void **state)
{
	struct fixture *f = *state;
	static struct waiter w[200];

	forget_pages(f->fd);
	for (unsigned n = 0; n < ARRAY_SIZE(w); n++)
		start(f, &w[n], &f->file, n * 5000ULL, 4096);
	f->uring = uring_free(f->uring);
	for (unsigned n = 0; n < ARRAY_SIZE(w); n++)
		finish(&w[n], MIN(4096, SIZE - (ssize_t)(n * 5000)));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_read_gets_the_content, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_read_that_is_half_in_the_page_cache_is_complete, set_up, tear_down),
		cmocka_unit_test_setup_teardown(direct_reads_end_with_the_file, set_up, tear_down),
		cmocka_unit_test_setup_teardown(direct_reads_end_where_the_file_did, set_up, tear_down),
		cmocka_unit_test_setup_teardown(each_of_many_requests_is_answered_once, set_up, tear_down),
		cmocka_unit_test_setup_teardown(errors_are_results, set_up, tear_down),
		cmocka_unit_test_setup_teardown(written_data_is_in_the_file, set_up, tear_down),
		cmocka_unit_test_setup_teardown(writes_clear_set_id_bits, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_file_size_limit_is_an_error, set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_pause_takes_its_time, set_up, tear_down),
		cmocka_unit_test_setup_teardown(files_with_many_requests_are_registered, set_up, tear_down),
		cmocka_unit_test_setup_teardown(payloads_are_registered, set_up, tear_down),
		cmocka_unit_test_setup_teardown(the_end_waits_for_all_requests, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
