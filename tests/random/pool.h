/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The names for the next operations: absolute paths of files that the reference has or had until recently. A wrong path
 * does no harm. Only the main thread uses the pool.
 */
#pragma once

#include "world.h"

#define POOL_FULL 180 /* names; with more, generate() removes files instead of making them */

struct pool;

struct pool *pool_new(void);
struct pool *pool_free(struct pool *p);

/* Replaces the names by all names of the reference, in their order. */
void pool_refresh(struct pool *p, const struct world *w);

size_t pool_count(const struct pool *p);

/* The nth name. Returns the st_mode of its file, or 0 if the file is gone; then the pool removes the name. */
mode_t pool_name(struct pool *p, const struct world *w, size_t n, const char **ret_path);

/* Adds the new names of an operation that has succeeded on the reference. */
void pool_learn(struct pool *p, const struct world *w, const struct op *op);
