/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "witness.h"

#include <fcntl.h>
#include <inttypes.h>
#include <string.h>

#include "base/util.h"

#define CHUNK  65536
#define CHUNKS 8 /* of data from the beginning that are compared, because files may have holes of terabytes */

static unsigned count;

unsigned witness_count(void)
{
	return count;
}

bool witness_notes(const struct world *w, const struct op *op, struct closing *ret)
{
	const struct slot *s;

	if (w->root[VIEW_WITNESS] < 0 || op->kind != OP_CLOSE || op->number % WITNESS_EVERY != 0)
		return false;
	s = &w->slots[op->slot];
	if (!s->d || !S_ISREG(s->d->type) || (s->d->flags & O_ACCMODE) == O_RDONLY)
		return false;
	ret->object = s->d->object;
	world_path_of(w, s->fd[REFERENCE], ret->path);
	return ret->path[0] != '\0';
}

/* An O_PATH descriptor if the path leads to a regular file in this view, or -1. */
static int find(const struct world *w, enum view view, const char *path)
{
	_cleanup_close_ int fd = world_find_path(w, view, path, false);
	struct stat st;

	return fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) ? steal_fd(&fd) : -1;
}

static int open_found(int fd)
{
	char name[32];

	(void)snprintf(name, sizeof(name), "/proc/self/fd/%d", fd);
	fd = open(name, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

static void compare_files(int server, int witness, const char *path, bool contents, struct verdict *v)
{
	static uint8_t one[CHUNK], other[CHUNK];
	struct stat a, b;
	off_t at = 0;

	if (fstat(server, &a) < 0 || fstat(witness, &b) < 0)
		die("%s cannot be looked at: %s", path, strerror(errno));
	if (a.st_size != b.st_size) {
		differs(v, "%s was closed with %" PRId64 " bytes, and another client sees %" PRId64, path,
			(int64_t)a.st_size, (int64_t)b.st_size);
		return;
	}
	for (int n = 0; contents && n < CHUNKS; n++, at += CHUNK) {
		ssize_t size;

		at = lseek(server, at, SEEK_DATA);
		size = at < 0 ? 0 : pread(server, one, CHUNK, at);
		if (size <= 0)
			return;
		if (pread(witness, other, CHUNK, at) == size && memcmp(one, other, (size_t)size) == 0)
			continue;
		differs(v, "%s was closed, and another client sees other data within %d bytes at %" PRId64, path, CHUNK,
			(int64_t)at);
		return;
	}
}

void witness_look(struct world *w, const struct closing *c, struct verdict *v)
{
	_cleanup_close_ int reference = find(w, VIEW_REFERENCE, c->path), server = -1, found = -1, data = -1, seen = -1;

	/* The file was removed or renamed, or is still open. */
	if (reference < 0 || !key_equal(key_of_fd(reference), c->object->key) || c->object->refs > 0)
		return;
	server = find(w, VIEW_SERVER, c->path);
	if (server < 0)
		return;
	data = open_found(server);
	found = find(w, VIEW_WITNESS, c->path);
	seen = found < 0 ? -EACCES : open_found(found);
	/* The server squashes root to nobody, who may have no permission for the file or its directories. */
	if (data < 0 || (seen == -EACCES && w->options->squash))
		return;
	if (seen < 0) {
		differs(v, "%s was closed, and another client cannot open it: %s", c->path, error_name(-seen));
		return;
	}
	count++;
	compare_files(data, seen, c->path, c->object->map_written == 0, v);
}
