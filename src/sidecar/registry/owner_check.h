/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Recognises clients that own the machine: they have CAP_SYS_ADMIN in the initial user namespace, and may get
 * descriptors for writing. The proof is a memfd with the attribute OWNER_PROOF (registry_layout.h).
 *
 * The descriptor is hostile. The first call on it reads the device number. A descriptor on the kernel's own tmpfs is
 * safe: no call on it waits, and only root of the initial user namespace can set such attributes. Other descriptors get
 * no further call. The functions have no state; guarded_receive.h has the process that calls owner_check().
 *
 * Neither a pid nor a uid would prove as much: pids are used again, and a container's root has uid 0, too. The client
 * must know the proof's value, which nobody else can read, so no peer can borrow another peer's proof.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "localiofs/registry_layout.h"

/* The device number of every memfd of this kernel. */
int owner_check_device(dev_t *ret);

/* True if the descriptor is a regular file on that device, with exactly this proof. */
bool owner_check(int fd, dev_t device, const struct owner_proof *wanted);
