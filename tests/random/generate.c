/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "base/util.h"
#include "generate.h"

#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>

#include "pick.h"

static void existing_path(struct making *m, unsigned want)
{
	pick_path(m, 92, want, m->op->path, &m->op->dir);
}

static void fresh_path(struct making *m)
{
	pick_path(m, 15, WANT_ANY, m->op->path, &m->op->dir);
}

static void make_open(struct making *m)
{
	struct op *op = m->op;

	op->slot = pick_free_slot(m);
	if (op->slot == OP_NONE) {
		op->kind = OP_CLOSE;
		op->slot = pick_any_slot(m, slot_is_any);
		return;
	}
	op->flags = (uint32_t)PICK(m, O_RDONLY, O_RDONLY, O_WRONLY, O_RDWR, O_RDWR, O_RDWR);
	if (pick_percent(m, 45))
		op->flags |= O_CREAT;
	if (pick_percent(m, 8))
		op->flags |= O_EXCL * !!(op->flags & O_CREAT);
	if (pick_percent(m, 10))
		op->flags |= O_TRUNC;
	if (pick_percent(m, 14))
		op->flags |= O_APPEND;
	else if (pick_percent(m, 5))
		op->flags |= O_DIRECT;
	if (pick_percent(m, 6))
		op->flags |= O_NOFOLLOW;
	if (pick_percent(m, 4))
		op->flags |= O_SYNC;
	else if (pick_percent(m, 3))
		op->flags |= O_DSYNC;
	if (pick_percent(m, 7))
		op->flags = O_DIRECTORY | (pick_percent(m, 70) ? O_RDONLY : op->flags);
	else if (pick_percent(m, 4))
		op->flags = O_PATH | (pick_percent(m, 50) ? O_NOFOLLOW : 0);
	/* So that an open never waits for the other end of a pipe. */
	if (!(op->flags & O_PATH))
		op->flags |= O_NONBLOCK;
	op->mode = pick_mode(m);
	if (op->flags & O_CREAT)
		pick_path(m, 55, WANT_REG | WANT_LNK, op->path, &op->dir);
	else
		existing_path(m, op->flags & O_DIRECTORY ? WANT_DIR
				 : pick_percent(m, 85)   ? WANT_REG
				 : pick_percent(m, 50)   ? WANT_OTHER
							 : WANT_ANY);
}

static void make_reopen(struct making *m)
{
	struct op *op = m->op;

	op->slot = pick_slot(m, slot_is_regular);
	op->slot2 = pick_free_slot(m);
	op->flags = (uint32_t)PICK(m, O_RDONLY, O_RDWR, O_WRONLY, O_RDWR | O_APPEND, O_RDWR | O_TRUNC) | O_NONBLOCK;
}

static void make_io(struct making *m, bool write)
{
	struct op *op = m->op;

	op->slot = pick_slot(m, write ? slot_is_writer : slot_is_reader);
	op->b = pick_length(m);
	op->seed = pick_below(m, 1 << 30);
	op->a = write ? pick_end(m, pick_size(m, op->slot)) : pick_offset(m, pick_size(m, op->slot));
	if (op->slot != OP_NONE && m->w->slots[op->slot].d->flags & O_DIRECT) {
		op->kind = write ? OP_PWRITE : OP_PREAD;
		op->a = 4096 * (int64_t)pick_below(m, 64);
		op->b = 4096 * (1 + (int64_t)pick_below(m, 16));
		return;
	}
	if (op->kind == OP_READ || op->kind == OP_WRITE)
		op->a = 0;
	if ((op->kind == OP_READV || op->kind == OP_WRITEV) && pick_percent(m, 40))
		op->a = -1;
	if (op->kind == OP_WRITEV)
		op->flags = pick_percent(m, 60) ? 0 : (uint32_t)PICK(m, RWF_APPEND, RWF_DSYNC, RWF_SYNC);
}

static void make_read(struct making *m)
{
	make_io(m, false);
}

static void make_write(struct making *m)
{
	make_io(m, true);
}

static void make_copyrange(struct making *m)
{
	struct op *op = m->op;

	op->slot = pick_slot(m, slot_is_reader);
	op->slot2 = pick_slot(m, slot_is_writer);
	op->a = pick_offset(m, pick_size(m, op->slot));
	op->b = MIN(pick_length(m), 200000);
	op->c = pick_offset(m, pick_size(m, op->slot2));
}

static void make_mmap(struct making *m)
{
	struct op *op = m->op;

	op->slot = pick_slot(m, pick_percent(m, 70) ? slot_is_both : slot_is_reader);
	op->slot2 = pick_map(m, false);
	op->flags = pick_percent(m, 65) ? PROT_READ | PROT_WRITE : PROT_READ;
	op->mode = pick_percent(m, 85) ? MAP_SHARED : MAP_PRIVATE;
	op->a = pick_percent(m, 70) ? 0 : 4096 * (int64_t)pick_below(m, 20);
	op->b = pick_percent(m, 50) ? 4096 : 4096 * (1 + (int64_t)pick_below(m, 40));
}

static void make_map_access(struct making *m)
{
	struct op *op = m->op;

	op->slot = pick_map(m, true);
	op->a = (int64_t)pick_below(m, op->slot == OP_NONE ? 1 : m->w->maps[op->slot].length);
	op->b = 1 + (int64_t)pick_below(m, pick_percent(m, 70) ? 300 : 20000);
	if (op->kind == OP_MAPWRITE) {
		op->seed = pick_below(m, 1 << 30);
		op->flags = pick_percent(m, 70);
	}
}

static void make_symlink(struct making *m)
{
	struct op *op = m->op;
	unsigned what = (unsigned)pick_below(m, 100);

	fresh_path(m);
	if (what < 60 && pick_existing(m, pick_percent(m, 50) ? WANT_DIR : WANT_ANY, op->path2))
		return;
	if (what < 80)
		pick_new_name(m, op->path2);
	else if (what < 90)
		(void)snprintf(op->path2, OP_PATH_MAX, "../%c/%c", 'a' + (int)pick_below(m, 14),
			'a' + (int)pick_below(m, 14));
	else if (what < 95)
		(void)snprintf(op->path2, OP_PATH_MAX, "%s", op->path); /* the link leads to itself */
	else
		(void)snprintf(op->path2, OP_PATH_MAX, "%0*u", (int)PICK(m, 1000, 2500, 3400, 4000, 4095, 4100), 7);
}

static void make_rename(struct making *m)
{
	struct op *op = m->op;

	existing_path(m, WANT_ANY);
	pick_path(m, 45, WANT_ANY, op->path2, &op->dir2);
	if (pick_percent(m, 3) && op->path[0] == '/') { /* a directory into itself, or a name over its own directory */
		if (pick_percent(m, 50))
			path_join(op->path2, op->path, "x");
		else
			path_parent(op->path, op->path2);
		op->dir2 = OP_NONE;
	}
	if (pick_percent(m, 4))
		op->flags = 1U << pick_below(m, 3);
}

static void make_mknod(struct making *m)
{
	struct op *op = m->op;

	fresh_path(m);
	op->mode = pick_mode(m) | (uint32_t)PICK(m, S_IFIFO, S_IFIFO, S_IFSOCK, S_IFCHR, S_IFBLK, S_IFREG);
	/* null, zero, full; numbers without a device; large numbers */
	if (S_ISCHR(op->mode))
		op->a = PICK(m, makedev(1, 3), makedev(1, 5), makedev(1, 7), makedev(240, 1), makedev(4000, 100000));
	else if (S_ISBLK(op->mode))
		op->a = (int64_t)makedev(240, 7);
}

static void make_lock(struct making *m)
{
	struct op *op = m->op;

	op->slot = pick_slot(m, slot_is_regular);
	if (op->kind == OP_FLOCK) {
		op->flags = (uint32_t)PICK(m, LOCK_SH, LOCK_EX, LOCK_EX, LOCK_UN);
		return;
	}
	op->flags = (uint32_t)PICK(m, F_RDLCK, F_WRLCK, F_WRLCK, F_UNLCK);
	op->mode = pick_percent(m, 35);
	op->a = (int64_t)pick_below(m, 1000);
	op->b = (int64_t)pick_below(m, 500);
}

static void make_tmpfile(struct making *m)
{
	existing_path(m, WANT_DIR);
	m->op->mode = 0600;
}

static void make_truncate(struct making *m)
{
	pick_path(m, 92, WANT_REG, m->op->path, NULL);
	m->op->a = pick_end(m, 4000);
}

static void make_stat(struct making *m)
{
	existing_path(m, WANT_ANY);
	m->op->flags = pick_percent(m, 50) ? AT_SYMLINK_NOFOLLOW : 0;
	m->op->flags |= (uint32_t)PICK(m, 0, 0, AT_STATX_FORCE_SYNC);
}

static void make_access(struct making *m)
{
	existing_path(m, WANT_ANY);
	m->op->mode = (uint32_t)pick_below(m, 8);
	m->op->flags = (uint32_t)PICK(m, 0, AT_EACCESS, AT_SYMLINK_NOFOLLOW);
}

static void make_list(struct making *m)
{
	existing_path(m, WANT_DIR);
	m->op->seed = pick_below(m, 1 << 30);
}

static void make_content(struct making *m)
{
	existing_path(m, pick_percent(m, 95) ? WANT_REG : WANT_ANY);
}

static void make_statvfs(struct making *m)
{
	pick_path(m, 92, WANT_ANY, m->op->path, NULL);
}

static void make_link(struct making *m)
{
	existing_path(m, pick_percent(m, 85) ? WANT_REG : WANT_ANY);
	pick_path(m, 15, WANT_ANY, m->op->path2, &m->op->dir2);
	m->op->flags = pick_percent(m, 15) ? AT_SYMLINK_FOLLOW : 0;
}

static void make_readlink(struct making *m)
{
	existing_path(m, pick_percent(m, 85) ? WANT_LNK : WANT_ANY);
}

static void make_unlink(struct making *m)
{
	existing_path(m, pick_percent(m, 90) ? ~WANT_DIR : WANT_DIR);
}

static void make_mkdir(struct making *m)
{
	fresh_path(m);
	m->op->mode = pick_directory_mode(m);
}

static void make_rmdir(struct making *m)
{
	existing_path(m, pick_percent(m, 90) ? WANT_DIR : WANT_ANY);
}

/* Only root changes the modes of directories, so that all actors can use most of the tree. */
static void make_chmod(struct making *m)
{
	if (pick_percent(m, 40)) {
		m->op->actor = ROOT;
		m->op->mode = pick_directory_mode(m);
		existing_path(m, WANT_DIR);
	} else {
		m->op->mode = pick_mode(m);
		existing_path(m, ~WANT_DIR);
	}
}

static void make_chown(struct making *m)
{
	existing_path(m, WANT_ANY);
	m->op->a = pick_owner(m);
	m->op->b = pick_group(m);
	m->op->flags = pick_percent(m, 50) ? AT_SYMLINK_NOFOLLOW : 0;
}

static void make_utimens(struct making *m)
{
	existing_path(m, WANT_ANY);
	m->op->a = pick_time(m);
	m->op->b = pick_time(m);
	m->op->flags = pick_percent(m, 50) ? AT_SYMLINK_NOFOLLOW : 0;
}

static void make_xattr(struct making *m)
{
	pick_path(m, 92, WANT_REG | WANT_DIR, m->op->path, NULL);
	m->op->flags = (uint32_t)pick_below(m, 4);
}

static void make_chdir(struct making *m)
{
	pick_path(m, 92, WANT_DIR, m->op->path, NULL);
}

static void make_dup(struct making *m)
{
	m->op->slot = pick_any_slot(m, slot_is_any);
	m->op->slot2 = pick_free_slot(m);
}

static void make_seek(struct making *m)
{
	struct op *op = m->op;

	op->slot = pick_slot(m, slot_is_regular);
	op->a = pick_offset(m, pick_size(m, op->slot));
	op->flags = op->kind == OP_SEEKHOLE ? (uint32_t)PICK(m, SEEK_DATA, SEEK_HOLE) : (uint32_t)pick_below(m, 3);
	if (op->flags == SEEK_CUR || op->flags == SEEK_END)
		op->a = (int64_t)pick_below(m, 10000) - 6000;
}

static void make_ftruncate(struct making *m)
{
	m->op->slot = pick_slot(m, slot_is_writer);
	m->op->a = pick_end(m, pick_size(m, m->op->slot));
}

static void make_fsync(struct making *m)
{
	m->op->slot = pick_slot(m, slot_is_writer);
	m->op->flags = pick_percent(m, 40);
}

static void make_setfl(struct making *m)
{
	m->op->slot = pick_slot(m, slot_is_regular);
	m->op->flags = O_NONBLOCK | (pick_percent(m, 50) ? O_APPEND : 0);
}

static void make_fallocate(struct making *m)
{
	struct op *op = m->op;

	op->slot = pick_slot(m, slot_is_writer);
	op->flags = (uint32_t)PICK(m, 0, 1, 3, 0x10);
	op->a = (int64_t)pick_below(m, 20000);
	op->b = 1 + (int64_t)pick_below(m, 20000);
}

static void make_munmap(struct making *m)
{
	m->op->slot = pick_map(m, true);
}

static void make_of_directory(struct making *m)
{
	m->op->slot = pick_slot(m, slot_is_directory);
	m->op->seed = pick_below(m, 1 << 30);
}

static void make_fchmod(struct making *m)
{
	m->op->slot = pick_slot(m, slot_is_regular);
	m->op->mode = pick_mode(m);
}

static void make_fchown(struct making *m)
{
	m->op->slot = pick_slot(m, slot_is_regular);
	m->op->a = pick_owner(m);
	m->op->b = pick_group(m);
}

static void make_futimens(struct making *m)
{
	m->op->slot = pick_slot(m, slot_is_regular);
	m->op->a = pick_time(m);
	m->op->b = pick_time(m);
}

static void make_umask(struct making *m)
{
	m->op->mode = (uint32_t)PICK(m, 0, 0, 0, 0, 022, 002, 077);
}

static void make_of_any_slot(struct making *m)
{
	m->op->slot = pick_any_slot(m, slot_is_any);
}

static void make_of_nothing(struct making *m)
{
	(void)m;
}

/* Where nothing fits that is open, op->slot stays OP_NONE. */
static void (*const makers[OP_COUNT])(struct making *m) = {
	[OP_OPEN] = make_open,
	[OP_TMPFILE] = make_tmpfile,
	[OP_REOPEN] = make_reopen,
	[OP_DUP] = make_dup,
	[OP_CLOSE] = make_of_any_slot,
	[OP_READ] = make_read,
	[OP_PREAD] = make_read,
	[OP_READV] = make_read,
	[OP_WRITE] = make_write,
	[OP_PWRITE] = make_write,
	[OP_WRITEV] = make_write,
	[OP_LSEEK] = make_seek,
	[OP_SEEKHOLE] = make_seek,
	[OP_TRUNCATE] = make_truncate,
	[OP_FTRUNCATE] = make_ftruncate,
	[OP_FSYNC] = make_fsync,
	[OP_FADVISE] = make_of_any_slot,
	[OP_SETFL] = make_setfl,
	[OP_SENDFILE] = make_read,
	[OP_COPYRANGE] = make_copyrange,
	[OP_FALLOCATE] = make_fallocate,
	[OP_MMAP] = make_mmap,
	[OP_MAPREAD] = make_map_access,
	[OP_MAPWRITE] = make_map_access,
	[OP_MUNMAP] = make_munmap,
	[OP_FSTAT] = make_of_any_slot,
	[OP_STAT] = make_stat,
	[OP_CONTENT] = make_content,
	[OP_ACCESS] = make_access,
	[OP_LIST] = make_list,
	[OP_LISTDIR] = make_of_directory,
	[OP_SEEKDIR] = make_of_directory,
	[OP_STATVFS] = make_statvfs,
	[OP_LINK] = make_link,
	[OP_SYMLINK] = make_symlink,
	[OP_READLINK] = make_readlink,
	[OP_UNLINK] = make_unlink,
	[OP_RENAME] = make_rename,
	[OP_MKDIR] = make_mkdir,
	[OP_RMDIR] = make_rmdir,
	[OP_MKNOD] = make_mknod,
	[OP_CHMOD] = make_chmod,
	[OP_FCHMOD] = make_fchmod,
	[OP_CHOWN] = make_chown,
	[OP_FCHOWN] = make_fchown,
	[OP_UTIMENS] = make_utimens,
	[OP_FUTIMENS] = make_futimens,
	[OP_XATTR] = make_xattr,
	[OP_FLOCK] = make_lock,
	[OP_OFDLOCK] = make_lock,
	[OP_CHDIR] = make_chdir,
	[OP_FCHDIR] = make_of_directory,
	[OP_GETCWD] = make_of_nothing,
	[OP_UMASK] = make_umask,
};

static enum op_kind kind(struct making *m)
{
	unsigned total = 0;
	uint64_t at;
	enum op_kind k = 0;

	for (; k < OP_COUNT; k++)
		total += op_infos[k].weight;
	at = pick_below(m, total);
	for (k = 0; at >= op_infos[k].weight; k++)
		at -= op_infos[k].weight;
	/* With too many names, remove one instead. */
	if (pool_count(m->pool) > POOL_FULL && (k == OP_MKDIR || k == OP_MKNOD || k == OP_SYMLINK || k == OP_LINK))
		return pick_percent(m, 75) ? OP_UNLINK : OP_RMDIR;
	return k;
}

void generate(struct pool *p, const struct world *w, uint64_t seed, unsigned number, struct op *ret)
{
	struct making m = {.r = rng_make(seed, number), .pool = p, .w = w, .op = ret};

	op_init(ret);
	ret->number = number;
	ret->actor = (int)PICK(&m, ROOT, 1, 1, 2, 2, 1, 2, ROOT);
	ret->kind = kind(&m);
	makers[ret->kind](&m);
}
