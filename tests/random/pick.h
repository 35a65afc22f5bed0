/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* What operations are made of: names, open files and numbers, drawn so that most of them fit. */
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

/* One of some numbers. */
#define PICK(m, ...)                                                \
	__extension__({                                             \
		const int64_t choices_[] = {__VA_ARGS__};           \
		choices_[rng_below(&(m)->r, ARRAY_SIZE(choices_))]; \
	})

/* S_IFMT types as a mask, so that several can be wanted at once. */
#define WANT_REG   (1U << (S_IFREG >> 12))
#define WANT_DIR   (1U << (S_IFDIR >> 12))
#define WANT_LNK   (1U << (S_IFLNK >> 12))
#define WANT_OTHER (~(WANT_REG | WANT_DIR | WANT_LNK))
#define WANT_ANY   (~0U)

void pick_new_name(struct making *m, char to[300]);

/* What is there already; false when a few tries found none of the wanted types. */
bool pick_existing(struct making *m, unsigned want, char to[OP_PATH_MAX]);

/*
 * With this chance (percent) what is there, else what is not; sometimes spelled from an open
 * directory, which ret_dir then is, or from the actor's own.
 */
void pick_path(struct making *m, unsigned chance, unsigned want, char path[OP_PATH_MAX], int *ret_dir);

void path_join(char to[OP_PATH_MAX], const char *directory, const char *name);

/* Something open, one that fits if there is one; pick_slot() now and then takes any. OP_NONE. */
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

/* The size of what is open there, 0 for nothing. */
int64_t pick_size(const struct making *m, int slot);

int64_t pick_length(struct making *m);
int64_t pick_offset(struct making *m, int64_t size);
int64_t pick_end(struct making *m, int64_t size); /* where a file grows to: too large more often */
uint32_t pick_mode(struct making *m);
uint32_t pick_directory_mode(struct making *m);
int64_t pick_owner(struct making *m);
int64_t pick_group(struct making *m);
int64_t pick_time(struct making *m);
