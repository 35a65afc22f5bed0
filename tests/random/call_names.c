/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Operations on names. */
#include "call.h"

#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/xattr.h>

#include "base/util.h"

static void do_open(struct call *c)
{
	const struct op *op = c->op;

	c->new_fd = openat(c->dir, op->path, (int)op->flags | O_CLOEXEC, op->mode);
	c->result = c->new_fd < 0 ? -1 : 0;
}

/* A file without a name, closed at once. */
static void do_tmpfile(struct call *c)
{
	int fd = openat(c->dir, c->op->path, O_TMPFILE | O_RDWR | O_CLOEXEC, c->op->mode);

	c->result = fd < 0 ? -1 : 0;
	(void)close_fd(fd);
}

static void read_part(struct call *c, int fd, off_t from, size_t length)
{
	ssize_t n = pread(fd, c->data + c->size, MIN(length, CALL_DATA_MAX - c->size), MAX(from, 0));

	if (n < 0)
		c->error = errno;
	else
		c->size += (size_t)n;
}

/* All of a file, or of a large one what is written now and then: both ends, and around 4 and 5 GiB. */
static void do_content(struct call *c)
{
	_cleanup_close_ int fd = openat(c->dir, c->op->path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	struct stat st;

	c->result = fd < 0 || fstat(fd, &st) < 0 ? -1 : 0;
	if (c->result < 0 || !S_ISREG(st.st_mode))
		return;
	read_part(c, fd, 0, 3 << 20);
	if (st.st_size > 3 << 20) {
		read_part(c, fd, (1LL << 32) - 100000, 200000);
		read_part(c, fd, 5LL << 30, 200000);
		read_part(c, fd, st.st_size - 200000, 200000);
	}
	c->result = c->error ? -1 : 0;
}

static void do_list(struct call *c)
{
	_cleanup_close_ int fd = openat(c->dir, c->op->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	int r = fd < 0 ? -errno : call_list(c, fd);

	c->result = r < 0 ? -1 : 0;
	c->error = -r;
}

static void do_readlink(struct call *c)
{
	c->result = readlinkat(c->dir, c->op->path, (char *)c->data, PATH_MAX);
	c->size = c->result > 0 ? (size_t)c->result : 0;
}

static void do_statvfs(struct call *c)
{
	struct statvfs st;

	c->result = statvfs(c->op->path, &st);
	if (c->result < 0)
		return;
	c->more[0] = (int64_t)st.f_namemax;
	c->more[1] =
		st.f_blocks > 0 && st.f_bfree <= st.f_blocks && st.f_bavail <= st.f_bfree && st.f_ffree <= st.f_files;
}

static void do_utimens(struct call *c)
{
	struct timespec times[2] = {call_time(c->op->a), call_time(c->op->b)};

	c->result = utimensat(c->dir, c->op->path, times, (int)c->op->flags);
}

static void do_xattr(struct call *c)
{
	const char *path = c->op->path;

	switch (c->op->flags) {
	case 0:
		c->result = lsetxattr(path, "user.random", "value", 5, 0);
		break;
	case 1:
		c->result = lgetxattr(path, "user.random", c->data, CALL_DATA_MAX);
		break;
	case 2:
		c->result = llistxattr(path, (char *)c->data, CALL_DATA_MAX);
		break;
	default:
		c->result = lremovexattr(path, "user.random");
		break;
	}
}

static void do_chdir(struct call *c)
{
	c->result = chdir(c->op->path);
	if (c->result == 0)
		c->new_fd = open(".", O_PATH | O_CLOEXEC);
}

static void do_getcwd(struct call *c)
{
	c->result = getcwd((char *)c->data, PATH_MAX) ? 0 : -1;
	if (c->result == 0)
		c->size = strlen((char *)c->data);
}

bool call_names(struct call *c)
{
	const struct op *op = c->op;

	switch (op->kind) {
	case OP_OPEN:
		do_open(c);
		break;
	case OP_TMPFILE:
		do_tmpfile(c);
		break;
	case OP_TRUNCATE:
		c->result = truncate(op->path, op->a);
		break;
	case OP_STAT:
		c->result = statx(c->dir, op->path, (int)op->flags, STATX_BASIC_STATS, &(struct statx){0});
		break;
	case OP_ACCESS:
		c->result = syscall(SYS_faccessat2, c->dir, op->path, op->mode, op->flags);
		break;
	case OP_LIST:
		do_list(c);
		break;
	case OP_CONTENT:
		do_content(c);
		break;
	case OP_STATVFS:
		do_statvfs(c);
		break;
	case OP_LINK:
		c->result = linkat(c->dir, op->path, c->dir2, op->path2, (int)op->flags);
		break;
	case OP_SYMLINK:
		c->result = symlinkat(op->path2, c->dir, op->path);
		break;
	case OP_READLINK:
		do_readlink(c);
		break;
	case OP_UNLINK:
		c->result = unlinkat(c->dir, op->path, 0);
		break;
	case OP_RMDIR:
		c->result = unlinkat(c->dir, op->path, AT_REMOVEDIR);
		break;
	case OP_RENAME:
		c->result = renameat2(c->dir, op->path, c->dir2, op->path2, op->flags);
		break;
	case OP_MKDIR:
		c->result = mkdirat(c->dir, op->path, op->mode);
		break;
	case OP_MKNOD:
		c->result = mknodat(c->dir, op->path, op->mode, (dev_t)op->a);
		break;
	case OP_CHMOD:
		c->result = fchmodat(c->dir, op->path, op->mode, 0);
		break;
	case OP_CHOWN:
		c->result = fchownat(c->dir, op->path, (uid_t)op->a, (gid_t)op->b, (int)op->flags);
		break;
	case OP_UTIMENS:
		do_utimens(c);
		break;
	case OP_XATTR:
		do_xattr(c);
		break;
	case OP_CHDIR:
		do_chdir(c);
		break;
	case OP_GETCWD:
		do_getcwd(c);
		break;
	case OP_UMASK:
		c->result = umask(op->mode);
		break;
	default:
		return false;
	}
	return true;
}
