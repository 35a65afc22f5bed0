/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "tree.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/mman.h>

#include "base/clock.h"
#include "base/util.h"

#define CHUNK 65536

struct walk {
	struct world *w;
	struct verdict *v;
	unsigned mark;
	unsigned silly_names; /* .nfs names on the server */
};

static const char *fd_path(int fd, char to[32])
{
	(void)snprintf(to, 32, "/proc/self/fd/%d", fd);
	return to;
}

/* The offset of the next data at or after this offset, or the size if no data follows. */
static off_t next_data(int fd, off_t at, off_t size)
{
	off_t data = lseek(fd, at, SEEK_DATA);

	return data < 0 ? size : data;
}

static void compare_contents(struct walk *k, const int fd[VIEWS], const char *path, off_t size)
{
	char name[32];
	_cleanup_close_ int a = open(fd_path(fd[VIEW_REFERENCE], name), O_RDONLY | O_CLOEXEC);
	_cleanup_close_ int b = open(fd_path(fd[VIEW_SERVER], name), O_RDONLY | O_CLOEXEC);
	static uint8_t one[CHUNK], other[CHUNK];

	if (a < 0 || b < 0)
		die("%s cannot be read: %s", path, strerror(errno));
	for (off_t at = 0;; at += CHUNK) {
		ssize_t n, m;

		at = MIN(next_data(a, at, size), next_data(b, at, size));
		if (at >= size)
			return;
		n = pread(a, one, CHUNK, at);
		m = pread(b, other, CHUNK, at);
		if (n != m || n <= 0 || memcmp(one, other, (size_t)n) != 0) {
			differs(k->v,
				"%s: the server's content differs from the reference's, within %d bytes at %" PRId64,
				path, CHUNK, (int64_t)at);
			return;
		}
	}
}

static void compare_targets(struct walk *k, const int fd[VIEWS], const char *path)
{
	char target[VIEWS][OP_PATH_MAX];

	for (enum view view = VIEW_REFERENCE; view < VIEWS; view++) {
		ssize_t n = readlinkat(fd[view], "", target[view], OP_PATH_MAX - 1);

		target[view][MAX(n, 0)] = '\0';
	}
	if (strcmp(target[VIEW_REFERENCE], target[VIEW_SERVER]) != 0)
		differs(k->v, "%s: the server's link leads elsewhere than the reference's", path);
}

static struct walk *walking; /* scandir() has no argument for its filter */

static int is_entry(const struct dirent *e)
{
	bool silly = strncmp(e->d_name, ".nfs", 4) == 0;

	walking->silly_names += silly;
	return !silly && strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0;
}

static void compare_at(struct walk *k, const char *path);

static void compare_directories(struct walk *k, const int fd[VIEWS], const char *path)
{
	struct dirent **entries[VIEWS];
	char name[32], below[OP_PATH_MAX];
	int count[VIEWS];

	walking = k;
	for (enum view view = VIEW_REFERENCE; view < VIEWS; view++)
		count[view] = scandir(fd_path(fd[view], name), &entries[view], is_entry, alphasort);
	for (int n = 0; n < MAX(count[0], count[1]); n++) {
		const char *one = n < count[0] ? entries[0][n]->d_name : "nothing";
		const char *other = n < count[1] ? entries[1][n]->d_name : "nothing";

		if (k->v->differs)
			break;
		if (strcmp(one, other) != 0)
			differs(k->v, "%s: the reference has %s where the server has %s", path, one, other);
		else if (snprintf(below, sizeof(below), "%s/%s", path[1] ? path : "", one) < OP_PATH_MAX)
			compare_at(k, below);
	}
	for (enum view view = VIEW_REFERENCE; view < VIEWS; view++) {
		for (int n = 0; n < count[view]; n++)
			free(entries[view][n]);
		free(entries[view]);
	}
}

static void compare_at(struct walk *k, const char *path)
{
	struct statx stx[VIEWS];
	struct object *o;
	int fd[VIEWS];

	for (enum view view = VIEW_REFERENCE; view < VIEWS; view++) {
		fd[view] = world_find_path(k->w, view, path, false);
		if (fd[view] < 0 || statx(fd[view], "", AT_EMPTY_PATH, STATX_BASIC_STATS | STATX_BTIME, &stx[view]) < 0)
			die("%s cannot be looked at: %s", path, strerror(errno));
	}
	o = objects_get(k->w->objects, key_of(&stx[VIEW_REFERENCE]));
	o->mark = k->mark;
	if (o->map_written && stx[VIEW_SERVER].stx_mode != stx[VIEW_REFERENCE].stx_mode &&
		compare_mend_setid(fd[VIEW_REFERENCE], &stx[VIEW_SERVER], &stx[VIEW_REFERENCE], DIFFERENCE_SETID))
		object_loosen(o, DIFFERENCE_SETID);
	compare_attributes(o, &stx[VIEW_SERVER], &stx[VIEW_REFERENCE], path, k->v);
	if (k->v->differs)
		;
	else if (S_ISREG(stx[0].stx_mode))
		compare_contents(k, fd, path, (off_t)stx[0].stx_size);
	else if (S_ISLNK(stx[0].stx_mode))
		compare_targets(k, fd, path);
	else if (S_ISDIR(stx[0].stx_mode))
		compare_directories(k, fd, path);
	(void)close_fd(fd[VIEW_REFERENCE]);
	(void)close_fd(fd[VIEW_SERVER]);
}

/* Writes the dirty pages of mappings to the server, so that its files can be compared. */
static void sync_mappings(struct world *w)
{
	for (int n = 0; n < MAPPINGS; n++) {
		struct mapping *m = &w->maps[n];

		if (!m->d || !m->shared || !m->writable)
			continue;
		for (enum side side = MOUNT; side < SIDES; side++)
			(void)msync(m->at[side], m->length, MS_SYNC);
		object_synced(m->d->object);
	}
	for (int n = 0; n < SLOTS; n++) {
		struct slot *s = &w->slots[n];

		if (!s->d || !s->d->object->map_dirty || !s->d->counted)
			continue;
		for (enum side side = MOUNT; side < SIDES; side++)
			(void)fsync(s->fd[side]);
		object_synced(s->d->object);
	}
}

static void count_silly(void *arg, struct object *o)
{
	*(unsigned *)arg += o->silly;
}

static void compare_to_server(struct walk *k, const struct op *op)
{
	const struct seen *m = &k->w->call[MOUNT].seen[0];
	_cleanup_close_ int fd = world_find(k->w, VIEW_SERVER, op, false, false);
	const struct object *o = objects_find(k->w->objects, key_of(&k->w->call[REFERENCE].seen[0].stx));
	struct statx stx;

	if (m->error || statx(fd, "", AT_EMPTY_PATH, STATX_BASIC_STATS, &stx) < 0)
		return;
	if (m->stx.stx_ino != stx.stx_ino)
		differs(k->v, "%s: the inode number is %" PRIu64 " on the mount, %" PRIu64 " on the server", op->path,
			(uint64_t)m->stx.stx_ino, (uint64_t)stx.stx_ino);
	if (o && compare_map_unseen(k->w, o)) {
		difference_met(DIFFERENCE_MAP_TIMES);
		return;
	}
	if (m->stx.stx_mtime.tv_sec != stx.stx_mtime.tv_sec || m->stx.stx_mtime.tv_nsec != stx.stx_mtime.tv_nsec ||
		m->stx.stx_ctime.tv_sec != stx.stx_ctime.tv_sec || m->stx.stx_ctime.tv_nsec != stx.stx_ctime.tv_nsec)
		differs(k->v,
			"%s: mtime and ctime are %lld.%09u and %lld.%09u on the mount, %lld.%09u and %lld.%09u on the "
			"server",
			op->path, (long long)m->stx.stx_mtime.tv_sec, m->stx.stx_mtime.tv_nsec,
			(long long)m->stx.stx_ctime.tv_sec, m->stx.stx_ctime.tv_nsec, (long long)stx.stx_mtime.tv_sec,
			stx.stx_mtime.tv_nsec, (long long)stx.stx_ctime.tv_sec, stx.stx_ctime.tv_nsec);
}

/*
 * No lookup updates the attributes of the root that the kernel has cached. The daemon must invalidate them when it
 * removes a .nfs name, which happens a moment after the server has removed the name.
 */
static void compare_root(struct walk *k, struct pool *p, struct op *op)
{
	static struct step s;

	op->kind = OP_STAT;
	(void)strcpy(op->path, "/");
	for (int n = 0; n < 200; n++) {
		k->v->differs = false;
		step_run(k->w, p, op, &s);
		if (s.verdict.differs)
			*k->v = s.verdict;
		else
			compare_to_server(k, op);
		if (!k->v->differs || s.verdict.differs)
			return;
		(void)usleep(5000);
	}
}

/* Prints the path of a difference, because the journal does not contain this operation. */
static void take_verdict(struct walk *k, const struct step *s, const struct op *op)
{
	*k->v = s->verdict;
	if (s->verdict.differs)
		(void)printf("while trees were compared, of %s:\n", op->path);
}

static void through_the_mount(struct walk *k, struct pool *p, struct op *op)
{
	static struct step s;
	const char *path;

	compare_root(k, p, op);
	for (size_t n = 0; n < pool_count(p) && !k->v->differs;) {
		mode_t mode = pool_name(p, k->w, n, &path);

		if (mode == 0)
			continue;
		n++;
		(void)snprintf(op->path, sizeof(op->path), "%s", path);
		op->kind = OP_STAT;
		op->flags = AT_SYMLINK_NOFOLLOW;
		step_run(k->w, p, op, &s);
		take_verdict(k, &s, op);
		if (!k->v->differs && !s.skipped)
			compare_to_server(k, op);
		op->flags = 0;
		op->kind = S_ISDIR(mode) ? OP_LIST : S_ISLNK(mode) ? OP_READLINK : S_ISREG(mode) ? OP_CONTENT : OP_STAT;
		if (op->kind == OP_STAT || k->v->differs)
			continue;
		step_run(k->w, p, op, &s);
		take_verdict(k, &s, op);
	}
}

void tree_compare(struct world *w, struct pool *p, int actor, struct verdict *v)
{
	static unsigned mark;
	static struct op op;
	struct walk k = {.w = w, .v = v, .mark = ++mark};
	unsigned silly = 0;

	v->differs = false;
	sync_mappings(w);
	compare_at(&k, "/");
	objects_each(w->objects, count_silly, &silly);
	if (k.silly_names != silly)
		differs(v, "the server has %u names that begin with .nfs, and %u removed files are open", k.silly_names,
			silly);
	pool_refresh(p, w);
	op_init(&op);
	op.actor = actor;
	if (!v->differs)
		through_the_mount(&k, p, &op);
	objects_sweep(w->objects, mark);
}
