/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The handlers of extended attributes; over NFSv3 these are only POSIX ACLs. No state: libfuse's table of handlers is
 * constant once the FUSE session is made. Handlers run on any of libfuse's threads, and no handler waits.
 */
#pragma once

#include "fuse/fs/fs.h"

void acl_set_operations(struct fuse_lowlevel_ops *ops);
