/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "world.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <stdarg.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "localiofs/control.h"
#include "base/util.h"

#define SHARED_GID 3000

void die(const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	(void)fflush(stdout);
	(void)fputs("random-operations: ", stderr);
	(void)vfprintf(stderr, format, ap);
	(void)fputc('\n', stderr);
	va_end(ap);
	_exit(2);
}

static const struct user users[ACTORS] = {
	{.name = "root"},
	{.name = "one", .uid = 1001, .gid = 1001, .groups = {SHARED_GID}, .ngroups = 1},
	{.name = "two", .uid = 1002, .gid = 1002, .groups = {SHARED_GID}, .ngroups = 1},
};

static int open_or_die(const char *path, int flags)
{
	int fd = open(path, flags | O_CLOEXEC);

	if (fd < 0)
		die("%s: %s", path, strerror(errno));
	return fd;
}

static int beneath(int root, const char *path, bool follow)
{
	struct open_how how = {.flags = O_PATH | O_CLOEXEC | (follow ? 0 : O_NOFOLLOW), .resolve = RESOLVE_IN_ROOT};
	long fd = syscall(SYS_openat2, root, path, &how, sizeof(how));

	return fd < 0 ? -errno : (int)fd;
}

/* Before Linux 6.13 two changes within one tick have the same time, even with a stat(2) between them. */
static bool times_are_fine(int root)
{
	struct stat before, after;
	char name[64];
	bool fine = true;
	int fd;

	(void)snprintf(name, sizeof(name), "/proc/self/fd/%d/times", root);
	fd = open(name, O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0600);
	if (fd < 0)
		die("the reference cannot be written: %s", strerror(errno));
	for (int n = 0; n < 20 && fine; n++)
		fine = fstat(fd, &before) == 0 && pwrite(fd, "x", 1, 0) == 1 && fstat(fd, &after) == 0 &&
		       (before.st_mtim.tv_nsec != after.st_mtim.tv_nsec ||
			       before.st_mtim.tv_sec != after.st_mtim.tv_sec);
	(void)unlink(name);
	(void)close_fd(fd);
	return fine;
}

static bool has_sticky_guards(void)
{
	static const char *const names[] = {"symlinks", "regular", "fifos"};
	bool any = false;

	for (size_t n = 0; n < ARRAY_SIZE(names); n++) {
		char path[64], value = '0';
		_cleanup_close_ int fd = -1;

		(void)snprintf(path, sizeof(path), "/proc/sys/fs/protected_%s", names[n]);
		fd = open(path, O_RDONLY | O_CLOEXEC);
		any |= fd >= 0 && read(fd, &value, 1) == 1 && value != '0';
	}
	return any;
}

static void init_call(struct world *w, enum side side)
{
	struct call *c = &w->call[side];

	c->side = side;
	c->proc_fd = w->proc_fd;
	c->scratch = memfd_create("scratch", MFD_CLOEXEC);
	c->data = mmap(NULL, CALL_DATA_MAX, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (c->scratch < 0 || c->data == MAP_FAILED)
		die("no memory for data");
}

void world_init(struct world *w, const struct world_options *o)
{
	int r;

	memset(w, 0, sizeof(*w));
	w->options = o;
	w->root[VIEW_REFERENCE] = open_or_die(o->reference, O_PATH | O_DIRECTORY);
	w->root[VIEW_SERVER] = open_or_die(o->server, O_PATH | O_DIRECTORY);
	w->root[VIEW_WITNESS] = o->witness ? open_or_die(o->witness, O_PATH | O_DIRECTORY) : -1;
	w->control = open_or_die(o->control, CONTROL_OPEN_FLAGS);
	w->proc_fd = open_or_die("/proc/self/fd", O_PATH | O_DIRECTORY);
	w->objects = objects_new();
	w->sticky_guards = has_sticky_guards();
	w->fine_times = times_are_fine(w->root[VIEW_REFERENCE]);
	for (int n = 0; n < SLOTS; n++)
		w->slots[n].fd[MOUNT] = w->slots[n].fd[REFERENCE] = w->slots[n].server_fd = -1;
	for (enum side side = MOUNT; side < SIDES; side++)
		init_call(w, side);
	for (int actor = 0; actor < ACTORS; actor++) {
		struct directory *cwd = &w->cwd[actor];

		for (enum view view = VIEW_REFERENCE; view < VIEWS; view++)
			cwd->fd[view] = dup(w->root[view]);
		(void)strcpy(cwd->path, "/");
		for (enum side side = MOUNT; side < SIDES; side++) {
			struct user *u = &w->users[actor][side];

			*u = users[actor];
			if (o->squash && actor == ROOT && side == REFERENCE)
				u->uid = u->gid = NOBODY;
			r = worker_new(u, side == MOUNT ? o->mount : o->reference, &w->workers[actor][side]);
			if (r < 0)
				die("%s cannot work below %s: %s", u->name, side == MOUNT ? o->mount : o->reference,
					strerror(-r));
		}
	}
}

void world_done(struct world *w)
{
	for (int n = 0; n < MAPPINGS; n++)
		if (w->maps[n].d) {
			(void)munmap(w->maps[n].at[MOUNT], w->maps[n].length);
			(void)munmap(w->maps[n].at[REFERENCE], w->maps[n].length);
			world_unmapped(w, n);
		}
	for (int n = 0; n < SLOTS; n++)
		if (w->slots[n].d) {
			(void)close_fd(w->slots[n].fd[MOUNT]);
			(void)close_fd(w->slots[n].fd[REFERENCE]);
			world_closed(w, n);
		}
	for (int actor = 0; actor < ACTORS; actor++)
		for (enum side side = MOUNT; side < SIDES; side++) {
			w->workers[actor][side] = worker_free(w->workers[actor][side]);
			(void)close_fd(w->cwd[actor].fd[side]);
		}
	for (enum side side = MOUNT; side < SIDES; side++) {
		(void)munmap(w->call[side].data, CALL_DATA_MAX);
		(void)close_fd(w->call[side].scratch);
		(void)close_fd(w->root[side]);
	}
	w->objects = objects_free(w->objects);
	(void)close_fd(w->control);
	(void)close_fd(w->proc_fd);
}

int world_find_path(const struct world *w, enum view view, const char *path, bool follow)
{
	return beneath(w->root[view], path, follow);
}

static int start_of(const struct world *w, enum view view, const struct op *op, bool second)
{
	int dir = second ? op->dir2 : op->dir;

	if ((second ? op->path2 : op->path)[0] == '/')
		return w->root[view];
	if (dir == OP_NONE)
		return w->cwd[op->actor].fd[view];
	return view == VIEW_REFERENCE ? w->slots[dir].fd[REFERENCE] : w->slots[dir].server_fd;
}

/* If the path of its open directory is not known, the operation's path is a single name in the directory. */
int world_find(const struct world *w, enum view view, const struct op *op, bool second, bool follow)
{
	const char *path = second ? op->path2 : op->path;
	int start = start_of(w, view, op, second), fd;
	char absolute[OP_PATH_MAX];

	if (world_absolute(w, op, second, absolute))
		return beneath(w->root[view], absolute, follow);
	if (start < 0)
		return -ENOENT;
	fd = openat(start, path, O_PATH | O_CLOEXEC | O_NOFOLLOW);
	return fd < 0 ? -errno : fd;
}

int world_find_parent(const struct world *w, enum view view, const struct op *op, bool second)
{
	char parent[OP_PATH_MAX];
	int start = start_of(w, view, op, second), fd;

	path_parent(second ? op->path2 : op->path, parent);
	if (start < 0)
		return -ENOENT;
	if (parent[0] == '/')
		return beneath(start, parent, true);
	fd = dup(start);
	return fd < 0 ? -errno : fd;
}

bool world_absolute(const struct world *w, const struct op *op, bool second, char to[OP_PATH_MAX])
{
	const char *path = second ? op->path2 : op->path;
	int dir = second ? op->dir2 : op->dir;
	const char *start = dir == OP_NONE ? w->cwd[op->actor].path : w->slots[dir].path;

	if (path[0] == '/') {
		memcpy(to, path, strlen(path) + 1);
		return true;
	}
	if (start[0] == '\0')
		return false;
	return snprintf(to, OP_PATH_MAX, "%s/%s", strcmp(start, "/") == 0 ? "" : start, path) < OP_PATH_MAX;
}

static int fd_of(const struct world *w, enum side side, int slot)
{
	return slot == OP_NONE ? -1 : w->slots[slot].fd[side];
}

/* The offset in a mapping at which the file of the reference ends. */
static size_t end_of_file(const struct mapping *m)
{
	struct stat st;

	return m && fstat(m->look_fd, &st) == 0 && st.st_size > m->offset ? (size_t)(st.st_size - m->offset) : 0;
}

void world_call(struct world *w, enum side side, const struct op *op, bool only_look)
{
	struct call *c = &w->call[side];
	bool maps = op->kind == OP_MAPREAD || op->kind == OP_MAPWRITE || op->kind == OP_MUNMAP;
	const struct mapping *m = maps ? &w->maps[op->slot] : NULL;

	c->op = op;
	c->fd = maps ? -1 : fd_of(w, side, op->slot);
	c->fd2 = op->kind == OP_COPYRANGE ? fd_of(w, side, op->slot2) : -1;
	c->dir = op->dir == OP_NONE ? AT_FDCWD : fd_of(w, side, op->dir);
	c->dir2 = op->dir2 == OP_NONE ? AT_FDCWD : fd_of(w, side, op->dir2);
	c->map = m ? m->at[side] : NULL;
	c->map_length = m ? m->length : 0;
	c->map_end = end_of_file(m);
	c->see = op_infos[op->kind].see;
	c->told = w->call[MOUNT].result;
	c->no_holes = false;
	c->error = 0;
	worker_run(w->workers[op->actor][side], only_look ? call_look : call_run, c);
}

long world_status(const struct world *w, const char *group, const char *key)
{
	static struct control_status status;
	char quoted[64];
	const char *at;

	if (ioctl(w->control, CONTROL_GET_STATUS, &status) < 0)
		return -1;
	at = strstr(status.json, group);
	(void)snprintf(quoted, sizeof(quoted), "\"%s\":", key);
	at = at ? strstr(at, quoted) : NULL;
	return at ? strtol(at + strlen(quoted), NULL, 10) : -1;
}

bool server_allows(const struct user *u, const struct statx *stx, int want)
{
	unsigned bits = stx->stx_mode & 7;

	if (u->uid == 0 || (u->uid == stx->stx_uid && S_ISREG(stx->stx_mode)))
		return true;
	if (u->uid == stx->stx_uid)
		return (stx->stx_mode >> 6 & (unsigned)want) == (unsigned)want;
	for (unsigned n = 0; n < u->ngroups; n++)
		if (u->groups[n] == stx->stx_gid)
			bits = stx->stx_mode >> 3 & 7;
	if (u->gid == stx->stx_gid)
		bits = stx->stx_mode >> 3 & 7;
	return (bits & (unsigned)want) == (unsigned)want;
}

struct opens world_opens(const struct world *w)
{
	long passthrough = world_status(w, "\"opens\":", "passthrough");

	return (struct opens){.all = passthrough + world_status(w, "\"opens\":", "uring") +
				     world_status(w, "\"opens\":", "remote"),
		.passthrough = passthrough + world_status(w, "\"opens\":", "passthrough_direct")};
}

/* True if the open since then has passthrough. The daemon counts an open after its answer. */
static bool was_passthrough(const struct world *w, struct opens before)
{
	struct opens now = world_opens(w);

	for (int n = 0; n < SETTLE_SECONDS * 2000 && now.all == before.all; n++) {
		(void)usleep(500);
		now = world_opens(w);
	}
	if (now.all == before.all)
		die("the daemon has not counted an open");
	return now.passthrough > before.passthrough;
}

struct description *world_describe(struct world *w, const struct op *op, struct opens before)
{
	struct description *d = calloc(1, sizeof(*d));
	int fd = w->call[REFERENCE].new_fd;
	struct statx stx;

	if (!d || statx(fd, "", AT_EMPTY_PATH, STATX_BASIC_STATS | STATX_BTIME, &stx) < 0)
		die("the reference's own file cannot be looked at: %s", strerror(errno));
	d->object = objects_get(w->objects, key_of(&stx));
	d->flags = (int)op->flags;
	d->object->refs++;
	d->opener = op->actor;
	d->type = stx.stx_mode & S_IFMT;
	d->counted = S_ISREG(d->type) && !(d->flags & O_PATH);
	d->passthrough = d->counted && was_passthrough(w, before);
	d->opened_append = op->flags & O_APPEND;
	if (d->counted) {
		d->object->opens++;
		w->counted++;
	}
	return d;
}

/* After the end of a slot or a mapping. */
static void release(struct world *w, struct description *d)
{
	if (d->counted && d->slots == 0 && (d->passthrough || d->maps == 0)) {
		d->counted = false;
		d->object->opens--;
		w->counted--;
	}
	if (d->slots == 0 && d->maps == 0) {
		d->object->refs--;
		free(d);
	}
}

void world_path_of(const struct world *w, int fd, char to[OP_PATH_MAX])
{
	size_t n = strlen(w->options->reference);
	char link[32], path[OP_PATH_MAX];
	ssize_t length;

	to[0] = '\0';
	(void)snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	length = readlink(link, path, sizeof(path) - 1);
	if (length < (ssize_t)n)
		return;
	path[length] = '\0';
	if (strncmp(path, w->options->reference, n) != 0 || strstr(path, " (deleted)"))
		return;
	(void)snprintf(to, OP_PATH_MAX, "%s", path[n] ? path + n : "/");
}

void world_opened(struct world *w, int slot, struct description *d)
{
	struct slot *s = &w->slots[slot];

	d->slots++;
	s->d = d;
	s->fd[MOUNT] = w->call[MOUNT].new_fd;
	s->fd[REFERENCE] = w->call[REFERENCE].new_fd;
	s->server_fd = -1;
	s->path[0] = '\0';
	if (!S_ISDIR(d->type))
		return;
	world_path_of(w, s->fd[REFERENCE], s->path);
	if (s->path[0])
		s->server_fd = world_find_path(w, VIEW_SERVER, s->path, false);
}

void world_closed(struct world *w, int slot)
{
	struct slot *s = &w->slots[slot];

	s->server_fd = close_fd(s->server_fd);
	s->fd[MOUNT] = s->fd[REFERENCE] = -1;
	s->path[0] = '\0';
	s->d->slots--;
	release(w, s->d);
	s->d = NULL;
}

void world_mapped(struct world *w, int map, const struct op *op, struct description *d)
{
	struct mapping *m = &w->maps[map];

	d->maps++;
	m->d = d;
	m->at[MOUNT] = w->call[MOUNT].new_map;
	m->at[REFERENCE] = w->call[REFERENCE].new_map;
	m->look_fd = dup(w->slots[op->slot].fd[REFERENCE]);
	m->offset = op->a;
	m->length = (size_t)op->b;
	m->shared = op->mode == MAP_SHARED;
	m->writable = op->flags & PROT_WRITE;
}

void world_unmapped(struct world *w, int map)
{
	(void)close_fd(w->maps[map].look_fd);
	w->maps[map].d->maps--;
	release(w, w->maps[map].d);
	w->maps[map].d = NULL;
}

void world_changed_dir(struct world *w, int actor)
{
	struct directory *cwd = &w->cwd[actor];

	(void)close_fd(w->call[MOUNT].new_fd);
	(void)close_fd(cwd->fd[VIEW_REFERENCE]);
	(void)close_fd(cwd->fd[VIEW_SERVER]);
	cwd->fd[VIEW_REFERENCE] = w->call[REFERENCE].new_fd;
	world_path_of(w, cwd->fd[VIEW_REFERENCE], cwd->path);
	cwd->fd[VIEW_SERVER] = cwd->path[0] ? world_find_path(w, VIEW_SERVER, cwd->path, false) : -1;
}

void world_refresh_paths(struct world *w)
{
	for (int n = 0; n < SLOTS; n++)
		if (w->slots[n].d && w->slots[n].path[0])
			world_path_of(w, w->slots[n].fd[REFERENCE], w->slots[n].path);
	for (int n = 0; n < ACTORS; n++)
		world_path_of(w, w->cwd[n].fd[VIEW_REFERENCE], w->cwd[n].path);
}
