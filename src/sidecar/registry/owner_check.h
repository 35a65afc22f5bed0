/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * True owners of the machine: clients with CAP_SYS_ADMIN in the initial user namespace, who may be sent descriptors for
 * writing. A client shows it by a memfd with the attribute OWNER_PROOF (registry_layout.h).
 *
 * The descriptor that comes is hostile. Its device number says whether it lies on the kernel's own tmpfs, where
 * nobody but the initial user namespace's root sets such attributes, and where no call waits; nothing else is called on
 * it before. The session's own thread does this.
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

/* True if the descriptor lies on that device and carries this very proof. */
bool owner_check(int fd, dev_t device, const struct owner_proof *wanted);
