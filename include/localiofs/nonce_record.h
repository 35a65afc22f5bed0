/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The nonce record: the content of REGISTRY/nonces/<uuid>.
 *
 * The client creates the file with O_EXCL and mode 0600, writes one record and announces the uuid
 * on its broker connection. The sidecar, asked UUID_IS_LOCAL, finds the file in *its* registry,
 * checks it, unlinks it and writes NONCE_MATCHED into state. The file is hostile memory to the
 * sidecar: read with pread, never mapped. Host byte order; both ends run one kernel.
 *
 * A client with CAP_SYS_ADMIN in the initial user namespace, who owns the machine, can show it: attributes of the
 * kernel's trusted.* are set and read by nobody else (fs/xattr.c xattr_permission). So it keeps random bytes in one of
 * the file, and announces these, too.
 */
#pragma once

#include <stdint.h>

#define NONCE_MAGIC "LIOFSNCE"
#define NONCE_VERSION 1
#define NONCE_DIR_NAME "nonces"
#define NONCE_LIFETIME_S 30 /* a file born longer ago is stale */
#define NONCE_PROOF "trusted.localiofs.proof"
#define NONCE_PROOF_BYTES 16 /* not all of them zero */

enum nonce_state {
	NONCE_ANNOUNCED = 1,
	NONCE_MATCHED = 2,
};

struct nonce_record {
	char magic[8];        /* NONCE_MAGIC, no NUL */
	uint32_t version;     /* NONCE_VERSION */
	uint32_t state;       /* enum nonce_state */
	uint8_t uuid[16];     /* the file's own name in binary */
	uint8_t boot_id[16];  /* /proc/sys/kernel/random/boot_id: another kernel never matches */
	uint32_t pid;         /* who asks, for people: the client's pid in its own namespace */
	uint32_t uid;
	char asker[72];       /* who asks, for people: the mount's spec, NUL padded */
};

_Static_assert(sizeof(struct nonce_record) == 128, "nonce_record layout");
