/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What C lacks: the size of an array, the struct that contains a member, cleanup at the end of a scope, the comparison
 * of times, room for descriptors, and a lock that the end of the scope releases. The cleanup functions accept NULL, and
 * -1 as a descriptor.
 */
#pragma once

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stddef.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

#define ARRAY_SIZE(a)                   (sizeof(a) / sizeof((a)[0]))
#define CONTAINER_OF(ptr, type, member) ((type *)((char *)(ptr)-offsetof(type, member)))
#define MIN(a, b)                       ((a) < (b) ? (a) : (b))
#define MAX(a, b)                       ((a) > (b) ? (a) : (b))
#define PRINTF(f, a)                    __attribute__((format(printf, f, a)))

/* Closes a descriptor, or does nothing for -1. Returns -1, and keeps errno. */
static inline int close_fd(int fd)
{
	int saved = errno;

	if (fd >= 0)
		(void)close(fd);
	errno = saved;
	return -1;
}

static inline void close_fdp(int *fd)
{
	*fd = close_fd(*fd);
}

/*
 * Makes the descriptor table as large as that many descriptors need, while no other thread shares it. fd: any
 * descriptor. A shared table that grows, when 64 descriptors are open, 128 and so on, waits for all CPUs (fs/file.c
 * expand_fdtable): 10 to 25 ms each time. Does nothing beyond RLIMIT_NOFILE.
 */
static inline void make_room_for_descriptors(int fd, int count)
{
	(void)close_fd(fcntl(fd, F_DUPFD_CLOEXEC, count - 1));
}

static inline void freep(void *p)
{
	free(*(void **)p);
}

static inline void fclosep(FILE **f)
{
	if (*f != NULL)
		(void)fclose(*f);
}

#define _cleanup_free_   __attribute__((cleanup(freep)))
#define _cleanup_close_  __attribute__((cleanup(close_fdp)))
#define _cleanup_fclose_ __attribute__((cleanup(fclosep)))

static inline int steal_fd(int *fd)
{
	int r = *fd;

	*fd = -1;
	return r;
}

#define STEAL_PTR(p)                         \
	__extension__({                      \
		__typeof__(p) stolen_ = (p); \
		(p) = NULL;                  \
		stolen_;                     \
	})

static inline bool timespec_is_same(const struct timespec *a, const struct timespec *b)
{
	return a->tv_sec == b->tv_sec && a->tv_nsec == b->tv_nsec;
}

static inline bool timespec_is_earlier(const struct timespec *a, const struct timespec *b)
{
	return a->tv_sec < b->tv_sec || (a->tv_sec == b->tv_sec && a->tv_nsec < b->tv_nsec);
}

/* LOCKED(&mutex); locks a mutex until the end of the scope. */
static inline void unlock_mutexp(pthread_mutex_t **m)
{
	(void)pthread_mutex_unlock(*m);
}
static inline pthread_mutex_t *lock_mutex(pthread_mutex_t *m)
{
	(void)pthread_mutex_lock(m);
	return m;
}
#define LOCKED_NAME2(line) locked_##line
#define LOCKED_NAME(line)  LOCKED_NAME2(line)
#define LOCKED(m)          __attribute__((cleanup(unlock_mutexp), unused)) pthread_mutex_t *LOCKED_NAME(__LINE__) = lock_mutex(m)
