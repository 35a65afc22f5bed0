/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Operations that read, write and map data. */
#include "call.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/uio.h>

#include "rng.h"
#include "base/util.h"

#define PIECES_MAX 8

static size_t length_of(const struct op *op)
{
	return op->b < 0 ? 0 : MIN((size_t)op->b, CALL_DATA_MAX);
}

/* Divides the buffer into at most PIECES_MAX pieces, of which some may be empty. Returns their number. */
static int pieces(struct call *c, struct iovec iov[PIECES_MAX])
{
	struct rng r = rng_make(c->op->seed, 2);
	int count = 1 + (int)rng_below(&r, PIECES_MAX);
	size_t done = 0, length = length_of(c->op);

	for (int n = 0; n < count; n++) {
		size_t piece = n + 1 < count ? rng_below(&r, length - done + 1) : length - done;

		iov[n] = (struct iovec){.iov_base = c->data + done, .iov_len = piece};
		done += piece;
	}
	return count;
}

static void do_read(struct call *c)
{
	const struct op *op = c->op;
	struct iovec iov[PIECES_MAX];

	if (op->kind == OP_READ)
		c->result = read(c->fd, c->data, length_of(op));
	else if (op->kind == OP_PREAD)
		c->result = pread(c->fd, c->data, length_of(op), op->a);
	else
		c->result = preadv2(c->fd, iov, pieces(c, iov), op->a, 0);
	c->size = c->result > 0 ? (size_t)c->result : 0;
}

static void do_write(struct call *c)
{
	const struct op *op = c->op;
	struct iovec iov[PIECES_MAX];

	rng_fill(op->seed, c->data, length_of(op));
	if (op->kind == OP_WRITE)
		c->result = write(c->fd, c->data, length_of(op));
	else if (op->kind == OP_PWRITE)
		c->result = pwrite(c->fd, c->data, length_of(op), op->a);
	else
		c->result = pwritev2(c->fd, iov, pieces(c, iov), op->a, (int)op->flags);
	if (c->result >= 0)
		c->more[0] = lseek(c->fd, 0, SEEK_CUR);
}

static void take_scratch(struct call *c, int64_t length)
{
	if (length > 0 && pread(c->scratch, c->data, (size_t)length, 0) == length)
		c->size = (size_t)length;
	if (ftruncate(c->scratch, 0) < 0)
		abort();
}

static void do_sendfile(struct call *c)
{
	off_t at = c->op->a;

	(void)lseek(c->scratch, 0, SEEK_SET);
	c->result = sendfile(c->scratch, c->fd, &at, length_of(c->op));
	take_scratch(c, c->result);
}

static void do_copyrange(struct call *c)
{
	off_t from = c->op->a, to = c->op->c;

	c->result = copy_file_range(c->fd, &from, c->fd2, &to, length_of(c->op), 0);
	if (c->result >= 0) {
		c->more[0] = from;
		c->more[1] = to;
	}
}

/*
 * The kernel accesses the mapping: read(2) into it and write(2) from it fail with EFAULT where an access of the program
 * would cause SIGBUS. The bytes between the end of the file and the end of the page are undefined, and not accessed.
 */
static void do_map_access(struct call *c)
{
	const struct op *op = c->op;
	size_t at = MIN((size_t)op->a, c->map_length);
	size_t length = MIN(length_of(op), c->map_length - at);
	size_t page_end = (c->map_end + 4095) & ~(size_t)4095;

	if (at < page_end)
		length = MIN(length, MAX(c->map_end, at) - at);
	if (op->kind == OP_MAPREAD) {
		c->result = pwrite(c->scratch, c->map + at, length, 0);
		take_scratch(c, c->result);
		return;
	}
	rng_fill(op->seed, c->data, length);
	if (pwrite(c->scratch, c->data, length, 0) != (ssize_t)length)
		abort();
	c->result = pread(c->scratch, c->map + at, length, 0);
	if (c->result < 0)
		c->error = errno;
	if (ftruncate(c->scratch, 0) < 0)
		abort();
	if (op->flags) {
		c->more[0] = msync(c->map, c->map_length, MS_SYNC);
		c->more[1] = c->more[0] < 0 ? errno : 0;
	}
}

static void do_mmap(struct call *c)
{
	const struct op *op = c->op;
	void *at = mmap(NULL, (size_t)op->b, (int)op->flags, (int)op->mode, c->fd, op->a);

	c->result = at == MAP_FAILED ? -1 : 0;
	c->new_map = at == MAP_FAILED ? NULL : at;
}

static void do_munmap(struct call *c)
{
	c->result = munmap(c->map, c->map_length);
}

call_function *const calls_of_data[OP_COUNT] = {
	[OP_READ] = do_read,
	[OP_PREAD] = do_read,
	[OP_READV] = do_read,
	[OP_WRITE] = do_write,
	[OP_PWRITE] = do_write,
	[OP_WRITEV] = do_write,
	[OP_SENDFILE] = do_sendfile,
	[OP_COPYRANGE] = do_copyrange,
	[OP_MMAP] = do_mmap,
	[OP_MAPREAD] = do_map_access,
	[OP_MAPWRITE] = do_map_access,
	[OP_MUNMAP] = do_munmap,
};
