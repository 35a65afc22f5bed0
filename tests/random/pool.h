/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The names that the next operations are made of: absolute paths of what the reference has, or had a
 * moment ago. Only a hint; nothing depends on its being right.
 */
#pragma once

#include "world.h"

#define POOL_FULL 180 /* names; from here on more are removed than made */

struct pool;

struct pool *pool_new(void);
struct pool *pool_free(struct pool *p);

/* Takes all names of the reference, in their order. */
void pool_refresh(struct pool *p, const struct world *w);

size_t pool_count(const struct pool *p);

/* The nth name, when it is still there: its type (st_mode), else 0 and the pool forgets it. */
mode_t pool_name(struct pool *p, const struct world *w, size_t n, const char **ret_path);

/* After an operation that the reference did. */
void pool_learn(struct pool *p, const struct world *w, const struct op *op);
