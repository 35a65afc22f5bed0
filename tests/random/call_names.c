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

/* Makes a file without a name and closes it. */
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

/* Reads a whole file, or the parts of a large file that operations write: both ends, and around 4 and 5 GiB. */
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

static void do_truncate(struct call *c)
{
	c->result = truncate(c->op->path, c->op->a);
}

static void do_stat(struct call *c)
{
	c->result = statx(c->dir, c->op->path, (int)c->op->flags, STATX_BASIC_STATS, &(struct statx){0});
}

static void do_access(struct call *c)
{
	c->result = syscall(SYS_faccessat2, c->dir, c->op->path, c->op->mode, c->op->flags);
}

static void do_link(struct call *c)
{
	c->result = linkat(c->dir, c->op->path, c->dir2, c->op->path2, (int)c->op->flags);
}

static void do_symlink(struct call *c)
{
	c->result = symlinkat(c->op->path2, c->dir, c->op->path);
}

static void do_unlink(struct call *c)
{
	c->result = unlinkat(c->dir, c->op->path, 0);
}

static void do_rmdir(struct call *c)
{
	c->result = unlinkat(c->dir, c->op->path, AT_REMOVEDIR);
}

static void do_rename(struct call *c)
{
	c->result = renameat2(c->dir, c->op->path, c->dir2, c->op->path2, c->op->flags);
}

static void do_mkdir(struct call *c)
{
	c->result = mkdirat(c->dir, c->op->path, c->op->mode);
}

static void do_mknod(struct call *c)
{
	c->result = mknodat(c->dir, c->op->path, c->op->mode, (dev_t)c->op->a);
}

static void do_chmod(struct call *c)
{
	c->result = fchmodat(c->dir, c->op->path, c->op->mode, 0);
}

static void do_chown(struct call *c)
{
	const struct op *op = c->op;

	c->result = fchownat(c->dir, op->path, (uid_t)op->a, (gid_t)op->b, (int)op->flags);
}

static void do_umask(struct call *c)
{
	c->result = umask(c->op->mode);
}

call_function *const calls_of_names[OP_COUNT] = {
	[OP_OPEN] = do_open,
	[OP_TMPFILE] = do_tmpfile,
	[OP_TRUNCATE] = do_truncate,
	[OP_STAT] = do_stat,
	[OP_ACCESS] = do_access,
	[OP_LIST] = do_list,
	[OP_CONTENT] = do_content,
	[OP_STATVFS] = do_statvfs,
	[OP_LINK] = do_link,
	[OP_SYMLINK] = do_symlink,
	[OP_READLINK] = do_readlink,
	[OP_UNLINK] = do_unlink,
	[OP_RMDIR] = do_rmdir,
	[OP_RENAME] = do_rename,
	[OP_MKDIR] = do_mkdir,
	[OP_MKNOD] = do_mknod,
	[OP_CHMOD] = do_chmod,
	[OP_CHOWN] = do_chown,
	[OP_UTIMENS] = do_utimens,
	[OP_XATTR] = do_xattr,
	[OP_CHDIR] = do_chdir,
	[OP_GETCWD] = do_getcwd,
	[OP_UMASK] = do_umask,
};
