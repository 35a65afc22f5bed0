/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* The process behind an AF_UNIX connection: SO_PEERCRED tells its number, which may be another process's by now. Any
 * thread. */
#pragma once

#include <stdbool.h>

/* True while the process that connected, or called listen(2), has not been reaped; always before Linux 6.5. */
bool peer_process_is_there(int socket);
