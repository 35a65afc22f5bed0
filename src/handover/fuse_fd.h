/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A descriptor of /dev/fuse that another program has opened, and has mounted already. No state; any thread. sentence:
 * the caller's buffer, which gets the reason of a failure.
 */
#pragma once

#include <stddef.h>

/*
 * Checks that the descriptor belongs to a FUSE mount. -EBADF: not an open descriptor. -ENOTTY: not /dev/fuse.
 * -ENOTCONN: the descriptor was not used for a mount, or its mount has ended (fs/fuse/dev.c fuse_dev_poll).
 */
int fuse_fd_check(int fd, char *sentence, size_t size);

/* The device number of the descriptor's mount, "major:minor"; empty if the kernel does not tell the number. */
void fuse_fd_device(int fd, char *ret, size_t size);
