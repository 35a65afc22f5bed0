/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What every part uses: cleanup attributes, small macros, whole-buffer I/O, a list.
 * Conventions: functions return 0 or a negative errno; _free and _unref take NULL.
 */
#pragma once

#include <errno.h>
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

/* A descriptor is a number >= 0 or -1; closing leaves errno alone. */
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

/* A lock held until the end of the scope: LOCKED(&mutex); */
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

/* An intrusive doubly linked list; the head is a node of its own. */
struct list {
	struct list *next, *prev;
};

static inline void list_init(struct list *l)
{
	l->next = l->prev = l;
}

static inline bool list_empty(const struct list *l)
{
	return l->next == l;
}

static inline void list_append(struct list *head, struct list *item)
{
	item->prev = head->prev;
	item->next = head;
	head->prev->next = item;
	head->prev = item;
}

/* Leaves the item empty, so that removing twice is harmless. */
static inline void list_remove(struct list *item)
{
	item->prev->next = item->next;
	item->next->prev = item->prev;
	list_init(item);
}

/* Moves all items of one list to the end of another. */
static inline void list_splice(struct list *to, struct list *from)
{
	if (list_empty(from))
		return;
	from->next->prev = to->prev;
	to->prev->next = from->next;
	from->prev->next = to;
	to->prev = from->prev;
	list_init(from);
}

#define LIST_FOREACH(pos, head)                                                       \
	for (struct list *pos = (head)->next, *pos##_next = pos->next; pos != (head); \
		pos = pos##_next, pos##_next = pos->next)

/* For sentences: of a word that somebody gave, only so much that it is not all that is left of them. */
#define SHORT         "%.*s%s"
#define SHORTEN(s, n) (int)MIN(strlen(s), (size_t)(n)), (s), strlen(s) > (n) ? "..." : ""

/* Milliseconds of CLOCK_MONOTONIC. */
uint64_t now_ms(void);

/* Reads up to size bytes of a small file and ends them with a NUL; the length or a negative errno. */
ssize_t read_small_file(const char *path, char *buf, size_t size);

/* Writes all of it; 0 or a negative errno. */
int write_all(int fd, const void *buf, size_t len);

/* Takes \ooo out, which the kernel writes for white space, backslash and #. In place; returns text. */
char *unescape_octal(char *text);

/* Parses a whole decimal number in [min, max]; -EINVAL or -ERANGE, *ret untouched on failure. */
int parse_u64(const char *s, uint64_t min, uint64_t max, uint64_t *ret);

/*
 * In place: what a terminal or a reader of lines could take for something else than text becomes '?': control
 * characters, those of Unicode (C1), too, its line and paragraph separators, what turns the direction of writing, and
 * bytes that are no UTF-8.
 */
void text_clean(char *s);
