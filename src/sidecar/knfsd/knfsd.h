/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The kernel's NFS server with nfs-utils' mountd, as a kind of server; Linux 6.1 to 7.2. A constant table of functions.
 * One function has state: managed_groups remembers, in atomics, whether the kernel has ever known a caller's groups.
 */
#pragma once

#include "sidecar/exports/server_kind.h"

extern const struct server_kind server_knfsd;
