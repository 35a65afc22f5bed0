/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Operations on open files that do not read or write data. */
#include "call.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>

#include "base/util.h"

static void do_reopen(struct call *c)
{
	char name[16];

	(void)snprintf(name, sizeof(name), "%d", c->fd);
	c->new_fd = openat(c->proc_fd, name, (int)c->op->flags | O_CLOEXEC);
	c->result = c->new_fd < 0 ? -1 : 0;
}

/* True if the range may be a hole: all bytes are zeros, or the caller has no permission to read them. */
static bool is_zero(const struct call *c, int64_t from, int64_t to)
{
	char name[16], block[4096];
	_cleanup_close_ int fd = -1;

	(void)snprintf(name, sizeof(name), "%d", c->fd);
	fd = openat(c->proc_fd, name, O_RDONLY | O_CLOEXEC);
	while (fd >= 0 && from < to) {
		ssize_t n = pread(fd, block, MIN(sizeof(block), (size_t)(to - from)), from);

		if (n <= 0)
			break;
		for (ssize_t k = 0; k < n; k++)
			if (block[k] != 0)
				return false;
		from += n;
	}
	return true;
}

/*
 * NFSv3 knows no holes: all bytes before the end are data, and the only hole is at the end. With passthrough the mount
 * knows the holes of the file. Holes depend on the page cache, too: allocated space without written data counts as data
 * while the page cache has pages of it (fs/iomap/seek.c), and a store into a mapping fills the holes of its whole folio
 * (block_page_mkwrite()). So two different answers may both be right, if the hole of the mount is a hole in the
 * reference or may be one. Then the reference's position becomes that of the mount.
 */
static void do_seekhole(struct call *c)
{
	int64_t at = c->op->a, stood = lseek(c->fd, 0, SEEK_CUR), told = c->told, end;
	struct stat st;

	c->result = lseek(c->fd, at, (int)c->op->flags);
	if (c->side == MOUNT || c->result == told || fstat(c->fd, &st) < 0 || !S_ISREG(st.st_mode) || at < 0 ||
		at >= st.st_size)
		return;
	end = told < 0 ? st.st_size : told;
	c->no_holes = told == (c->op->flags == SEEK_DATA ? at : st.st_size);
	if (c->op->flags == SEEK_DATA ? !is_zero(c, at, end)
				      : told < at || !is_zero(c, end, MIN(end + 512, st.st_size)))
		return;
	c->result = told;
	errno = ENXIO; /* no data follows */
	if (lseek(c->fd, told < 0 ? stood : told, SEEK_SET) < 0)
		c->result = -1;
}

static void do_lock(struct call *c)
{
	const struct op *op = c->op;
	struct flock lock = {.l_type = (short)op->flags, .l_whence = SEEK_SET, .l_start = op->a, .l_len = op->b};
	bool get = op->mode != 0;

	c->result = fcntl(c->fd, get ? F_OFD_GETLK : F_OFD_SETLK, &lock);
	if (get && c->result == 0) {
		c->more[0] = lock.l_type;
		c->more[1] = lock.l_type == F_UNLCK ? 0 : lock.l_start;
		c->more[2] = lock.l_type == F_UNLCK ? 0 : lock.l_len;
	}
}

static void do_list(struct call *c)
{
	int r = call_list(c, c->fd);

	c->result = r < 0 ? -1 : 0;
	c->error = -r;
}

static void do_dup(struct call *c)
{
	c->new_fd = fcntl(c->fd, F_DUPFD_CLOEXEC, 0);
	c->result = c->new_fd < 0 ? -1 : 0;
}

static void do_close(struct call *c)
{
	c->result = close(c->fd);
}

static void do_lseek(struct call *c)
{
	c->result = lseek(c->fd, c->op->a, (int)c->op->flags);
}

static void do_ftruncate(struct call *c)
{
	c->result = ftruncate(c->fd, c->op->a);
}

static void do_fsync(struct call *c)
{
	c->result = c->op->flags ? fdatasync(c->fd) : fsync(c->fd);
}

static void do_fadvise(struct call *c)
{
	c->error = posix_fadvise(c->fd, 0, 0, POSIX_FADV_DONTNEED);
	c->result = c->error ? -1 : 0;
}

static void do_setfl(struct call *c)
{
	c->result = fcntl(c->fd, F_SETFL, c->op->flags);
}

static void do_fallocate(struct call *c)
{
	c->result = fallocate(c->fd, (int)c->op->flags, c->op->a, c->op->b);
}

static void do_fstat(struct call *c)
{
	c->result = fstat(c->fd, &(struct stat){0});
}

static void do_fchmod(struct call *c)
{
	c->result = fchmod(c->fd, c->op->mode);
}

static void do_fchown(struct call *c)
{
	c->result = fchown(c->fd, (uid_t)c->op->a, (gid_t)c->op->b);
}

static void do_futimens(struct call *c)
{
	struct timespec times[2] = {call_time(c->op->a), call_time(c->op->b)};

	c->result = futimens(c->fd, times);
}

static void do_flock(struct call *c)
{
	c->result = flock(c->fd, (int)c->op->flags | LOCK_NB);
}

static void do_fchdir(struct call *c)
{
	c->result = fchdir(c->fd);
	if (c->result == 0)
		c->new_fd = open(".", O_PATH | O_CLOEXEC);
}

call_function *const calls_of_files[OP_COUNT] = {
	[OP_REOPEN] = do_reopen,
	[OP_DUP] = do_dup,
	[OP_CLOSE] = do_close,
	[OP_LSEEK] = do_lseek,
	[OP_SEEKHOLE] = do_seekhole,
	[OP_FTRUNCATE] = do_ftruncate,
	[OP_FSYNC] = do_fsync,
	[OP_FADVISE] = do_fadvise,
	[OP_SETFL] = do_setfl,
	[OP_FALLOCATE] = do_fallocate,
	[OP_FSTAT] = do_fstat,
	[OP_LISTDIR] = do_list,
	[OP_SEEKDIR] = do_list,
	[OP_FCHMOD] = do_fchmod,
	[OP_FCHOWN] = do_fchown,
	[OP_FUTIMENS] = do_futimens,
	[OP_FLOCK] = do_flock,
	[OP_OFDLOCK] = do_lock,
	[OP_FCHDIR] = do_fchdir,
};
