/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Reads and writes files as a whole: all bytes, with as many system calls as needed. Any thread may call. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * Reads a file from its beginning, at most size - 1 bytes, and adds a NUL. Returns the number of bytes without the NUL,
 * or a negative errno.
 */
ssize_t read_small_file(const char *path, char *buf, size_t size);

/*
 * Reads the number of a line "NAME:\tNUMBER" of /proc/PID/fdinfo (proc(5)) for a descriptor of the calling thread.
 * -ENOENT if /proc is not mounted; -ENODATA if the kernel has no such line for this kind of descriptor.
 */
int read_fdinfo(int fd, const char *name, uint64_t *ret);

/* Writes all bytes; 0 or a negative errno. */
int write_all(int fd, const void *buf, size_t len);
