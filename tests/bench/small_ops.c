/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * small-ops OPERATION PREFIX FIRST COUNT THREADS SECONDS: the speed of operations on many small files. The table below
 * has the operations. The names of the COUNT files are PREFIX and a number, from FIRST on. Each thread uses its own
 * files in turn for SECONDS, or each file once if SECONDS is 0. Prints operations per second.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define THREADS_MAX 64

struct work {
	pthread_t thread;
	const char *prefix;
	int (*operation)(const char *path);
	unsigned first, count; /* of the thread's files */
	double seconds;
	unsigned long done;
};

static double now(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static int look(const char *path)
{
	struct stat st;

	return stat(path, &st);
}

static int look_in_vain(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 ? -1 : errno == ENOENT ? 0 : -1;
}

static int read_file(const char *path)
{
	char data[4096];
	int fd = open(path, O_RDONLY | O_CLOEXEC), r;

	if (fd < 0)
		return -1;
	r = read(fd, data, sizeof(data)) < 0 ? -1 : 0;
	return close(fd) < 0 ? -1 : r;
}

static int make_file(const char *path, int flags, bool synced)
{
	static const char data[4096];
	int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | flags, 0644), r;

	if (fd < 0)
		return -1;
	r = write(fd, data, sizeof(data)) == (ssize_t)sizeof(data) && (!synced || fsync(fd) == 0) ? 0 : -1;
	return close(fd) < 0 ? -1 : r;
}

static int create(const char *path)
{
	return make_file(path, 0, false);
}

static int create_exclusively(const char *path)
{
	return make_file(path, O_EXCL, false);
}

static int create_synced(const char *path)
{
	return make_file(path, 0, true);
}

static int change_mode(const char *path)
{
	return chmod(path, 0600);
}

static int make_directory(const char *path)
{
	return mkdir(path, 0755);
}

/* The new name is in the same directory. */
static int move(const char *path)
{
	char other[4096];

	(void)snprintf(other, sizeof(other), "%.4000s.moved", path);
	return rename(path, other);
}

/* As a mail server delivers: a new file is made stable, gets its name, and is removed later. */
static int deliver(const char *path)
{
	char other[4096];

	(void)snprintf(other, sizeof(other), "%.4000s.new", path);
	return make_file(other, O_EXCL, true) == 0 && rename(other, path) == 0 ? unlink(path) : -1;
}

static const struct {
	const char *name;
	int (*operation)(const char *path);
} operations[] = {
	{"open", read_file}, /* open, read 4 KiB, close */
	{"stat", look},
	{"absent", look_in_vain},
	{"create", create}, /* create, write 4 KiB, close */
	{"create-excl", create_exclusively},
	{"create-fsync", create_synced},
	{"chmod", change_mode},
	{"mkdir", make_directory},
	{"rmdir", rmdir},
	{"unlink", unlink},
	{"rename", move},
	{"mail", deliver},
};

static int (*find(const char *name))(const char *path)
{
	for (size_t n = 0; n < sizeof(operations) / sizeof(operations[0]); n++)
		if (strcmp(operations[n].name, name) == 0)
			return operations[n].operation;
	return NULL;
}

static void *work(void *arg)
{
	struct work *w = arg;
	double end = now() + w->seconds;

	for (unsigned n = 0;; n++) {
		char path[4096];

		if (n == w->count && w->seconds == 0)
			break;
		/* Read the clock seldom: it costs as much as a request. */
		if (w->seconds > 0 && n % 64 == 0 && now() >= end)
			break;
		(void)snprintf(path, sizeof(path), "%s%u", w->prefix, w->first + n % w->count);
		if (w->operation(path) < 0) {
			perror(path);
			exit(1);
		}
		w->done++;
	}
	return NULL;
}

int main(int argc, char **argv)
{
	static struct work all[THREADS_MAX];
	unsigned long done = 0;
	unsigned first, count, threads;
	double begin;

	if (argc != 7 || !find(argv[1])) {
		(void)fprintf(stderr, "usage: small-ops OPERATION PREFIX FIRST COUNT THREADS SECONDS\n");
		return 2;
	}
	first = (unsigned)strtoul(argv[3], NULL, 10);
	count = (unsigned)strtoul(argv[4], NULL, 10);
	threads = (unsigned)strtoul(argv[5], NULL, 10);
	if (threads < 1 || threads > THREADS_MAX || count < threads) {
		(void)fprintf(stderr, "small-ops: 1 to %d threads, and a file for each\n", THREADS_MAX);
		return 2;
	}
	begin = now();
	for (unsigned n = 0; n < threads; n++) {
		all[n] = (struct work){.prefix = argv[2],
			.operation = find(argv[1]),
			.first = first + count / threads * n,
			.count = count / threads,
			.seconds = strtod(argv[6], NULL)};
		if (pthread_create(&all[n].thread, NULL, work, &all[n]) != 0)
			return 1;
	}
	for (unsigned n = 0; n < threads; n++) {
		(void)pthread_join(all[n].thread, NULL);
		done += all[n].done;
	}
	(void)printf("%.1f\n", (double)done / (now() - begin));
	return 0;
}
