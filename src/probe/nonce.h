/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The client's nonce: one file in the registry's nonces/, alive from nonce_make() to nonce_drop().
 * Used by the probe's thread only.
 */
#pragma once

#include "localiofs/nonce_record.h"
#include "probe/registry.h"
#include "util.h"

struct nonce {
	int dir;           /* nonces/, O_PATH */
	uint8_t uuid[16];
	char name[37];     /* the file's name: the UUID in text */
	uint8_t proof[NONCE_PROOF_BYTES]; /* zeros where this process may give none */
};

#define NONCE_NONE {.dir = -1}

/* Makes a fresh UUID's file with a complete record; asker is for people. */
int nonce_make(int registry, const char *asker, struct nonce *ret, struct registry_fault *fault);

/* Unlinks the file unless the sidecar already did, and closes the directory. */
void nonce_drop(struct nonce *n);

/* The machine's boot id in binary; what a record carries. */
int boot_id_read(uint8_t ret[16]);
