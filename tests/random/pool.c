/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "pool.h"

#include <dirent.h>
#include <fcntl.h>
#include <string.h>

#include "base/util.h"

struct pool {
	char **paths;
	size_t count, room;
};

struct pool *pool_new(void)
{
	struct pool *p = calloc(1, sizeof(*p));

	if (!p)
		abort();
	return p;
}

static void clear(struct pool *p)
{
	for (size_t n = 0; n < p->count; n++)
		free(p->paths[n]);
	p->count = 0;
}

struct pool *pool_free(struct pool *p)
{
	clear(p);
	free(p->paths);
	free(p);
	return NULL;
}

static void add(struct pool *p, const char *path)
{
	if (p->count == p->room) {
		p->room = p->room * 2 + 16;
		p->paths = reallocarray(p->paths, p->room, sizeof(char *));
		if (!p->paths)
			abort();
	}
	p->paths[p->count] = strdup(path);
	if (!p->paths[p->count++])
		abort();
}

static void walk(struct pool *p, const struct world *w, const char *path)
{
	char at[64], below[OP_PATH_MAX];
	struct dirent **entries;
	int fd = world_find_path(w, VIEW_REFERENCE, path, false), count;

	(void)snprintf(at, sizeof(at), "/proc/self/fd/%d", fd);
	count = scandir(at, &entries, NULL, alphasort);
	for (int n = 0; n < count; n++) {
		const char *name = entries[n]->d_name;

		if (strcmp(name, ".") != 0 && strcmp(name, "..") != 0 &&
			snprintf(below, sizeof(below), "%s/%s", path[1] ? path : "", name) < (int)sizeof(below)) {
			add(p, below);
			if (entries[n]->d_type == DT_DIR)
				walk(p, w, below);
		}
		free(entries[n]);
	}
	if (count >= 0)
		free(entries);
	(void)close_fd(fd);
}

void pool_refresh(struct pool *p, const struct world *w)
{
	clear(p);
	walk(p, w, "/");
}

size_t pool_count(const struct pool *p)
{
	return p->count;
}

mode_t pool_name(struct pool *p, const struct world *w, size_t n, const char **ret_path)
{
	int fd = world_find_path(w, VIEW_REFERENCE, p->paths[n], false);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0) {
		(void)close_fd(fd);
		free(p->paths[n]);
		memmove(p->paths + n, p->paths + n + 1, (--p->count - n) * sizeof(char *));
		return 0;
	}
	(void)close_fd(fd);
	*ret_path = p->paths[n];
	return st.st_mode;
}

static void add_new(struct pool *p, const struct world *w, const struct op *op, bool second)
{
	char path[OP_PATH_MAX];

	if (!world_absolute(w, op, second, path))
		return;
	for (size_t n = 0; n < p->count; n++)
		if (strcmp(p->paths[n], path) == 0)
			return;
	add(p, path);
}

void pool_learn(struct pool *p, const struct world *w, const struct op *op)
{
	switch (op->kind) {
	case OP_OPEN:
		if (op->flags & O_CREAT)
			add_new(p, w, op, false);
		break;
	case OP_MKDIR:
	case OP_MKNOD:
	case OP_SYMLINK:
		add_new(p, w, op, false);
		break;
	case OP_LINK:
		add_new(p, w, op, true);
		break;
	case OP_RENAME:
		pool_refresh(p, w);
		break;
	default:
		break;
	}
}
