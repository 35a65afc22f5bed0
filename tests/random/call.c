/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "call.h"

#include <dirent.h>
#include <fcntl.h>
#include <string.h>
#include <sys/syscall.h>

#include "rng.h"
#include "base/util.h"

static void see(struct call *c, unsigned bit, int dir, const char *path, int flags)
{
	struct seen *s = &c->seen[__builtin_ctz(bit)];

	if (!(c->see & bit))
		return;
	memset(s, 0, sizeof(*s));
	if (statx(dir, path, flags | AT_NO_AUTOMOUNT, STATX_BASIC_STATS | STATX_BTIME, &s->stx) < 0)
		s->error = errno;
}

static void see_parent(struct call *c, unsigned bit, int dir, const char *path)
{
	char parent[OP_PATH_MAX];

	if (!(c->see & bit))
		return;
	path_parent(path, parent);
	if (strcmp(parent, ".") == 0) /* the name "." itself would need permission to search the directory */
		see(c, bit, dir, "", AT_EMPTY_PATH);
	else
		see(c, bit, dir, parent, 0);
}

void call_look(void *arg)
{
	struct call *c = arg;
	const struct op *op = c->op;

	see(c, SEE_PATH, c->dir, op->path, op_follows(op) ? 0 : AT_SYMLINK_NOFOLLOW);
	see_parent(c, SEE_PARENT, c->dir, op->path);
	see(c, SEE_PATH2, c->dir2, op->path2, AT_SYMLINK_NOFOLLOW);
	see_parent(c, SEE_PARENT2, c->dir2, op->path2);
	see(c, SEE_SLOT, op->kind == OP_OPEN ? c->new_fd : c->fd, "", AT_EMPTY_PATH);
	see(c, SEE_SLOT2, op->kind == OP_REOPEN || op->kind == OP_DUP ? c->new_fd : c->fd2, "", AT_EMPTY_PATH);
}

struct timespec call_time(int64_t t)
{
	if (t == TIME_NOW || t == TIME_OMIT)
		return (struct timespec){.tv_nsec = t == TIME_NOW ? UTIME_NOW : UTIME_OMIT};
	return (struct timespec){.tv_sec = t / 1000000000, .tv_nsec = t % 1000000000};
}

static call_function *function_of(enum op_kind kind)
{
	if (calls_of_names[kind])
		return calls_of_names[kind];
	return calls_of_files[kind] ? calls_of_files[kind] : calls_of_data[kind];
}

void call_run(void *arg)
{
	struct call *c = arg;

	c->result = 0;
	c->error = 0;
	c->size = 0;
	c->new_fd = -1;
	c->new_map = NULL;
	memset(c->more, 0, sizeof(c->more));
	errno = 0;
	function_of(c->op->kind)(c);
	if (c->result < 0 && c->error == 0)
		c->error = errno;
	call_look(c);
}

struct entry {
	struct entry *next;
	int64_t cookie;
	unsigned char type;
	char name[256];
};

static int by_name(const void *a, const void *b)
{
	return strcmp((*(struct entry *const *)a)->name, (*(struct entry *const *)b)->name);
}

/* Reads the entries from the current position on, in the order of the kernel. Returns their number, or -errno. */
static int read_entries(struct call *c, int fd, size_t room, struct entry ***ret)
{
	char buf[8192];
	struct entry **all = NULL;
	int count = 0;
	long n;

	/* A small buffer, so that a listing needs several system calls. */
	while ((n = syscall(SYS_getdents64, fd, buf, MIN(room, sizeof(buf)))) > 0)
		for (long at = 0; at < n;) {
			struct dirent64 *d = (struct dirent64 *)(buf + at);
			struct entry *e = calloc(1, sizeof(*e));

			all = reallocarray(all, (size_t)count + 1, sizeof(struct entry *));
			if (!e || !all)
				abort();
			e->cookie = d->d_off;
			e->type = d->d_type;
			(void)snprintf(e->name, sizeof(e->name), "%s", d->d_name);
			all[count++] = e;
			at += d->d_reclen;
		}
	*ret = all;
	return n < 0 ? -errno : count;
}

static void free_entries(struct entry **all, int count)
{
	for (int n = 0; n < count; n++)
		free(all[n]);
	free(all);
}

/* True if the name belongs to a file that was removed while open. The reference has no such entry. */
static bool is_silly(const char *name)
{
	return strncmp(name, ".nfs", 4) == 0;
}

static void add_sorted(struct call *c, struct entry **all, int count)
{
	if (count > 0)
		qsort(all, (size_t)count, sizeof(struct entry *), by_name);
	for (int n = 0; n < count; n++) {
		size_t length = strlen(all[n]->name) + 1;

		if (is_silly(all[n]->name) || c->size + length + 1 > CALL_DATA_MAX)
			continue;
		memcpy(c->data + c->size, all[n]->name, length);
		c->data[c->size + length] = all[n]->type;
		c->size += length + 1;
	}
}

/* Like telldir() and seekdir(): returns 1 if the same entries follow after the position of a random entry, 0 if not. */
static int seek_back(struct call *c, int fd, struct entry **all, int count)
{
	struct rng r = rng_make(c->op->seed, 1);
	int from = count ? (int)rng_below(&r, (uint64_t)count) : 0;
	struct entry **rest = NULL;
	int left, same;

	if (count == 0)
		return 1;
	if (lseek(fd, all[from]->cookie, SEEK_SET) < 0)
		return -errno;
	left = read_entries(c, fd, 512, &rest);
	same = left == count - from - 1;
	for (int n = 0; same && n < left; n++)
		same = strcmp(rest[n]->name, all[from + 1 + n]->name) == 0;
	free_entries(rest, MAX(left, 0));
	return same;
}

int call_list(struct call *c, int fd)
{
	struct rng r = rng_make(c->op->seed, 0);
	size_t room = 300 + rng_below(&r, 4000);
	struct entry **all = NULL;
	int count;

	if (lseek(fd, 0, SEEK_SET) < 0)
		return -errno;
	count = read_entries(c, fd, room, &all);
	if (count >= 0 && c->op->kind == OP_SEEKDIR)
		c->more[0] = seek_back(c, fd, all, count);
	add_sorted(c, all, MAX(count, 0));
	free_entries(all, MAX(count, 0));
	return MIN(count, 0);
}
