/* SPDX-License-Identifier: LGPL-2.1-or-later */
#include "wire/nonce.h"

#include <string.h>

#include <uuid/uuid.h>

void nonce_half(uint8_t ret[NONCE_BYTES])
{
	uuid_generate_random(ret);
}

void nonce_make(const uint8_t client[NONCE_BYTES], const uint8_t sidecar[NONCE_BYTES], uint8_t ret[NONCE_BYTES])
{
	uuid_generate_sha1(ret, client, (const char *)sidecar, NONCE_BYTES);
}

void nonce_hash(const uint8_t nonce[NONCE_BYTES], uint8_t ret[NONCE_BYTES])
{
	static const char slot[] = "localiofs registry slot";

	uuid_generate_sha1(ret, nonce, slot, strlen(slot));
}
