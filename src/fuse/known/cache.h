/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A cache of answers of the server: a key of bytes leads to a value of bytes. The number of answers is limited. A new
 * answer replaces the least recently used one. A large cache has parts with a lock each, and a new answer replaces one
 * of its own part.
 *
 * The cache does not know whether an answer is still valid: the caller puts everything that the answer depends on into
 * the key.
 *
 * Any thread may call. The locks are private, and held only during a call.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CACHE_KEY_MAX 512

struct cache;

/* A cache of at most max answers. 0 or -ENOMEM. */
int cache_new(size_t max, struct cache **ret);

/* Takes NULL; returns NULL. */
struct cache *cache_free(struct cache *c);

/* Stores the value under a key of at most CACHE_KEY_MAX bytes. Without memory it only removes the old value. */
void cache_put(struct cache *c, const void *key, size_t key_size, const void *value, size_t value_size);

/* True if there is a value of this size, which is copied to ret. */
bool cache_get(struct cache *c, const void *key, size_t key_size, void *ret, size_t value_size);

/* Removes the answer, if there is one. */
void cache_drop(struct cache *c, const void *key, size_t key_size);
