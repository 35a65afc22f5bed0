/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * mount -o remount: changes the flags of the kernel's mount, which neither the daemon nor the server need to know. All
 * other options of the command line must be those of the running mount, so the daemon is asked for its options; those
 * of the defaults file are ignored. No state; one thread.
 */
#pragma once

#include "command.h"

/* EXIT_OK, or another exit code after one line on stderr. */
int remount_run(const struct command *c);
