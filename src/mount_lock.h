/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * One mount at a time on one directory, so that looking whether something is mounted there and
 * mounting it are one step. For root only: what others can open they could also hold for ever.
 */
#pragma once

#include "base/util.h"

#define MOUNT_LOCK_PATH "/run/localiofs.lock"

/*
 * Waits while another process has the directory (absolute, no links). Returns a descriptor that
 * holds the lock until it and its copies are closed, or -1 where there is none to be had: mounting
 * goes on without.
 */
int mount_lock(const char *directory);
