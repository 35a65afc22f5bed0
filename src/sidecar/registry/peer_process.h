/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The process behind an AF_UNIX connection: the pid of SO_PEERCRED may belong to another process by now. No state; any
 * thread.
 */
#pragma once

#include <stdbool.h>

/* True if the process that connected, or called listen(2), has not been reaped yet. Always true before Linux 6.5. */
bool peer_process_is_there(int socket);
