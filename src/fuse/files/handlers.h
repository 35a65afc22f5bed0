/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The handlers of open files, one function per file that puts its own into libfuse's table. The table is constant once
 * the session is made; handlers run on any of libfuse's threads, and none of them waits.
 */
#pragma once

#include "fuse/fs/fs.h"

void read_set_operations(struct fuse_lowlevel_ops *ops);
void write_set_operations(struct fuse_lowlevel_ops *ops);
void ranges_set_operations(struct fuse_lowlevel_ops *ops);
void sync_set_operations(struct fuse_lowlevel_ops *ops);
