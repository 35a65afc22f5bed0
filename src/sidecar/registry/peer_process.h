/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The process behind an AF_UNIX connection: the pid of SO_PEERCRED may belong to another process by now. No state; any
 * thread.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

/* True if the process that connected, or called listen(2), has not been reaped yet. Always true before Linux 6.5. */
bool peer_process_is_there(int socket);

/* True if the process, by its number for this one, has a thread of that number, and this process may signal it. */
bool peer_process_has_thread(pid_t process, pid_t thread);
