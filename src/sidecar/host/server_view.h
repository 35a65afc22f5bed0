/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The mounts that the NFS server's process sees below an export, compared with those that this process sees. Where both
 * see the same mounts, a name leads both to the same file.
 *
 * The process is found by its name in /proc. If several have the name, all must see the same mounts: so a stranger who
 * takes the name can only make the answer false.
 *
 * All sessions share what was found out: the processes for VIEW_SCAN_MS, unless one of them has ended, that there is
 * none for VIEW_ANSWER_MS, and the answer per path for VIEW_ANSWER_MS. Any thread; a lock of its own, under which /proc
 * is read, which does not wait for a filesystem.
 */
#pragma once

#include <stdbool.h>

#define VIEW_SCAN_MS   5000
#define VIEW_ANSWER_MS 1000

/* process: as in /proc/PID/comm. path: the export's. False also if no such process is visible. */
bool server_view_is_ours(const char *process, const char *path);

/* This process's mounts have changed: the next answers are new ones. */
void server_view_forget(void);
