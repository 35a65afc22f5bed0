/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * LOOKUP: what the NFS server would answer about a name, where that is certain. The server's own rule and the kernel
 * must both allow the search of the directory. A mount point, another filesystem or subvolume, ".", "..", and every
 * error but ENOENT are left to the server: the reply has a reason then.
 *
 * No state but that of the change, which belongs to the calling thread.
 */
#pragma once

#include "sidecar/names/change.h"

/* A part of name_change_run(): looks the prepared name up, and fills the reply. May wait. */
void names_lookup(struct name_change *c);
