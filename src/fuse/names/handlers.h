/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The handlers of names and attributes. Each file has one function that puts the file's handlers into libfuse's table.
 * No state: the table is constant once the FUSE session is made. Handlers run on any of libfuse's threads, and no
 * handler waits.
 */
#pragma once

#include "fuse/fs/fs.h"

void names_set_operations(struct fuse_lowlevel_ops *ops);
void attributes_set_operations(struct fuse_lowlevel_ops *ops);
