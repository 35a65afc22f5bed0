/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The handlers of extended attributes, which over NFSv3 are POSIX ACLs and nothing else. libfuse's table of handlers is
 * constant once the session is made; handlers run on any of libfuse's threads, and none of them waits.
 */
#pragma once

#include "fuse/fs/fs.h"

void acl_set_operations(struct fuse_lowlevel_ops *ops);
