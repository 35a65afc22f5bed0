/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A change of attributes, as struct broker_setattr names it: the sidecar makes it for any client, and a daemon that the
 * sidecar trusts by itself. All other changes are the NFS server's. No state; any thread.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "localiofs/broker_protocol.h"

/*
 * True if one system call makes the whole change, so that all is set, or nothing: one kind of attributes, with times
 * that NFSv3 has.
 */
bool setattr_is_whole(const struct broker_setattr *q);

/* True if neither the file's mode nor the new mode has set-id bits, for which the servers have rules of their own. */
bool setattr_leaves_set_id(const struct broker_setattr *q, mode_t mode);

/*
 * Makes the change to the file behind a descriptor of this thread's table, which may be O_PATH, with the thread's
 * credential. 0 or a negative errno. May wait, for the file's lock or for its filesystem.
 */
int setattr_apply(int fd, const struct broker_setattr *q);
