/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Operations on open files, but for their data. */
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

/* Whether this may be a hole: all zeros, or the opener may not look. */
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
 * NFSv3 tells nothing of holes, so data is everywhere before the end and the one hole is there; with
 * passthrough the mount knows them. What is a hole depends on the page cache, too: space that was allocated
 * and not written is data while it has pages of it (fs/iomap/seek.c), and a store into a mapping fills the
 * holes of its whole folio (block_page_mkwrite). So of two answers both may be right, if what the mount calls
 * a hole is one in the reference or could be. The reference stands where the mount stands.
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
	errno = ENXIO; /* no more data */
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

static void do_futimens(struct call *c)
{
	struct timespec times[2] = {call_time(c->op->a), call_time(c->op->b)};

	c->result = futimens(c->fd, times);
}

bool call_files(struct call *c)
{
	const struct op *op = c->op;

	switch (op->kind) {
	case OP_REOPEN:
		do_reopen(c);
		break;
	case OP_DUP:
		c->new_fd = fcntl(c->fd, F_DUPFD_CLOEXEC, 0);
		c->result = c->new_fd < 0 ? -1 : 0;
		break;
	case OP_CLOSE:
		c->result = close(c->fd);
		break;
	case OP_LSEEK:
		c->result = lseek(c->fd, op->a, (int)op->flags);
		break;
	case OP_SEEKHOLE:
		do_seekhole(c);
		break;
	case OP_FTRUNCATE:
		c->result = ftruncate(c->fd, op->a);
		break;
	case OP_FSYNC:
		c->result = op->flags ? fdatasync(c->fd) : fsync(c->fd);
		break;
	case OP_FADVISE:
		c->error = posix_fadvise(c->fd, 0, 0, POSIX_FADV_DONTNEED);
		c->result = c->error ? -1 : 0;
		break;
	case OP_SETFL:
		c->result = fcntl(c->fd, F_SETFL, op->flags);
		break;
	case OP_FALLOCATE:
		c->result = fallocate(c->fd, (int)op->flags, op->a, op->b);
		break;
	case OP_FSTAT:
		c->result = fstat(c->fd, &(struct stat){0});
		break;
	case OP_LISTDIR:
	case OP_SEEKDIR:
		do_list(c);
		break;
	case OP_FCHMOD:
		c->result = fchmod(c->fd, op->mode);
		break;
	case OP_FCHOWN:
		c->result = fchown(c->fd, (uid_t)op->a, (gid_t)op->b);
		break;
	case OP_FUTIMENS:
		do_futimens(c);
		break;
	case OP_FLOCK:
		c->result = flock(c->fd, (int)op->flags | LOCK_NB);
		break;
	case OP_OFDLOCK:
		do_lock(c);
		break;
	case OP_FCHDIR:
		c->result = fchdir(c->fd);
		if (c->result == 0)
			c->new_fd = open(".", O_PATH | O_CLOEXEC);
		break;
	default:
		return false;
	}
	return true;
}
