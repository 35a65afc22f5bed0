/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "fuse/local/granted_file.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "base/whole_io.h"
#include "fuse/local/backing_ids.h"
#include "setattr/access_acl.h"

#define DIRECT_ALIGN_MAX 65536

static void path_of(int fd, char *ret, size_t size)
{
	(void)snprintf(ret, size, "/proc/self/fd/%d", fd);
}

static int open_for_reading(int fd)
{
	char path[64];
	int r;

	path_of(fd, path, sizeof(path));
	r = open(path, O_RDONLY | O_CLOEXEC);
	return r < 0 ? -errno : r;
}

/* Takes fd over. */
static struct granted_file *new_file(struct fs *fs, int fd, int32_t number, uint64_t generation)
{
	struct granted_file *g = fd >= 0 ? malloc(sizeof(*g)) : NULL;

	if (!g) {
		(void)close_fd(fd);
		backing_ids_close(fs->ids, number);
		return NULL;
	}
	backing_ids_descriptors(fs->ids, 1);
	*g = (struct granted_file){.refs = 1,
		.fs = fs,
		.file.fd = fd,
		.number = number,
		.generation = generation,
		.align = 1};
	return g;
}

struct granted_file *granted_file_new(struct fs *fs, int fd, bool writable, int32_t number, uint64_t generation)
{
	struct granted_file *g = new_file(fs, writable ? open_for_reading(fd) : fd, number, generation);

	if (g && writable)
		g->writer = new_file(fs, fd, 0, generation);
	else if (writable)
		(void)close_fd(fd);
	return g;
}

/*
 * The alignment in bytes of reads that bypass the page cache. 0: the filesystem cannot, or such reads would read much
 * more than was asked for.
 */
static unsigned direct_alignment(int fd)
{
	struct statx s;
	unsigned align;

	if (statx(fd, "", AT_EMPTY_PATH, STATX_DIOALIGN, &s) < 0)
		return 0;
	align = MAX(s.stx_dio_offset_align, s.stx_dio_mem_align);
	if (!(s.stx_mask & STATX_DIOALIGN)) /* btrfs does not say */
		align = s.stx_blksize;
	return align <= DIRECT_ALIGN_MAX && (align & (align - 1)) == 0 ? align : 0;
}

void granted_file_set_direct(struct granted_file *g, bool direct)
{
	unsigned align = direct ? direct_alignment(g->file.fd) : 0;

	/* The description is this mount's alone. */
	if (align != 0 && fcntl(g->file.fd, F_SETFL, O_DIRECT) < 0)
		align = 0;
	if (align == 0 && g->align > 1)
		(void)fcntl(g->file.fd, F_SETFL, 0);
	g->align = MAX(align, 1U);
}

struct granted_file *granted_file_ref(struct granted_file *g)
{
	(void)atomic_fetch_add(&g->refs, 1);
	return g;
}

int granted_file_attributes_of(const struct fs *fs, int fd, struct nfs_attr *ret)
{
	struct stat st;

	if (fstat(fd, &st) < 0)
		return -errno;
	if (!namespaces_owner_to_server(&fs->namespaces, &st.st_uid, &st.st_gid))
		return -EOPNOTSUPP;
	*ret = (struct nfs_attr){.mode = st.st_mode,
		.nlink = (uint32_t)st.st_nlink,
		.uid = st.st_uid,
		.gid = st.st_gid,
		.size = (uint64_t)st.st_size,
		.used = (uint64_t)st.st_blocks * 512,
		.fsid = fs->fsid,
		.fileid = st.st_ino,
		.rdev_major = major(st.st_rdev),
		.rdev_minor = minor(st.st_rdev),
		.atime = st.st_atim,
		.mtime = st.st_mtim,
		.ctime = st.st_ctim};
	return 0;
}

int granted_file_attributes(const struct granted_file *g, struct nfs_attr *ret)
{
	return granted_file_attributes_of(g->fs, g->file.fd, ret);
}

struct granted_file *granted_file_of(const struct fs *fs, struct inode *i)
{
	uint64_t generation = fs_generation(fs);

	LOCKED(&i->lock);
	return granted_file_serves(i->granted, generation) ? granted_file_ref(i->granted) : NULL;
}

struct granted_file *granted_file_to_look(const struct fs *fs, struct inode *i)
{
	uint64_t generation = fs_generation(fs);

	LOCKED(&i->lock);
	if (granted_file_serves(i->granted, generation))
		return granted_file_ref(i->granted);
	return granted_file_serves(i->looks, generation) ? granted_file_ref(i->looks) : NULL;
}

bool granted_file_look(const struct fs *fs, struct inode *i, struct nfs_attr *ret)
{
	struct granted_file *g = granted_file_to_look(fs, i);
	bool seen = g && granted_file_attributes(g, ret) == 0;

	(void)granted_file_unref(g);
	return seen;
}

bool granted_file_has_no_acl(const struct fs *fs, struct inode *i, uint32_t *ret_mode)
{
	struct granted_file *g = granted_file_to_look(fs, i);
	struct nfs_attr attr = {0};
	bool none = g && g->made && granted_file_attributes(g, &attr) == 0 && access_acl_of_file(g->file.fd) != 0;

	(void)granted_file_unref(g);
	*ret_mode = attr.mode;
	return none;
}

struct granted_file *granted_file_to_set(const struct fs *fs, struct inode *i, uint32_t kinds, uint32_t uid,
	uint32_t gid)
{
	uint64_t generation = fs_generation(fs);
	const struct setting *may;

	LOCKED(&i->lock);
	if (!granted_file_serves(i->looks, generation))
		return NULL;
	may = &i->looks->setting;
	return (kinds & ~may->kinds) == 0 && may->uid == uid && may->gid == gid ? granted_file_ref(i->looks) : NULL;
}

bool granted_file_tells_names(const struct fs *fs, struct inode *dir, uint32_t uid, uint32_t gid)
{
	const struct setting *may;

	LOCKED(&dir->lock);
	if (!granted_file_serves(dir->looks, fs_generation(fs)))
		return false;
	may = &dir->looks->setting;
	return may->asked && (may->kinds != 0 || (may->uid == uid && may->gid == gid));
}

struct granted_file *granted_file_put_looker(struct inode *i, struct granted_file *looker)
{
	struct granted_file *old = i->looks;

	if (!looker || !open_mode_has_id_of(&i->mode, looker->generation))
		return looker;
	i->looks = looker;
	return old;
}

bool granted_file_may_look(const struct fs *fs)
{
	return !fs->options->nocto && probe_is_trusted(fs->probe) && backing_ids_may_have_descriptor(fs->ids);
}

bool granted_file_wants_looker(const struct fs *fs, struct inode *i)
{
	if (!granted_file_may_look(fs))
		return false;
	LOCKED(&i->lock);
	return !granted_file_serves(i->looks, fs_generation(fs));
}

struct granted_file *granted_file_take_looker(struct inode *i)
{
	return STEAL_PTR(i->looks);
}

static struct granted_file *writer_of(const struct fs *fs, struct inode *i, uint64_t generation)
{
	if (generation != fs_generation(fs))
		return NULL;
	LOCKED(&i->lock);
	return granted_file_writes(i->granted, generation) ? granted_file_ref(i->granted->writer) : NULL;
}

struct granted_file *granted_file_to_write(const struct fs *fs, struct inode *i, uint64_t generation)
{
	struct granted_file *g = writer_of(fs, i, generation);
	struct stat st;

	if (g && (fstat(g->file.fd, &st) < 0 || (st.st_mode & (S_ISUID | S_ISGID)) != 0))
		g = granted_file_unref(g);
	return g;
}

struct granted_file *granted_file_take_writer(struct granted_file *g)
{
	return g ? STEAL_PTR(g->writer) : NULL;
}

void granted_file_changed(struct inode *i)
{
	LOCKED(&i->lock);
	i->written_locally++;
	i->changed_past++;
}

void granted_file_take_error(const struct granted_file *g, struct inode *i)
{
	/* Behind the end of any file there is no page to wait for (mm/filemap.c file_fdatawait_range). */
	int r = g ? sync_file_range(g->file.fd, INT64_MAX - 1, 1, SYNC_FILE_RANGE_WAIT_BEFORE) : 0;

	if (r < 0 && errno != ENOSYS && errno != EPERM) /* seccomp */
		write_log_fail(&i->writes, -errno);
}

static void on_closed(struct uring_file *file)
{
	struct granted_file *g = CONTAINER_OF(file, struct granted_file, file);

	(void)granted_file_unref(g->writer);
	backing_ids_descriptors(g->fs->ids, -1);
	backing_ids_close(g->fs->ids, g->number);
	free(g);
}

struct granted_file *granted_file_unref(struct granted_file *g)
{
	if (g && atomic_fetch_sub(&g->refs, 1) == 1)
		uring_file_close(g->fs->uring, &g->file, on_closed);
	return NULL;
}
