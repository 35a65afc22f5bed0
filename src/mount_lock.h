/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A lock per mount point, so that the check whether a mount exists and the mounting are one step. Only root takes it:
 * if other users could open the file, they could hold the lock for ever. The state is the kernel's lock; one thread.
 */
#pragma once

#include "base/util.h"

#define MOUNT_LOCK_PATH "/run/localiofs.lock"

/*
 * Waits while another process has the lock of the directory (absolute, no links). Returns a descriptor, which holds the
 * lock until it and its copies are closed, or -1 if the lock cannot be had: then mounting goes on without it.
 */
int mount_lock(const char *directory);
