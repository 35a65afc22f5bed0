/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The handlers of OPEN, CREATE and RELEASE. No state: libfuse's table of handlers is constant once the FUSE session is
 * made. Handlers run on any of libfuse's threads, and no handler waits.
 */
#pragma once

#include "fuse/fs/fs.h"

void op_create(fuse_req_t req, fuse_ino_t parent, const char *name, mode_t mode, struct fuse_file_info *fi);
void op_release(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi);

void open_set_operations(struct fuse_lowlevel_ops *ops);
