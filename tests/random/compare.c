/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "compare.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <string.h>
#include <sys/file.h>

#include "base/clock.h"
#include "base/util.h"

#define TARGET_MAX 3500 /* bytes of a symbolic link's target, as in src/io/libnfs/nfs3_encode.c */

const char *error_name(int error)
{
	const char *name = error ? strerrorname_np(error) : "ok";

	return name ? name : "?";
}

void differs(struct verdict *v, const char *format, ...)
{
	va_list ap;

	if (v->differs)
		return;
	v->differs = true;
	va_start(ap, format);
	(void)vsnprintf(v->sentence, sizeof(v->sentence), format, ap);
	va_end(ap);
}

static bool met(enum difference d)
{
	difference_met(d);
	return true;
}

static bool is_read(const struct op *op)
{
	return (op->kind >= OP_READ && op->kind <= OP_READV) || op->kind == OP_SENDFILE || op->kind == OP_COPYRANGE;
}

bool compare_refusal(struct world *w, const struct op *op, const struct expectation *e)
{
	const struct call *c = &w->call[MOUNT];
	bool nothing = op->a == 0xffffffff && op->b == 0xffffffff;

	switch (op->kind) {
	case OP_FALLOCATE:
		if (c->error == EOPNOTSUPP && w->slots[op->slot].d->counted &&
			(w->slots[op->slot].d->flags & O_ACCMODE) != O_RDONLY)
			return met(DIFFERENCE_NO_FALLOCATE);
		break;
	case OP_XATTR:
		if (c->error == EOPNOTSUPP)
			return met(DIFFERENCE_NO_XATTR);
		break;
	case OP_CHOWN:
	case OP_FCHOWN:
		if (c->result == 0 && nothing)
			return met(DIFFERENCE_CHOWN_OF_NOTHING);
		break;
	case OP_SYMLINK:
		if (c->error == ENAMETOOLONG && strlen(op->path2) > TARGET_MAX)
			return met(DIFFERENCE_LONG_TARGET);
		break;
	case OP_RENAME:
		if (c->error == EINVAL && op->flags)
			return met(DIFFERENCE_NO_RENAME_FLAGS);
		break;
	default:
		break;
	}
	if (c->error == ENOTEMPTY && e->silly_directory)
		return met(DIFFERENCE_SILLY_DIRECTORY);
	if (c->error == EIO && e->io_refused && is_read(op))
		return met(DIFFERENCE_READ_EIO);
	/* close(2) closes the file despite the error, so the reference must close it, too. */
	if (c->error == (op->kind == OP_MAPREAD ? EFAULT : EACCES) && e->io_refused && op->kind != OP_CLOSE &&
		op->kind != OP_FSYNC)
		return met(DIFFERENCE_IO_REFUSED);
	return false;
}

/* True if the file is removed on the server: it has no name, and the daemon has not opened it. */
static bool is_gone(struct world *w, const struct statx *reference)
{
	const struct object *o = objects_find(w->objects, key_of(reference));

	return reference->stx_nlink == 0 && (!o || o->opens == 0);
}

static bool is_gone_fd(struct world *w, int fd)
{
	struct statx stx;

	return statx(fd, "", AT_EMPTY_PATH, STATX_BASIC_STATS | STATX_BTIME, &stx) == 0 && is_gone(w, &stx);
}

/* True if the file of the operation, or the directory at which a path starts, is removed on the server. */
static bool is_about_gone(struct world *w, const struct op *op)
{
	int cwd = w->cwd[op->actor].fd[VIEW_REFERENCE];

	if (op_infos[op->kind].needs & NEEDS_SLOT)
		return is_gone_fd(w, w->slots[op->slot].fd[REFERENCE]);
	if (op->path[0] != '/' && is_gone_fd(w, op->dir == OP_NONE ? cwd : w->slots[op->dir].fd[REFERENCE]))
		return true;
	return op->path2[0] != '\0' && op->path2[0] != '/' && op->kind != OP_SYMLINK &&
	       is_gone_fd(w, op->dir2 == OP_NONE ? cwd : w->slots[op->dir2].fd[REFERENCE]);
}

/*
 * True if both sides refuse the operation for different reasons. A local filesystem checks permission first. On the
 * mount other checks come first: those of the kernel for files that are made, linked, removed or renamed, those of the
 * first path if the second one has no permission, and the server's check of the length of a name.
 */
static bool has_other_reason(const struct op *op, int mount, int reference)
{
	bool own = mount == EPERM || mount == EISDIR || mount == ENOTDIR;

	/*
	 * In a sticky directory FUSE hides the sticky bit from the kernel, so the server checks it, after the kernel.
	 */
	if (reference == EPERM && (op->kind == OP_UNLINK || op->kind == OP_RMDIR || op->kind == OP_RENAME))
		return mount == EISDIR || mount == ENOTDIR || mount == EACCES;
	if (reference != EACCES || mount == 0)
		return false;
	switch (op->kind) {
	case OP_LINK:
	case OP_RENAME:
		return true;
	case OP_UNLINK:
	case OP_RMDIR:
	case OP_MKNOD:
		return own || mount == ENAMETOOLONG;
	case OP_OPEN:
		/* EISDIR: O_CREAT of "name/". ELOOP: a link in a sticky directory. */
		return mount == EISDIR || mount == ELOOP || mount == ENAMETOOLONG;
	default:
		return mount == ENAMETOOLONG;
	}
}

/* Closes a file that only one side has opened. */
static void abandon_new_file(struct call *m, struct call *r)
{
	m->new_fd = close_fd(m->new_fd);
	r->new_fd = close_fd(r->new_fd);
	m->see &= ~(SEE_SLOT | SEE_SLOT2);
}

/* True if the mount read the pages of the page cache, and the server refused the rest. */
static bool is_refused_midway(const struct expectation *e, const struct call *m, const struct call *r)
{
	return e->io_refused && m->error == 0 && r->error == 0 && m->size == (size_t)m->result && m->size < r->size &&
	       memcmp(m->data, r->data, m->size) == 0;
}

/* True for a lock that a mapping of a closed file keeps on the reference. On the mount the mapping keeps no lock. */
static bool is_kept_by_mapping(const struct world *w, const struct op *op)
{
	const struct description *d = w->slots[MAX(op->slot, 0)].d;

	if (op->kind != OP_FLOCK && op->kind != OP_OFDLOCK)
		return false;
	for (int n = 0; n < MAPPINGS; n++) {
		const struct description *mapped = w->maps[n].d;

		if (mapped && mapped->object == d->object && mapped->slots == 0 && mapped->passthrough)
			return true;
	}
	return false;
}

static bool is_barred_directory(const struct world *w, const struct op *op, const struct expectation *e)
{
	_cleanup_close_ int fd = -1;
	struct statx stx;

	if (op->kind != OP_ACCESS || !S_ISDIR(e->type) || !(op->mode & W_OK))
		return false;
	fd = world_find(w, VIEW_REFERENCE, op, false, op_follows(op));
	return fd >= 0 && statx(fd, "", AT_EMPTY_PATH, STATX_BASIC_STATS, &stx) == 0 &&
	       !server_allows(&w->users[op->actor][REFERENCE], &stx, X_OK);
}

static bool is_listed(struct world *w, const struct op *op, const struct expectation *e)
{
	struct call *m = &w->call[MOUNT], *r = &w->call[REFERENCE];
	bool one_now = (op->a == TIME_NOW && op->b == TIME_OMIT) || (op->a == TIME_OMIT && op->b == TIME_NOW);

	if (op->kind == OP_TMPFILE && m->error == EOPNOTSUPP &&
		(r->error == 0 || r->error == EACCES || r->error == EPERM))
		return met(DIFFERENCE_NO_TMPFILE);
	if (m->error == EACCES && r->error == 0 && is_barred_directory(w, op, e))
		return met(DIFFERENCE_DIRECTORY_ACCESS);
	if (e->special && m->error != EACCES && r->error == EACCES)
		return met(DIFFERENCE_SPECIAL_OPEN);
	if ((op->kind == OP_UTIMENS || op->kind == OP_FUTIMENS) && one_now && r->error == EPERM &&
		(m->error == 0 || m->error == EACCES)) {
		if (e->target.ino)
			object_loosen(objects_get(w->objects, e->target), DIFFERENCE_TOUCH_ONE);
		else if (op->kind == OP_FUTIMENS)
			object_loosen(w->slots[op->slot].d->object, DIFFERENCE_TOUCH_ONE);
		return met(DIFFERENCE_TOUCH_ONE);
	}
	if ((m->error == ESTALE || m->error == ENOENT) && is_about_gone(w, op))
		return met(DIFFERENCE_REMOVED);
	if (is_refused_midway(e, m, r)) {
		(void)lseek(r->fd, lseek(m->fd, 0, SEEK_CUR), SEEK_SET);
		return met(DIFFERENCE_IO_REFUSED);
	}
	if (is_kept_by_mapping(w, op) && m->error == 0 && r->error == EAGAIN) {
		if (op->kind == OP_FLOCK)
			(void)flock(m->fd, LOCK_UN);
		else
			(void)fcntl(m->fd, F_OFD_SETLK,
				&(struct flock){.l_type = F_UNLCK,
					.l_whence = SEEK_SET,
					.l_start = op->a,
					.l_len = op->b});
		return met(DIFFERENCE_MAP_KEEPS_NOTHING);
	}
	if (has_other_reason(op, m->error, r->error))
		return met(DIFFERENCE_OTHER_REASON);
	if (op->kind == OP_LSEEK && r->error == EINVAL && m->result > EXT4_SIZE_MAX) {
		(void)lseek(m->fd, lseek(r->fd, 0, SEEK_CUR), SEEK_SET);
		return met(DIFFERENCE_NO_LARGEST_SIZE);
	}
	/* The mount finds a negative position, which is EINVAL; the reference finds that the other one is too large. */
	if ((op->kind == OP_SENDFILE || op->kind == OP_COPYRANGE) && MAX(op->a, op->c) > EXT4_SIZE_MAX &&
		(m->result == 0 || (m->error == EINVAL && MIN(op->a, op->c) < 0)) &&
		(r->error == EOVERFLOW || r->error == EINVAL || r->error == EFBIG))
		return met(DIFFERENCE_NO_LARGEST_SIZE);
	if (op->kind == OP_GETCWD && m->error == ENOENT && r->error == 0)
		return met(DIFFERENCE_NAME_DROPPED);
	if (op->kind == OP_CLOSE || op->kind == OP_FSYNC) {
		struct object *o = w->slots[op->slot].d->object;

		if (m->error == EACCES && e->io_refused)
			o->refused = EACCES;
		return m->error && m->error == o->refused && met(DIFFERENCE_ERROR_LATE);
	}
	return false;
}

/* Copies the types of the reference to the entries of a listing for which the mount has DT_UNKNOWN. */
static void forget_unknown_types(struct call *m, const struct call *r)
{
	bool met_one = false;

	for (size_t at = 0; at + 1 < MIN(m->size, r->size); at++) {
		if (m->data[at] != '\0')
			continue;
		at++;
		met_one |= m->data[at] == DT_UNKNOWN && r->data[at] != DT_UNKNOWN;
		if (m->data[at] == DT_UNKNOWN)
			m->data[at] = r->data[at];
	}
	if (met_one)
		difference_met(DIFFERENCE_ENTRY_TYPES);
}

static void compare_data(struct call *m, const struct call *r, struct verdict *v)
{
	size_t at = 0;

	if (m->op->kind == OP_LIST || m->op->kind == OP_LISTDIR || m->op->kind == OP_SEEKDIR)
		forget_unknown_types(m, r);

	if (m->size != r->size) {
		differs(v, "%zu bytes came from the mount, %zu from the reference", m->size, r->size);
		return;
	}
	if (memcmp(m->data, r->data, m->size) == 0)
		return;
	while (m->data[at] == r->data[at])
		at++;
	differs(v, "byte %zu of %zu is %#x on the mount, %#x on the reference", at, m->size, m->data[at], r->data[at]);
}

void compare_results(struct world *w, const struct op *op, const struct expectation *e, struct verdict *v)
{
	struct call *m = &w->call[MOUNT];
	const struct call *r = &w->call[REFERENCE];

	if (m->error != r->error || m->result != r->result) {
		if (is_listed(w, op, e))
			abandon_new_file(&w->call[MOUNT], &w->call[REFERENCE]);
		else
			differs(v, "the mount says %s (%" PRId64 "), the reference %s (%" PRId64 ")",
				error_name(m->error), m->result, error_name(r->error), r->result);
		return;
	}
	if (r->no_holes)
		difference_met(DIFFERENCE_HOLES_UNKNOWN);
	/* The conflicting lock may be that of the mapping on the reference, and another lock on the mount. */
	if (is_kept_by_mapping(w, op) && r->more[0] != F_UNLCK && memcmp(m->more, r->more, sizeof(m->more)) != 0) {
		difference_met(DIFFERENCE_MAP_KEEPS_NOTHING);
		return;
	}
	for (int n = 0; n < CALL_MORE_MAX; n++)
		if (m->more[n] != r->more[n])
			differs(v, "further result %d is %" PRId64 " on the mount, %" PRId64 " on the reference", n,
				m->more[n], r->more[n]);
	compare_data(m, r, v);
}

void compare_attributes(const struct object *o, const struct statx *m, const struct statx *r, const char *where,
	struct verdict *v)
{
	uint32_t links = r->stx_nlink + (o ? o->silly + o->left_links : 0);

	if (o && o->silly)
		difference_met(DIFFERENCE_SILLY_LINKS);
	if (m->stx_mode != r->stx_mode)
		differs(v, "%s: the mode is %o on the mount, %o on the reference", where, m->stx_mode, r->stx_mode);
	if (m->stx_uid != r->stx_uid || m->stx_gid != r->stx_gid)
		differs(v, "%s: the owner is %u:%u on the mount, %u:%u on the reference", where, m->stx_uid, m->stx_gid,
			r->stx_uid, r->stx_gid);
	/* The daemon removes the .nfs name later; the kernel sees that only when it asks for the attributes again. */
	if (m->stx_nlink == links + 1 && o && o->buried && now_ms() - o->buried < ATTRIBUTES_MS)
		links++;
	if (m->stx_nlink != links)
		differs(v, "%s: %u links on the mount, not %u", where, m->stx_nlink, links);
	if (!S_ISDIR(r->stx_mode) && m->stx_size != r->stx_size)
		differs(v, "%s: the size is %llu on the mount, %llu on the reference", where,
			(unsigned long long)m->stx_size, (unsigned long long)r->stx_size);
	if ((S_ISCHR(r->stx_mode) || S_ISBLK(r->stx_mode)) && m->stx_rdev_major == 0 && m->stx_rdev_minor == 0)
		difference_met(DIFFERENCE_SPECIAL_DEVICE);
	else if (m->stx_rdev_major != r->stx_rdev_major || m->stx_rdev_minor != r->stx_rdev_minor)
		differs(v, "%s: the device is %u:%u on the mount, %u:%u on the reference", where, m->stx_rdev_major,
			m->stx_rdev_minor, r->stx_rdev_major, r->stx_rdev_minor);
}

static bool same_time(struct statx_timestamp a, struct statx_timestamp b)
{
	return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec;
}

/* The sides have different clocks, so times differ. But an operation must change a time on both sides or on none. */
static void compare_change(const char *where, const char *which, const struct statx_timestamp before[SIDES],
	const struct statx_timestamp after[SIDES], struct verdict *v)
{
	if (same_time(before[MOUNT], after[MOUNT]) != same_time(before[REFERENCE], after[REFERENCE]))
		differs(v,
			"%s: the %s %s on the mount, unlike on the reference: it was %lld.%09u and %lld.%09u, "
			"is %lld.%09u and %lld.%09u",
			where, which, same_time(before[MOUNT], after[MOUNT]) ? "is unchanged" : "has changed",
			(long long)before[0].tv_sec, before[0].tv_nsec, (long long)before[1].tv_sec, before[1].tv_nsec,
			(long long)after[0].tv_sec, after[0].tv_nsec, (long long)after[1].tv_sec, after[1].tv_nsec);
}

bool compare_map_unseen(const struct world *w, const struct object *o)
{
	return o->map_written && now_ms() - o->map_written < (w->options->remembers ? SERVER_MS : ATTRIBUTES_MS);
}

static void compare_times(struct world *w, struct object *o, const struct statx *m, const struct statx *r,
	const char *where, struct verdict *v)
{
	const struct statx_timestamp mtime[SIDES] = {m->stx_mtime, r->stx_mtime};
	const struct statx_timestamp ctime[SIDES] = {m->stx_ctime, r->stx_ctime};
	/* The kernel sees changes that it has not made itself only when it asks for the attributes again. */
	bool same_ctime = same_time(o->ctime[MOUNT], m->stx_ctime);
	bool unseen =
		(o->loose_why == DIFFERENCE_SILLY_TIMES && same_ctime) ||
		(o->loose_why == DIFFERENCE_MAP_TIMES && (same_ctime || same_time(o->mtime[MOUNT], m->stx_mtime)));
	bool map_unseen = compare_map_unseen(w, o);
	struct verdict found = {.differs = false};

	if (o->times_known) {
		compare_change(where, "mtime", o->mtime, mtime, &found);
		compare_change(where, "ctime", o->ctime, ctime, &found);
	}
	if (found.differs && o->times_loose)
		difference_met(o->loose_why);
	else if (found.differs && w->fine_times)
		differs(v, "%s", found.sentence);
	memcpy(o->mtime, mtime, sizeof(mtime));
	memcpy(o->ctime, ctime, sizeof(ctime));
	o->times_known = true;
	if (!unseen)
		o->times_loose = false;
	if (o->map_dirty || map_unseen)
		object_loosen(o, DIFFERENCE_MAP_TIMES);
}

/* Compares the times that the operation has set. */
static void compare_given_times(const struct op *op, struct object *o, const struct statx *m, const struct statx *r,
	struct verdict *v)
{
	if (S_ISLNK(r->stx_mode)) {
		object_loosen(o, DIFFERENCE_LINK_TIMES);
		return;
	}
	if (op->a != TIME_NOW && op->a != TIME_OMIT && !same_time(m->stx_atime, r->stx_atime))
		differs(v, "the atime that was set is %lld.%09u on the mount, %lld.%09u on the reference",
			(long long)m->stx_atime.tv_sec, m->stx_atime.tv_nsec, (long long)r->stx_atime.tv_sec,
			r->stx_atime.tv_nsec);
	if (op->b != TIME_NOW && op->b != TIME_OMIT && !same_time(m->stx_mtime, r->stx_mtime))
		differs(v, "the mtime that was set is %lld.%09u on the mount, %lld.%09u on the reference",
			(long long)m->stx_mtime.tv_sec, m->stx_mtime.tv_nsec, (long long)r->stx_mtime.tv_sec,
			r->stx_mtime.tv_nsec);
}

bool compare_mend_setid(int reference_fd, const struct statx *m, struct statx *r, enum difference why)
{
	char name[64];

	if (((m->stx_mode ^ r->stx_mode) & ~(S_ISUID | S_ISGID)) != 0)
		return false;
	(void)snprintf(name, sizeof(name), "/proc/self/fd/%d", reference_fd);
	if (chmod(name, m->stx_mode & 07777) < 0)
		die("the reference's own mode cannot be changed: %s", strerror(errno));
	r->stx_mode = m->stx_mode;
	return met(why);
}

/* True if only set-id bits differ, after an operation that clears them on one side and keeps them on the other. */
static bool mend_setid(struct world *w, const struct op *op, const struct expectation *e, const struct object *o,
	unsigned bit, const struct statx *m, struct statx *r)
{
	bool chown = op->kind == OP_CHOWN || op->kind == OP_FCHOWN;
	_cleanup_close_ int fd = -1;

	if (!e->setid && !o->map_written)
		return false;
	if (bit & (SEE_SLOT | SEE_SLOT2))
		fd = dup(w->slots[bit == SEE_SLOT ? op->slot : op->slot2].fd[REFERENCE]);
	else if (bit & (SEE_PARENT | SEE_PARENT2)) /* may be the file, where a path goes through a file */
		fd = world_find_parent(w, VIEW_REFERENCE, op, bit == SEE_PARENT2);
	else
		fd = world_find(w, VIEW_REFERENCE, op, bit == SEE_PATH2, op_follows(op));
	return compare_mend_setid(fd, m, r, chown ? DIFFERENCE_CHOWN_SETID : DIFFERENCE_SETID);
}

static const char *const seen_names[SEE_COUNT] = {"path", "path's directory", "path2", "path2's directory",
	"the open file", "the second open file"};

static void compare_one(struct world *w, const struct op *op, const struct expectation *e, int n, struct verdict *v)
{
	struct seen *m = &w->call[MOUNT].seen[n], *r = &w->call[REFERENCE].seen[n];
	bool mended = false;
	struct object *o;

	/* The attributes of a removed file are those that the kernel has cached, for as long as it caches them. */
	if (r->error == 0 && is_gone(w, &r->stx) && (m->error == 0 || m->error == ESTALE || m->error == ENOENT)) {
		difference_met(DIFFERENCE_REMOVED);
		return;
	}
	if (m->error != r->error && (m->error == ESTALE || m->error == ENOENT) && is_about_gone(w, op)) {
		difference_met(DIFFERENCE_REMOVED);
		return;
	}
	/* The operation has removed permission x from a directory that the path goes through again. */
	if (m->error != r->error && r->error == EACCES && (path_has_dots(op->path) || path_has_dots(op->path2))) {
		difference_met(DIFFERENCE_DOTS);
		return;
	}
	/* The operation has set the sticky bit of the directory that contains the path's symbolic link. */
	if (w->sticky_guards && m->error == 0 && r->error == EACCES && op->kind == OP_CHMOD && op->mode & S_ISVTX) {
		difference_met(DIFFERENCE_STICKY_UNGUARDED);
		return;
	}
	if (m->error != r->error && !(r->error == EACCES && m->error == ENAMETOOLONG))
		differs(v, "%s: looking at it says %s on the mount, %s on the reference", seen_names[n],
			error_name(m->error), error_name(r->error));
	if (m->error || r->error)
		return;
	o = objects_get(w->objects, key_of(&r->stx));
	if (m->stx.stx_mode != r->stx.stx_mode)
		mended = mend_setid(w, op, e, o, 1U << n, &m->stx, &r->stx);
	compare_attributes(o, &m->stx, &r->stx, seen_names[n], v);
	if (o->mount_ino && o->mount_ino != m->stx.stx_ino)
		differs(v, "%s: the inode number was %" PRIu64 " on the mount and is %" PRIu64, seen_names[n],
			o->mount_ino, (uint64_t)m->stx.stx_ino);
	o->mount_ino = m->stx.stx_ino;
	if (op->kind == OP_UTIMENS || op->kind == OP_FUTIMENS)
		if (w->call[MOUNT].error == 0 && w->call[REFERENCE].error == 0)
			compare_given_times(op, o, &m->stx, &r->stx, v);
	compare_times(w, o, &m->stx, &r->stx, seen_names[n], v);
	if (mended)
		object_loosen(o, DIFFERENCE_SETID);
}

void compare_seen(struct world *w, const struct op *op, const struct expectation *e, struct verdict *v)
{
	for (int n = 0; n < SEE_COUNT && !v->differs; n++)
		if (w->call[MOUNT].see & 1U << n)
			compare_one(w, op, e, n, v);
}
