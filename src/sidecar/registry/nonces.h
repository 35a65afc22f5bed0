/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The nonces that clients have announced, and the slots of the registry's file that show their hashes
 * (registry_layout.h). A nonce is good once, for NONCE_LIFETIME_S, and only while its announcer's connection lives.
 *
 * The slots lie in a mapping of the file, so that nothing here is a call that a file system or a stranger could hold
 * up. They are written by process_vm_writev(2), which fails where the file was cut short (-EFAULT) instead of raising
 * SIGBUS. Guarded by the caller's lock, the broker's.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "localiofs/registry_layout.h"
#include "wire/nonce.h"

struct nonce_entry {
	void *owner; /* the announcer; NULL: the slot is free */
	uint64_t announced_ms;
	bool used;
	uint8_t nonce[NONCE_BYTES];
};

struct nonces {
	struct registry_slot *slots; /* REGISTRY_SLOTS of them, in the registry's file; the caller's */
	struct nonce_entry entries[REGISTRY_SLOTS];
};

void nonces_init(struct nonces *n, struct registry_slot *slots);

/*
 * Makes a nonce of the announcer's half and one of ours. An earlier nonce of the same owner ends with that. -EUSERS
 * when there is no free slot, -EFAULT when the file has none any more.
 */
int nonces_announce(struct nonces *n, void *owner, const uint8_t half[NONCE_BYTES], uint8_t ret_half[NONCE_BYTES],
	uint32_t *ret_slot);

/* The owner of a nonce that is announced, in time and not used; or NULL. */
void *nonces_find(const struct nonces *n, const uint8_t nonce[NONCE_BYTES]);

/* The same, and the nonce is used from then on. */
void *nonces_use(struct nonces *n, const uint8_t nonce[NONCE_BYTES]);

/* The owner's connection has ended, or its nonce has served. */
void nonces_forget(struct nonces *n, const void *owner);
