/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Random names, open files and numbers for generate.c, chosen so that most operations can succeed. Only the main thread
 * uses them.
 */
#pragma once

#include "pool.h"
#include "rng.h"
#include "base/util.h"

struct making {
	struct rng r;
	struct pool *pool;
	const struct world *w;
	struct op *op;
};

static inline bool pick_percent(struct making *m, unsigned n)
{
	return rng_percent(&m->r, n);
}

static inline uint64_t pick_below(struct making *m, uint64_t n)
{
	return rng_below(&m->r, n);
}

/* One of the numbers. */
#define PICK(m, ...)                                                \
	__extension__({                                             \
		const int64_t choices_[] = {__VA_ARGS__};           \
		choices_[rng_below(&(m)->r, ARRAY_SIZE(choices_))]; \
	})

/* S_IFMT types as a mask, so that a caller can ask for several. */
#define WANT_REG   (1U << (S_IFREG >> 12))
#define WANT_DIR   (1U << (S_IFDIR >> 12))
#define WANT_LNK   (1U << (S_IFLNK >> 12))
#define WANT_OTHER (~(WANT_REG | WANT_DIR | WANT_LNK))
#define WANT_ANY   (~0U)

/* A name, mostly one letter. */
void pick_new_name(struct making *m, char to[300]);

/* A path that exists already. False if a few tries found none of the wanted types. */
bool pick_existing(struct making *m, unsigned want, char to[OP_PATH_MAX]);

/*
 * A path that exists, with this chance in percent, or else a new one. Sometimes it is relative to the actor's working
 * directory, or to an open directory, whose slot is in *ret_dir then.
 */
void pick_path(struct making *m, unsigned chance, unsigned want, char path[OP_PATH_MAX], int *ret_dir);

/* directory/name, cut to OP_PATH_MAX. */
void path_join(char to[OP_PATH_MAX], const char *directory, const char *name);

/* An open slot, one that fits if there is one, or OP_NONE. pick_slot() sometimes takes one that does not fit. */
int pick_any_slot(struct making *m, bool (*fits)(const struct slot *s));
int pick_slot(struct making *m, bool (*fits)(const struct slot *s));
int pick_free_slot(const struct making *m);
int pick_map(struct making *m, bool want_used);
bool slot_is_any(const struct slot *s);
bool slot_is_reader(const struct slot *s);
bool slot_is_writer(const struct slot *s);
bool slot_is_both(const struct slot *s);
bool slot_is_regular(const struct slot *s);
bool slot_is_directory(const struct slot *s);

/* The size of the file in the slot, 0 for OP_NONE. */
int64_t pick_size(const struct making *m, int slot);

int64_t pick_length(struct making *m);
int64_t pick_offset(struct making *m, int64_t size);
int64_t pick_end(struct making *m, int64_t size); /* a new end of a file, too large more often */
uint32_t pick_mode(struct making *m);
uint32_t pick_directory_mode(struct making *m);
int64_t pick_owner(struct making *m);
int64_t pick_group(struct making *m);
int64_t pick_time(struct making *m);
