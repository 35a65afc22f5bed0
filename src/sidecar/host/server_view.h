/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The mounts that the NFS server's process sees below an export, compared with those that this process sees. Where both
 * see the same mounts, a name leads both to the same file.
 *
 * The process is found by its name in /proc. If several have the name, all must see the same mounts: so a stranger who
 * takes the name can only make the answer false. No state; any thread. Reads /proc, which does not wait for a
 * filesystem.
 */
#pragma once

#include <stdbool.h>

/* process: as in /proc/PID/comm. path: the export's. False also if no such process is visible. */
bool server_view_is_ours(const char *process, const char *path);
