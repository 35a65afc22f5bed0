/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The nonces that clients have announced, and the slots of the registry's file with their hashes (registry_layout.h). A
 * nonce is valid once, for NONCE_LIFETIME_S, while its owner's connection exists.
 *
 * The slots are in a mapping of the file, so that no filesystem and no other process can block a write.
 * process_vm_writev(2) writes them: if the file was truncated, the call fails with EFAULT instead of raising SIGBUS.
 *
 * The broker's lock guards struct nonces; the callers hold it.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "localiofs/registry_layout.h"
#include "wire/nonce.h"

struct nonce_entry {
	void *owner; /* the session that announced; NULL: the slot is free */
	uint64_t announced_ms;
	bool used;
	uint8_t nonce[NONCE_BYTES];
};

struct nonces {
	struct registry_slot *slots; /* REGISTRY_SLOTS slots in the registry's file; the caller owns the mapping */
	struct nonce_entry entries[REGISTRY_SLOTS];
};

void nonces_init(struct nonces *n, struct registry_slot *slots);

/*
 * Makes a nonce of the client's half and a new half. Ends an earlier nonce of the same owner. -EUSERS if no slot is
 * free, -EFAULT if the file was truncated.
 */
int nonces_announce(struct nonces *n, void *owner, const uint8_t half[NONCE_BYTES], uint8_t ret_half[NONCE_BYTES],
	uint32_t *ret_slot);

/* The owner of a valid nonce, or NULL. */
void *nonces_find(const struct nonces *n, const uint8_t nonce[NONCE_BYTES]);

/* The same, and marks the nonce as used. */
void *nonces_use(struct nonces *n, const uint8_t nonce[NONCE_BYTES]);

/* Ends the nonces of an owner, whose connection ends or who announces again. */
void nonces_forget(struct nonces *n, const void *owner);
