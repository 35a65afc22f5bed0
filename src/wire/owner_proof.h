/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The client's proof that it owns the machine (registry_layout.h, OWNER_PROOF). The sidecar believes the proof and
 * sends such a client descriptors for writing. No state; any thread.
 */
#pragma once

#include "localiofs/registry_layout.h"

/*
 * A memfd with the proof as its attribute; the caller closes it. -EPERM without CAP_SYS_ADMIN in the initial user
 * namespace; another errno where the kernel has no trusted.* attributes on memfds.
 */
int owner_proof_make(const struct owner_proof *proof);
