/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "step.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>

#include "base/clock.h"
#include "base/util.h"
#include "witness.h"

/* The removed file has a .nfs name now. */
static void keep_silly(struct world *w, struct expectation *e)
{
	struct object *o = e->victim.ino ? objects_find(w->objects, e->victim) : NULL;

	if (!o)
		return;
	o->silly = true;
	o->silly_dir = e->victim_dir;
	o->remover = e->remover;
	o->silly_dir_fd = e->victim_dir_fd;
	e->victim_dir_fd = -1;
}

/* A failed rename over an open file has given the file a .nfs name for a moment, which changes times. */
static void keep_failed_rename(struct world *w, const struct expectation *e)
{
	struct object *o = e->victim.ino ? objects_find(w->objects, e->victim) : NULL;

	if (o) {
		object_loosen(o, DIFFERENCE_SILLY_TIMES);
		object_loosen(objects_get(w->objects, e->victim_dir), DIFFERENCE_SILLY_TIMES);
	}
}

static void keep_map_write(const struct op *op, const struct mapping *m)
{
	if (!m->shared)
		return;
	m->d->object->map_written = now_ms();
	if (!op->flags)
		m->d->object->map_dirty = true;
	object_loosen(m->d->object, DIFFERENCE_MAP_TIMES);
}

/* Records the changes of a successful operation for later operations. */
static void keep(struct world *w, const struct op *op, struct expectation *e, struct opens before)
{
	struct slot *s = op_infos[op->kind].needs & NEEDS_SLOT ? &w->slots[op->slot] : NULL;

	switch (op->kind) {
	case OP_OPEN:
		world_opened(w, op->slot, world_describe(w, op, before));
		break;
	case OP_REOPEN:
		world_opened(w, op->slot2, world_describe(w, op, before));
		break;
	case OP_DUP:
		world_opened(w, op->slot2, s->d);
		break;
	case OP_FSYNC:
		if (s->d->object->map_dirty)
			object_synced(s->d->object);
		break;
	case OP_SETFL:
		s->d->flags = (s->d->flags & ~(O_APPEND | O_NONBLOCK)) | (int)op->flags;
		break;
	case OP_WRITE:
	case OP_PWRITE:
	case OP_WRITEV:
		if (S_ISFIFO(s->d->type))
			object_loosen(s->d->object, DIFFERENCE_PIPE_TIMES);
		break;
	case OP_MMAP:
		world_mapped(w, op->slot2, op, s->d);
		break;
	case OP_MAPWRITE:
		keep_map_write(op, &w->maps[op->slot]);
		break;
	case OP_MUNMAP:
		/* The kernel writes the pages of a mapping that ends. */
		if (w->maps[op->slot].shared && w->maps[op->slot].writable)
			object_synced(w->maps[op->slot].d->object);
		world_unmapped(w, op->slot);
		break;
	case OP_UNLINK:
		keep_silly(w, e);
		break;
	case OP_RENAME:
		keep_silly(w, e);
		world_refresh_paths(w);
		break;
	case OP_RMDIR:
		world_refresh_paths(w);
		break;
	case OP_CHDIR:
	case OP_FCHDIR:
		world_changed_dir(w, op->actor);
		break;
	default:
		break;
	}
}

static bool may_have_opened(const struct world *w, const struct op *op)
{
	return w->call[MOUNT].error && (op->kind == OP_OPEN || op->kind == OP_REOPEN) && op->flags & O_TRUNC;
}

/*
 * The server may still refuse a write that the mount has answered. fsync(2) finds out, so that both sides continue in
 * the same state. posix_fadvise(2) drops the pages of the lost data, which the kernel would keep until the next open.
 */
static void wait_for_late_error(struct world *w, const struct slot *s)
{
	struct call *c = &w->call[MOUNT];

	if (!s || c->error || fsync(s->fd[MOUNT]) == 0)
		return;
	c->error = s->d->object->refused = errno;
	c->result = -1;
	memset(c->more, 0, sizeof(c->more));
	(void)posix_fadvise(s->fd[MOUNT], 0, 0, POSIX_FADV_DONTNEED);
	(void)lseek(s->fd[MOUNT], lseek(s->fd[REFERENCE], 0, SEEK_CUR), SEEK_SET);
	difference_met(DIFFERENCE_ERROR_LATE);
}

void step_run(struct world *w, struct pool *p, const struct op *op, struct step *ret)
{
	struct expectation *e = &ret->expected;
	bool makes = op->kind == OP_OPEN || op->kind == OP_REOPEN;
	unsigned counted = w->counted;
	struct opens before = {0};
	struct closing closing;
	bool refused, closes;

	ret->verdict.differs = false;
	expect(w, op, e);
	ret->skipped = e->skip;
	if (e->skip)
		return;
	if (makes)
		before = world_opens(w);
	/* The open file reports the error of an earlier write first, so that a later error belongs to this write. */
	if (e->late && e->late->d->object->refused)
		(void)fsync(e->late->fd[MOUNT]);
	closes = witness_notes(w, op, &closing);
	world_call(w, MOUNT, op, false);
	wait_for_late_error(w, e->late);
	refused = compare_refusal(w, op, e);
	if (e->squashed_owner && w->call[MOUNT].error == 0) {
		difference_met(DIFFERENCE_SQUASHED_OWNER);
		e->instead = true;
	}
	world_call(w, REFERENCE, e->instead ? &e->reference : op, refused);
	if (!refused) {
		compare_results(w, op, e, &ret->verdict);
		if (op->kind == OP_CLOSE) /* whatever its result */
			world_closed(w, op->slot);
		else if (!ret->verdict.differs && w->call[MOUNT].error == 0 && w->call[REFERENCE].error == 0)
			keep(w, op, e, before);
		else if (op->kind == OP_RENAME)
			keep_failed_rename(w, e);
	}
	if (closes && !refused && !ret->verdict.differs && w->call[MOUNT].error == 0)
		witness_look(w, &closing, &ret->verdict);
	if (!ret->verdict.differs)
		compare_seen(w, op, e, &ret->verdict);
	/* The daemon closes a file a moment after close(2), or after an open(2) that failed late. */
	if (!ret->verdict.differs && (w->counted < counted || op->kind == OP_CONTENT || may_have_opened(w, op)))
		if (!world_settle(w))
			differs(&ret->verdict, "the daemon has %ld open files, not %u, or a .nfs name stays",
				world_status(w, "{", "open_files"), w->counted);
	if (!ret->verdict.differs && !refused && w->call[REFERENCE].error == 0)
		pool_learn(p, w, op);
	expectation_done(e);
}
