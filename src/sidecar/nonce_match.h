/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The sidecar's look at a nonce file: is the UUID that came over the network a file of *this* host's
 * registry, made just now by the very user who announced it? The file is hostile (nonce_record.h), so
 * each property is checked on one descriptor, and the file is unlinked before it is believed.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "localiofs/nonce_record.h"

/*
 * Uses the nonce up: 0 when it is right (the file then says NONCE_MATCHED and has no name any more), and *ret_trusted
 * whether its NONCE_PROOF is the one that was announced. -ENOENT, -ELOOP and such: there is none; -EPERM: another
 * user's; -ESTALE: too old, of another boot or used already; -EBADMSG: not a record.
 */
int nonce_match(int nonces, const uint8_t uuid[16], const uint8_t proof[NONCE_PROOF_BYTES], uid_t announcer,
	bool *ret_trusted);
