/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * small-ops OPERATION PREFIX FIRST COUNT THREADS SECONDS: the speed of operations on many small files. OPERATION is
 * open (open, read 4 KiB, close) or stat. The names of the COUNT files are PREFIX and a number, from FIRST on. Each
 * thread uses its own files in turn for SECONDS, or each file once if SECONDS is 0. Prints operations per second.
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
	bool opens;
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

static int read_file(const char *path)
{
	char data[4096];
	int fd = open(path, O_RDONLY | O_CLOEXEC), r;

	if (fd < 0)
		return -1;
	r = read(fd, data, sizeof(data)) < 0 ? -1 : 0;
	return close(fd) < 0 ? -1 : r;
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
		if ((w->opens ? read_file(path) : look(path)) < 0) {
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

	if (argc != 7 || (strcmp(argv[1], "open") != 0 && strcmp(argv[1], "stat") != 0)) {
		(void)fprintf(stderr, "usage: small-ops open|stat PREFIX FIRST COUNT THREADS SECONDS\n");
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
			.opens = strcmp(argv[1], "open") == 0,
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
