/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A keyed hash for tables whose keys a peer chooses, such as file handles and names: SipHash-1-3 (Aumasson and
 * Bernstein, "SipHash: a fast short-input PRF", 2012; 1-3 is the variant of most languages for hash tables). A peer
 * that does not know the key cannot find keys that collide, and so cannot make a table slow.
 *
 * The process has one key, which getrandom(2) makes at the first call. A child of fork(2) keeps the key of its parent.
 * Hashes differ from process to process, so they must not be stored or sent.
 *
 * Any thread.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct hash_key {
	uint64_t k0, k1;
};

/* The hash of the bytes under the key of this process. */
uint64_t keyed_hash(const void *bytes, size_t size);

/* The same of a number and the bytes behind it: a user id, or the hash of another part of the key. */
uint64_t keyed_hash_of_pair(uint64_t number, const void *bytes, size_t size);

/* The hash of the bytes under a key of the caller. */
uint64_t siphash(const struct hash_key *key, const void *bytes, size_t size);
