/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "expect.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>

#include "base/util.h"

#define NFS_TIME_MAX (0xffffffffLL * 1000000000)

static bool look(int fd, struct statx *ret)
{
	return fd >= 0 && statx(fd, "", AT_EMPTY_PATH, STATX_BASIC_STATS | STATX_BTIME, ret) == 0;
}

static bool is_data_kind(enum op_kind k)
{
	return (k >= OP_READ && k <= OP_WRITEV) || k == OP_SENDFILE || k == OP_COPYRANGE;
}

static bool is_open(const struct world *w, int slot)
{
	return slot >= 0 && slot < SLOTS && w->slots[slot].d;
}

static bool is_mapped(const struct world *w, int map)
{
	return map >= 0 && map < MAPPINGS && w->maps[map].d;
}

/* True if all slots and mappings that the operation uses are in use, and those that it fills are free. */
static bool has_all(const struct world *w, const struct op *op)
{
	unsigned needs = op_infos[op->kind].needs;

	if (needs & (MAKES_SLOT | MAKES_SLOT2)) {
		int slot = needs & MAKES_SLOT ? op->slot : op->slot2;

		if (slot < 0 || slot >= SLOTS || is_open(w, slot))
			return false;
	}
	if (needs & MAKES_MAP2 && (op->slot2 < 0 || op->slot2 >= MAPPINGS || is_mapped(w, op->slot2)))
		return false;
	return (op->dir == OP_NONE || is_open(w, op->dir)) && (op->dir2 == OP_NONE || is_open(w, op->dir2)) &&
	       (!(needs & NEEDS_SLOT) || is_open(w, op->slot)) && (!(needs & NEEDS_SLOT2) || is_open(w, op->slot2)) &&
	       (!(needs & NEEDS_MAP) || is_mapped(w, op->slot));
}

/* True for an operation that would wait forever, or that has more than one right result. */
static bool cannot_compare(const struct world *w, const struct op *op)
{
	unsigned needs = op_infos[op->kind].needs;
	const struct description *d = needs & NEEDS_SLOT ? w->slots[op->slot].d : NULL;
	const struct description *to = needs & NEEDS_SLOT2 ? w->slots[op->slot2].d : NULL;
	struct stat st;

	/* The client's kernel lets root link files of other users, but the server squashes root. */
	if (w->options->squash && op->kind == OP_LINK && op->actor == ROOT)
		return true;
	if (!d)
		return false;
	if (S_ISFIFO(d->type) && !(d->flags & O_NONBLOCK))
		return true;
	if (op->kind == OP_MMAP && S_ISCHR(d->type))
		return true;
	/* It may succeed on one side only, and then the working directories would differ. */
	if (op->kind == OP_FCHDIR && fstat(w->slots[op->slot].fd[REFERENCE], &st) == 0 && st.st_nlink == 0)
		return true;
	/* Each filesystem has its own positions in directories. */
	if (S_ISDIR(d->type) && (is_data_kind(op->kind) || op->kind == OP_LSEEK || op->kind == OP_SEEKHOLE) &&
		op->kind != OP_PREAD && op->kind != OP_PWRITE)
		return true;
	/* With passthrough the backing filesystem requires alignment, without it nothing does. */
	if (d->flags & O_DIRECT) {
		bool aligned =
			(op->kind == OP_PREAD || op->kind == OP_PWRITE) && op->a % 4096 == 0 && op->b % 4096 == 0;

		if ((is_data_kind(op->kind) && !aligned) || op->kind == OP_SETFL)
			return true;
	}
	/* The fsync of a synchronous write reports an earlier lost write that this open file has not reported yet. */
	if (is_data_kind(op->kind) && d->object->refused &&
		(d->flags & O_DSYNC || (op->kind == OP_WRITEV && op->flags & (RWF_DSYNC | RWF_SYNC))))
		return true;
	return to && (to->flags & O_DIRECT || (to->flags & O_DSYNC && to->object->refused));
}

/* The open file that the operation writes to, or NULL. */
static const struct description *written_to(const struct world *w, const struct op *op)
{
	switch (op->kind) {
	case OP_WRITE:
	case OP_PWRITE:
	case OP_WRITEV:
	case OP_FTRUNCATE:
		return w->slots[op->slot].d;
	case OP_COPYRANGE:
		return w->slots[op->slot2].d;
	case OP_MAPWRITE:
		return w->maps[op->slot].d;
	default:
		return NULL;
	}
}

/* The open file that the operation reads from, or NULL. */
static const struct description *read_from(const struct world *w, const struct op *op)
{
	switch (op->kind) {
	case OP_READ:
	case OP_PREAD:
	case OP_READV:
	case OP_SENDFILE:
	case OP_COPYRANGE:
	case OP_LISTDIR:
	case OP_SEEKDIR:
		return w->slots[op->slot].d;
	case OP_MAPREAD:
	case OP_MAPWRITE: /* the kernel reads the pages first */
		return w->maps[op->slot].d;
	default:
		return NULL;
	}
}

static bool opener_is_refused(const struct world *w, const struct description *d, int want)
{
	struct statx stx;
	int fd = -1;

	for (int n = 0; n < SLOTS && fd < 0; n++)
		if (w->slots[n].d && w->slots[n].d->object == d->object)
			fd = w->slots[n].fd[REFERENCE];
	for (int n = 0; n < MAPPINGS && fd < 0; n++)
		if (w->maps[n].d && w->maps[n].d->object == d->object)
			fd = w->maps[n].look_fd;
	if (!look(fd, &stx))
		die("an open file of the reference cannot be looked at: %s", strerror(errno));
	return !server_allows(&w->users[d->opener][REFERENCE], &stx, want);
}

/* The daemon sends COMMIT with the credential of any writer. True if the server may refuse one of the writers. */
static bool a_writer_is_refused(const struct world *w, const struct object *o)
{
	for (int n = 0; n < SLOTS; n++) {
		const struct description *d = w->slots[n].d;

		if (d && d->object == o && d->counted && (d->flags & O_ACCMODE) != O_RDONLY &&
			opener_is_refused(w, d, W_OK))
			return true;
	}
	for (int n = 0; n < MAPPINGS; n++) {
		const struct description *d = w->maps[n].d;

		if (d && d->object == o && (d->flags & O_ACCMODE) != O_RDONLY && opener_is_refused(w, d, W_OK))
			return true;
	}
	return false;
}

static bool may_be_refused(struct world *w, const struct op *op, const struct expectation *e)
{
	const struct description *to = written_to(w, op), *from = read_from(w, op);
	const struct object *o = to ? to->object : NULL;

	if (op->kind == OP_CLOSE || op->kind == OP_FSYNC)
		o = w->slots[op->slot].d->object;
	else if (op->kind == OP_TRUNCATE && e->target.ino)
		o = objects_find(w->objects, e->target);
	if (to && to->counted && opener_is_refused(w, to, W_OK))
		return true;
	if (from && (from->counted || S_ISDIR(from->type)) && opener_is_refused(w, from, R_OK))
		return true;
	return o && (o->refused || a_writer_is_refused(w, o));
}

/* True if the file is mapped. The mapped pages would keep the data of a lost write. */
static bool is_mapped_object(const struct world *w, const struct object *o)
{
	for (int n = 0; n < MAPPINGS; n++)
		if (w->maps[n].d && w->maps[n].d->object == o)
			return true;
	return false;
}

static const struct slot *find_late(const struct world *w, const struct op *op)
{
	const struct slot *s;
	int64_t at = op->a;

	if (op->kind == OP_COPYRANGE) {
		s = &w->slots[op->slot2];
		at = op->c;
	} else if (op->kind == OP_WRITE || op->kind == OP_PWRITE || op->kind == OP_WRITEV) {
		s = &w->slots[op->slot];
	} else {
		return NULL;
	}
	if (op->kind == OP_WRITE || at == -1)
		at = lseek(s->fd[REFERENCE], 0, SEEK_CUR);
	if (!s->d->counted || s->d->passthrough || (s->d->flags & O_ACCMODE) == O_RDONLY)
		return NULL;
	return at > EXT4_SIZE_MAX || opener_is_refused(w, s->d, W_OK) ? s : NULL;
}

static bool is_setid_write(const struct world *w, const struct op *op, const struct expectation *e)
{
	/* The sidecar allocates with the rights of the user who opened the file. */
	const struct description *to = op->kind == OP_FALLOCATE ? w->slots[op->slot].d : written_to(w, op);

	if (op->kind == OP_TRUNCATE || op->kind == OP_FTRUNCATE)
		return true;
	if ((op->kind == OP_OPEN || op->kind == OP_REOPEN) && op->flags & O_TRUNC)
		return true;
	if (op->kind == OP_OPEN && op->flags & O_CREAT && op->flags & O_EXCL && op->mode & S_ISGID)
		return true;
	if ((op->kind == OP_CHOWN || op->kind == OP_FCHOWN) && (op->actor != ROOT || w->options->squash))
		return true;
	return to && (to->passthrough || to->opener == ROOT || to->opener != op->actor);
}

static bool is_special_open(const struct world *w, const struct op *op, const struct expectation *e)
{
	mode_t type = op->kind == OP_REOPEN ? w->slots[op->slot].d->type : e->type;

	return (op->kind == OP_REOPEN || op->kind == OP_CONTENT || (op->kind == OP_OPEN && !(op->flags & O_PATH))) &&
	       (S_ISFIFO(type) || S_ISCHR(type) || S_ISBLK(type) || S_ISSOCK(type));
}

/*
 * True if open(2) of a special file may lead to different files: the daemon gives the caller another one, or the kernel
 * uses one that another user has looked up.
 */
static bool opens_another(const struct world *w, const struct op *op, const struct expectation *e)
{
	const struct user *u = &w->users[op->actor][REFERENCE];
	_cleanup_close_ int fd = -1;
	struct statx stx;

	if (!e->special || op->kind == OP_REOPEN)
		return e->special;
	fd = world_find(w, VIEW_REFERENCE, op, false, op_follows(op));
	return fd >= 0 && statx(fd, "", AT_EMPTY_PATH, STATX_BASIC_STATS, &stx) == 0 &&
	       server_allows(u, &stx, R_OK) != server_allows(u, &stx, W_OK);
}

static bool is_empty_but_silly(struct world *w, int fd, struct key dir)
{
	struct call c = {.op = &(struct op){.kind = OP_LIST}, .data = w->call[REFERENCE].data};
	_cleanup_close_ int open_fd = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (open_fd < 0 || call_list(&c, open_fd) < 0)
		return false;
	return c.size == strlen(".") + strlen("..") + 4 && objects_silly_in(w->objects, dir);
}

/* Finds the file that loses its last name while the daemon has it open. */
static void find_victim(struct world *w, const struct op *op, struct expectation *e)
{
	bool second = op->kind == OP_RENAME;
	_cleanup_close_ int fd = -1, parent = -1;
	struct object *o;
	struct statx stx;

	if (op->kind != OP_UNLINK && op->kind != OP_RENAME && op->kind != OP_RMDIR)
		return;
	fd = world_find(w, VIEW_REFERENCE, op, second, false);
	if (!look(fd, &stx))
		return;
	if (S_ISDIR(stx.stx_mode)) {
		e->silly_directory = is_empty_but_silly(w, fd, key_of(&stx));
		return;
	}
	o = objects_find(w->objects, key_of(&stx));
	/* A file with another name gets no .nfs name. */
	if (!o || o->opens == 0 || o->silly || stx.stx_nlink + o->left_links > 1 ||
		(second && key_equal(o->key, e->target)))
		return;
	parent = world_find_parent(w, VIEW_REFERENCE, op, second);
	e->victim = o->key;
	e->victim_dir = key_of_fd(parent);
	e->victim_dir_fd = world_find_parent(w, VIEW_SERVER, op, second);
	e->remover = &w->users[op->actor][REFERENCE];
}

/* True if "." or ".." needs x permission that the actor has not. The mount does not check it, so the results differ. */
static bool lost_in_dots(struct world *w, const struct op *op)
{
	for (int second = 0; second < 2; second++) {
		struct op probe = *op;
		const char *path = second ? op->path2 : op->path;

		if (!path_has_dots(path) || (second && op->kind == OP_SYMLINK))
			continue;
		probe.kind = OP_STAT;
		probe.flags = AT_SYMLINK_NOFOLLOW;
		probe.dir = second ? op->dir2 : op->dir;
		memcpy(probe.path, path, strlen(path) + 1);
		world_call(w, REFERENCE, &probe, false);
		if (w->call[REFERENCE].error != EACCES)
			continue;
		world_call(w, MOUNT, &probe, false);
		if (w->call[MOUNT].error != EACCES)
			difference_met(DIFFERENCE_DOTS);
		return true;
	}
	return false;
}

/*
 * True if the path goes through a symbolic link in a sticky directory, or if a file that O_CREAT opens is in one. A
 * relative target of a link continues from the directory of the link.
 */
static bool meets_sticky_guard(const struct world *w, const char *path, bool follows, bool creates, unsigned depth)
{
	char at[OP_PATH_MAX], target[OP_PATH_MAX], next[2 * OP_PATH_MAX];
	struct statx dir = {0}, stx;

	(void)look(w->root[VIEW_REFERENCE], &dir);
	for (size_t n = 1; path[n - 1]; n++) {
		_cleanup_close_ int fd = -1;
		ssize_t length;

		if (path[n] != '/' && path[n] != '\0')
			continue;
		memcpy(at, path, n);
		at[n] = '\0';
		fd = world_find_path(w, VIEW_REFERENCE, at, false);
		if (!look(fd, &stx) || (path[n] == '\0' && !follows && !creates))
			return false;
		if (dir.stx_mode & S_ISVTX && (S_ISLNK(stx.stx_mode) || (creates && path[n] == '\0')))
			return true;
		length = S_ISLNK(stx.stx_mode) ? readlinkat(fd, "", target, sizeof(target) - 1) : 0;
		if (length > 0) {
			target[length] = '\0';
			at[target[0] == '/' ? 0 : strrchr(at, '/') - at] = '\0';
			return depth > 0 &&
			       snprintf(next, sizeof(next), "%s/%s%s", at, target, path + n) < OP_PATH_MAX &&
			       meets_sticky_guard(w, next, follows, creates, depth - 1);
		}
		dir = stx;
	}
	return false;
}

static bool is_sticky(const struct world *w, const struct op *op)
{
	char path[OP_PATH_MAX];

	for (int second = 0; w->sticky_guards && second < 2; second++)
		if ((second ? op->path2 : op->path)[0] && !(second && op->kind == OP_SYMLINK) &&
			world_absolute(w, op, second, path) &&
			meets_sticky_guard(w, path,
				!second && (op_follows(op) || op->kind == OP_LINK || op->kind == OP_TMPFILE ||
						   op->kind == OP_STATVFS),
				op->kind == OP_OPEN && op->flags & O_CREAT, 40)) {
			difference_met(DIFFERENCE_STICKY_UNGUARDED);
			return true;
		}
	return false;
}

static int64_t nearest_time(int64_t t)
{
	return t == TIME_NOW || t == TIME_OMIT || t / 1000000000 == 0xffffffff ? t : MIN(MAX(t, 0), NFS_TIME_MAX);
}

/* The reference uses the ids of nobody where the server squashes uid 0 and gid 0. */
static void use_squashed_owner(const struct world *w, const struct op *op, struct expectation *e)
{
	if (!w->options->squash || (op->kind != OP_CHOWN && op->kind != OP_FCHOWN) || (op->a != 0 && op->b != 0))
		return;
	e->squashed_owner = true;
	e->reference = *op;
	e->reference.a = op->a == 0 ? NOBODY : op->a;
	e->reference.b = op->b == 0 ? NOBODY : op->b;
}

static void use_32_bit_times(const struct op *op, struct expectation *e)
{
	if (op->kind != OP_UTIMENS && op->kind != OP_FUTIMENS)
		return;
	if (op->a == nearest_time(op->a) && op->b == nearest_time(op->b))
		return;
	e->reference = *op;
	e->reference.a = nearest_time(op->a);
	e->reference.b = nearest_time(op->b);
	e->instead = true;
	difference_met(DIFFERENCE_TIMES_32);
}

static bool takes_append_away(const struct world *w, const struct op *op)
{
	const struct description *d = op->kind == OP_SETFL ? w->slots[op->slot].d : NULL;

	return d && d->passthrough && d->opened_append && !(op->flags & O_APPEND);
}

void expect(struct world *w, const struct op *op, struct expectation *e)
{
	struct statx stx;
	const struct object *o;
	int fd;

	memset(e, 0, offsetof(struct expectation, reference));
	e->victim_dir_fd = -1;
	e->skip = !has_all(w, op) || cannot_compare(w, op);
	if (e->skip)
		return;
	if (op->path[0]) {
		fd = world_find(w, VIEW_REFERENCE, op, false, op_follows(op));
		if (look(fd, &stx)) {
			e->target = key_of(&stx);
			e->type = stx.stx_mode & S_IFMT;
		}
		(void)close_fd(fd);
	}
	find_victim(w, op, e);
	use_32_bit_times(op, e);
	use_squashed_owner(w, op, e);
	e->io_refused = may_be_refused(w, op, e);
	e->late = find_late(w, op);
	e->setid = is_setid_write(w, op, e);
	e->special = is_special_open(w, op, e);
	/* Dirty pages are lost if the server would refuse their write. The kernel's own client loses them, too. */
	o = e->target.ino ? objects_find(w->objects, e->target) : NULL;
	if (op->kind == OP_FCHMOD || op->kind == OP_FCHOWN)
		o = w->slots[op->slot].d->object;
	if (o && o->map_dirty &&
		(op->kind == OP_CHMOD || op->kind == OP_CHOWN || op->kind == OP_FCHMOD || op->kind == OP_FCHOWN))
		e->skip = true;
	/* Data that was copied from the page cache before the server refused the rest cannot be taken back, either. */
	if (((op->kind == OP_MAPWRITE || op->kind == OP_COPYRANGE) && e->io_refused) ||
		(e->late && is_mapped_object(w, e->late->d->object)))
		e->skip = true;
	if (op->kind == OP_LINK && e->target.ino && !S_ISREG(e->type) && !S_ISLNK(e->type) &&
		!w->options->special_links) {
		difference_met(DIFFERENCE_SPECIAL_LINKS);
		e->skip = true;
	}
	if (opens_another(w, op, e)) {
		difference_met(DIFFERENCE_SPECIAL_OPEN);
		e->skip = true;
	}
	if (takes_append_away(w, op)) {
		difference_met(DIFFERENCE_APPEND_STAYS);
		e->skip = true;
	}
	if (!e->skip)
		e->skip = is_sticky(w, op) || lost_in_dots(w, op);
}

void expectation_done(struct expectation *e)
{
	e->victim_dir_fd = close_fd(e->victim_dir_fd);
}
