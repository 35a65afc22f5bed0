/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The handlers of lock requests: GETLK, SETLK, SETLKW and FLOCK. libfuse's table of handlers is constant once the
 * session is made. Handlers run on any of libfuse's threads, and never block them.
 */
#pragma once

#include "fuse/fs/fs.h"

/* Sets the handlers, except those for the kinds of locks that the kernel keeps by itself (nolock, local_lock). */
void lock_requests_set_operations(const struct fs *fs, struct fuse_lowlevel_ops *ops);
