/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "table/keyed_hash.h"

#include <endian.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#define COMPRESSION_ROUNDS 1
#define FINAL_ROUNDS       3

static struct hash_key process_key;
static atomic_bool key_is_made;
static pthread_once_t key_once = PTHREAD_ONCE_INIT;

void hash_key_make(struct hash_key *ret)
{
	/*
	 * EINTR is possible only before the kernel has initialized its random numbers. getrandom(2) has no other error
	 * for these arguments.
	 */
	while (getrandom(ret, sizeof(*ret), 0) < 0)
		if (errno != EINTR)
			abort();
}

static void make_key(void)
{
	hash_key_make(&process_key);
	atomic_store_explicit(&key_is_made, true, memory_order_release);
}

static const struct hash_key *key_of_process(void)
{
	if (!atomic_load_explicit(&key_is_made, memory_order_acquire))
		(void)pthread_once(&key_once, make_key);
	return &process_key;
}

static inline uint64_t rotate(uint64_t value, unsigned bits)
{
	return value << bits | value >> (64 - bits);
}

/* Stays in registers, because all functions that use it are inlined. */
struct state {
	uint64_t v0, v1, v2, v3;
};

#define INLINED static inline __attribute__((always_inline))

/* Section 2.4 of the paper: SipRound. */
INLINED void sip_round(struct state *s)
{
	s->v0 += s->v1;
	s->v2 += s->v3;
	s->v1 = rotate(s->v1, 13) ^ s->v0;
	s->v3 = rotate(s->v3, 16) ^ s->v2;
	s->v0 = rotate(s->v0, 32);
	s->v2 += s->v1;
	s->v0 += s->v3;
	s->v1 = rotate(s->v1, 17) ^ s->v2;
	s->v3 = rotate(s->v3, 21) ^ s->v0;
	s->v2 = rotate(s->v2, 32);
}

/* Section 2.2: compression of one word. */
INLINED void compress(struct state *s, uint64_t word)
{
	s->v3 ^= word;
	for (int n = 0; n < COMPRESSION_ROUNDS; n++)
		sip_round(s);
	s->v0 ^= word;
}

static uint64_t load_word(const uint8_t *bytes)
{
	uint64_t word;

	memcpy(&word, bytes, sizeof(word));
	return le64toh(word);
}

/* The last rest bytes (0 to 7) of a message of size bytes that ends at this address. */
static uint64_t load_rest(const uint8_t *end, size_t rest, size_t size)
{
	const uint8_t *bytes = end - rest;
	uint64_t word = 0;

	if (rest > 0 && size >= sizeof(word))
		return load_word(end - sizeof(word)) >> (64 - 8 * rest);
	for (size_t n = 0; n < rest; n++)
		word |= (uint64_t)bytes[n] << (8 * n);
	return word;
}

/* Section 2.1: the initial state. */
INLINED struct state begin(const struct hash_key *key)
{
	return (struct state){
		.v0 = key->k0 ^ 0x736f6d6570736575,
		.v1 = key->k1 ^ 0x646f72616e646f6d,
		.v2 = key->k0 ^ 0x6c7967656e657261,
		.v3 = key->k1 ^ 0x7465646279746573,
	};
}

/* Compresses the bytes and the last word, whose highest byte is the length of the whole message, and finalizes. */
INLINED uint64_t finish(struct state s, const void *bytes, size_t size, size_t length)
{
	const uint8_t *p = bytes, *end = p + size;
	size_t rest = size % sizeof(uint64_t);

	for (; p < end - rest; p += sizeof(uint64_t))
		compress(&s, load_word(p));
	compress(&s, load_rest(end, rest, size) | (uint64_t)length << 56);
	s.v2 ^= 0xff;
	for (int n = 0; n < FINAL_ROUNDS; n++)
		sip_round(&s);
	return s.v0 ^ s.v1 ^ s.v2 ^ s.v3;
}

uint64_t siphash(const struct hash_key *key, const void *bytes, size_t size)
{
	return finish(begin(key), bytes, size, size);
}

uint64_t keyed_hash(const void *bytes, size_t size)
{
	return siphash(key_of_process(), bytes, size);
}

uint64_t siphash_of_pair(const struct hash_key *key, uint64_t number, const void *bytes, size_t size)
{
	struct state s = begin(key);

	compress(&s, number);
	return finish(s, bytes, size, sizeof(number) + size);
}

uint64_t keyed_hash_of_pair(uint64_t number, const void *bytes, size_t size)
{
	return siphash_of_pair(key_of_process(), number, bytes, size);
}
