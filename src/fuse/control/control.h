/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The ioctls on the mount's root (localiofs/control.h) by which localioctl and a remount ask the daemon, and change its
 * options. The handler runs on any of libfuse's threads. No state of its own.
 */
#pragma once

#include "fuse/fs/fs.h"

void control_set_operations(struct fuse_lowlevel_ops *ops);
