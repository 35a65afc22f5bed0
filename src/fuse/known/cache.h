/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Answers that may be had again without asking: bytes found by bytes. It holds so many at most, and
 * gives up the one that was used least recently for a new one (a large one has parts, and does so in
 * each). Whether an answer is still true is not its business: who asks puts into the key what the answer
 * depends on.
 *
 * Any thread; locks of its own are held only inside.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CACHE_KEY_MAX 512

struct cache;

int cache_new(size_t max, struct cache **ret);

/* Takes NULL; returns NULL. */
struct cache *cache_free(struct cache *c);

/* Remembers the value under a key of at most CACHE_KEY_MAX bytes, or nothing when memory is short. */
void cache_put(struct cache *c, const void *key, size_t key_size, const void *value, size_t value_size);

/* Copies the value when there is one of this size. */
bool cache_get(struct cache *c, const void *key, size_t key_size, void *ret, size_t value_size);

void cache_drop(struct cache *c, const void *key, size_t key_size);
