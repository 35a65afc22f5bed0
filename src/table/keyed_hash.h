/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A keyed hash for tables whose keys a peer chooses, such as file handles and names: SipHash-1-3 (Aumasson and
 * Bernstein, "SipHash: a fast short-input PRF", 2012). Most languages use the variant 1-3 for their hash tables. A peer
 * that does not know the key cannot find keys with equal hashes, and so cannot make a table slow.
 *
 * The process has one key, which the first call gets from getrandom(2). A child of fork(2) keeps the key of its parent.
 * Hashes with that key differ between processes, so none may be stored or sent.
 *
 * Any thread may call.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct hash_key {
	uint64_t k0, k1;
};

/* The hash of the bytes with the key of this process. */
uint64_t keyed_hash(const void *bytes, size_t size);

/* The same for a number and the bytes that follow it. The number is a user id, for example, or another hash. */
uint64_t keyed_hash_of_pair(uint64_t number, const void *bytes, size_t size);

/* The same two with a key of the caller. */
uint64_t siphash(const struct hash_key *key, const void *bytes, size_t size);
uint64_t siphash_of_pair(const struct hash_key *key, uint64_t number, const void *bytes, size_t size);

/* A new random key, from getrandom(2). */
void hash_key_make(struct hash_key *ret);
