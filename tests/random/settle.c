/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* world_settle(): waits until the daemon has closed all closed files and removed their .nfs names. */
#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>

#include "difference.h"
#include "base/clock.h"
#include "base/util.h"
#include "world.h"

#define STUCK_TRIES 20 /* of half a millisecond each, after which the server has refused the removal */

/* Reads the attributes of the file by its .nfs name. False if the name does not exist. */
static bool silly_name(const struct object *o, struct statx *ret)
{
	char prefix[32];
	bool there = false;
	int fd = openat(o->silly_dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);

	if (!dir)
		return false; /* the directory was removed, so it contained no name */
	(void)snprintf(prefix, sizeof(prefix), ".nfs%016" PRIx64, o->mount_ino);
	for (const struct dirent *e; !there && (e = readdir(dir));)
		if (strncmp(e->d_name, prefix, strlen(prefix)) == 0)
			there = statx(fd, e->d_name, AT_SYMLINK_NOFOLLOW, STATX_BASIC_STATS, ret) == 0;
	(void)closedir(dir);
	return there;
}

struct burial {
	struct world *w;
	bool waiting;
	struct object *stuck;
};

/* True if the user who removed the file still has permission to remove its .nfs name. */
static bool may_remove(const struct object *o)
{
	const struct user *u = o->remover;
	struct statx dir, file;

	if (statx(o->silly_dir_fd, "", AT_EMPTY_PATH, STATX_BASIC_STATS, &dir) < 0 ||
		!server_allows(u, &dir, W_OK | X_OK))
		return false;
	if (u->uid == 0 || !(dir.stx_mode & S_ISVTX) || dir.stx_uid == u->uid)
		return true;
	return silly_name(o, &file) && file.stx_uid == u->uid;
}

/*
 * After the last close of a file: waits for the removal of its .nfs name. The removal changes the times of the
 * directory, and those of a file that has another name.
 */
static void bury(void *arg, struct object *o)
{
	struct burial *b = arg;
	struct object *dir;
	struct statx stx;

	if (!o->silly || o->stuck || o->opens > 0)
		return;
	if (silly_name(o, &stx)) {
		if (may_remove(o))
			b->waiting = true;
		else
			b->stuck = o;
		return;
	}
	o->silly = false;
	o->buried = now_ms();
	object_loosen(o, DIFFERENCE_SILLY_TIMES);
	dir = objects_find(b->w->objects, o->silly_dir);
	if (dir)
		object_loosen(dir, DIFFERENCE_SILLY_TIMES);
	o->silly_dir_fd = close_fd(o->silly_dir_fd);
}

/* Makes an object for a .nfs name that stays forever, so that the file itself can get another .nfs name. */
static void leave_stuck(struct world *w, struct object *o)
{
	struct object *left = objects_get(w->objects, (struct key){.ino = o->key.ino, .birth = -1 - w->stuck++});

	left->stuck = left->silly = true;
	left->silly_dir = o->silly_dir;
	left->silly_dir_fd = steal_fd(&o->silly_dir_fd);
	o->silly = false;
	o->left_links++;
	difference_met(DIFFERENCE_SILLY_STAYS);
}

bool world_settle(struct world *w)
{
	for (int n = 0; n < SETTLE_SECONDS * 2000; n++) {
		struct burial b = {.w = w, .waiting = world_status(w, "{", "open_files") != (long)w->counted};

		if (!b.waiting)
			objects_each(w->objects, bury, &b);
		if (b.stuck && n >= STUCK_TRIES) {
			leave_stuck(w, b.stuck);
			continue;
		}
		if (!b.waiting && !b.stuck)
			return true;
		(void)usleep(500);
	}
	return false;
}
