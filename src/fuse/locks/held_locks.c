/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "fuse/locks/held_locks.h"

void held_locks_init(struct held_locks *h, atomic_size_t *count)
{
	h->count = count;
	for (size_t kind = 0; kind < ARRAY_SIZE(h->of); kind++)
		list_init(&h->of[kind]);
}

void held_locks_done(struct held_locks *h)
{
	for (size_t kind = 0; kind < ARRAY_SIZE(h->of); kind++)
		LIST_FOREACH (pos, &h->of[kind]) {
			held_locks_drop(h, held_of(pos));
		}
}

bool held_locks_empty(const struct held_locks *h)
{
	return list_empty(&h->of[LOCK_KIND_RANGE]) && list_empty(&h->of[LOCK_KIND_FLOCK]);
}

static bool overlap(const struct lock *a, const struct lock *b)
{
	return a->start <= b->end && b->start <= a->end;
}

bool lock_conflicts(const struct lock *held, const struct lock *wanted)
{
	return held->owner != wanted->owner && overlap(held, wanted) &&
	       (held->mode == LOCK_MODE_EXCLUSIVE || wanted->mode == LOCK_MODE_EXCLUSIVE);
}

struct held *held_locks_conflict(struct held_locks *h, const struct lock *wanted)
{
	if (wanted->mode == LOCK_MODE_NONE)
		return NULL;
	LIST_FOREACH (pos, &h->of[wanted->kind]) {
		if (lock_conflicts(&held_of(pos)->lock, wanted))
			return held_of(pos);
	}
	return NULL;
}

struct held *held_locks_own(struct held_locks *h, const struct lock *range)
{
	struct held *first = NULL;

	LIST_FOREACH (pos, &h->of[range->kind]) {
		const struct lock *own = &held_of(pos)->lock;

		if (own->owner == range->owner && overlap(own, range) && (!first || own->start < first->lock.start))
			first = held_of(pos);
	}
	return first;
}

void held_locks_drop(struct held_locks *h, struct held *held)
{
	list_remove(&held->node);
	free(held);
	(*h->count)--;
}

/* True if b begins right behind the end of a. */
static bool adjoin(const struct lock *a, const struct lock *b)
{
	return a->end != LOCK_END && a->end + 1 == b->start;
}

/* Cuts the range out of a lock of its owner. *rest: memory for the piece behind the range; NULL once it is used. */
static void cut(struct held_locks *h, struct held *held, const struct lock *range, struct held **rest)
{
	bool before = held->lock.start<range->start, behind = held->lock.end> range->end;

	if (before && behind) {
		(*rest)->lock = held->lock;
		(*rest)->lock.start = range->end + 1;
		*rest = NULL;
	}
	if (before)
		held->lock.end = range->start - 1;
	else if (behind)
		held->lock.start = range->end + 1;
	else
		held_locks_drop(h, held);
}

/* True if the range splits a lock of its owner into two pieces. */
static bool splits(struct held_locks *h, const struct lock *range)
{
	LIST_FOREACH (pos, &h->of[LOCK_KIND_RANGE]) {
		const struct lock *own = &held_of(pos)->lock;

		if (own->owner == range->owner && own->mode != range->mode && own->start < range->start &&
			own->end > range->end)
			return true;
	}
	return false;
}

static void hold(struct held_locks *h, struct held *held, struct list *next)
{
	list_append(next, &held->node);
	(*h->count)++;
}

int held_locks_apply(struct held_locks *h, const struct lock *wanted, size_t room)
{
	bool takes = wanted->mode != LOCK_MODE_NONE;
	bool split = wanted->kind == LOCK_KIND_RANGE && splits(h, wanted), among_own = false;
	struct list *next = NULL; /* the lock that will follow the new one in the list */
	struct held *new = takes ? calloc(1, sizeof(*new)) : NULL;
	struct held *rest = split ? calloc(1, sizeof(*rest)) : NULL, *unused = rest;

	if ((takes && !new) || (split && !rest) || (size_t)takes + split > room) {
		free(new);
		free(rest);
		return -ENOLCK;
	}
	if (takes)
		new->lock = *wanted;
	LIST_FOREACH (pos, &h->of[wanted->kind]) {
		struct held *own = held_of(pos);

		if (own->lock.owner != wanted->owner) {
			next = among_own && !next ? pos : next;
			continue;
		}
		among_own = true;
		if (takes && own->lock.mode == wanted->mode &&
			(overlap(&own->lock, wanted) || adjoin(&own->lock, wanted) || adjoin(wanted, &own->lock))) {
			new->lock.start = MIN(new->lock.start, own->lock.start);
			new->lock.end = MAX(new->lock.end, own->lock.end);
			held_locks_drop(h, own);
			continue;
		}
		if (!next && own->lock.start >= wanted->start && own->lock.end > wanted->end)
			next = pos;
		if (overlap(&own->lock, wanted))
			cut(h, own, wanted, &unused);
	}
	if (!next)
		next = &h->of[wanted->kind];
	if (new)
		hold(h, new, next);
	if (rest)
		hold(h, rest, next);
	return 0;
}

bool held_locks_change_flock(struct held_locks *h, const struct lock *wanted)
{
	LIST_FOREACH (pos, &h->of[LOCK_KIND_FLOCK]) {
		struct held *own = held_of(pos);

		if (own->lock.owner != wanted->owner)
			continue;
		if (own->lock.mode == wanted->mode)
			return true;
		held_locks_drop(h, own);
	}
	return wanted->mode == LOCK_MODE_NONE;
}
