/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The nonce of one probe: the SHA-1 (libuuid's uuid_generate_sha1, RFC 4122 4.3) of a random half from the client and a
 * random half from the sidecar. Neither side can choose the nonce or bring back an old nonce, so no side has to
 * remember used nonces. Only the hash of a nonce is public, and no process can compute the nonce from the hash.
 *
 * The functions have no state; any thread may call them.
 */
#pragma once

#include <stdint.h>

#define NONCE_BYTES      16
#define NONCE_LIFETIME_S 30 /* from ANNOUNCE to UUID_IS_LOCAL */

/* A random half of a nonce. */
void nonce_half(uint8_t ret[NONCE_BYTES]);

/* The nonce of two halves. */
void nonce_make(const uint8_t client[NONCE_BYTES], const uint8_t sidecar[NONCE_BYTES], uint8_t ret[NONCE_BYTES]);

/* The hash of a nonce, which a slot of the registry holds. */
void nonce_hash(const uint8_t nonce[NONCE_BYTES], uint8_t ret[NONCE_BYTES]);
