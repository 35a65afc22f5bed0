/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The status of a mount, for localioctl: an ioctl on the mount's root. The handler runs on any of libfuse's threads,
 * and reads counters that are atomic and parts that guard themselves.
 */
#pragma once

#include "fuse/fs/fs.h"

void status_set_operations(struct fuse_lowlevel_ops *ops);
