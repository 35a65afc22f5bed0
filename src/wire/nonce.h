/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The nonce of one probe: made of a random half of the client's and one of the sidecar's, by SHA-1 (libuuid's
 * uuid_generate_sha1, RFC 4122 4.3). Neither side can choose the nonce or bring an old one back, so nobody needs to
 * remember which nonces were used. What is public is the nonce's hash, from which nobody gets the nonce.
 *
 * Plain functions, any thread.
 */
#pragma once

#include <stdint.h>

#define NONCE_BYTES      16
#define NONCE_LIFETIME_S 30 /* from the announcement to the question */

/* A random half. */
void nonce_half(uint8_t ret[NONCE_BYTES]);

void nonce_make(const uint8_t client[NONCE_BYTES], const uint8_t sidecar[NONCE_BYTES], uint8_t ret[NONCE_BYTES]);

/* What a slot of the registry shows of the nonce. */
void nonce_hash(const uint8_t nonce[NONCE_BYTES], uint8_t ret[NONCE_BYTES]);
