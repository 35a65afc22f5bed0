/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* Transfers all bytes with several calls of read(2) or write(2), and continues after a signal. Any thread may call. */
#pragma once

#include <stddef.h>
#include <sys/types.h>

/*
 * Reads a file from its beginning, at most size - 1 bytes, and adds a NUL. Returns the number of bytes without the NUL,
 * or a negative errno.
 */
ssize_t read_small_file(const char *path, char *buf, size_t size);

/* Writes all bytes; 0 or a negative errno. */
int write_all(int fd, const void *buf, size_t len);
