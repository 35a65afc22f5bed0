/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * mount -o remount: changes the flags of the kernel's mount, which need no word with the daemon or
 * the server. Everything else must be as it is, so the daemon is asked how that is.
 */
#pragma once

#include "command.h"

/* EXIT_OK, or after one line on stderr what to exit with. */
int remount(const struct command *c);
