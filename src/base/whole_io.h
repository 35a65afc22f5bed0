/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* read(2) and write(2) until everything is transferred, also through signals. Any thread. */
#pragma once

#include <stddef.h>
#include <sys/types.h>

/*
 * Reads a file from its beginning, at most size - 1 bytes, and puts a NUL behind them. Returns how many bytes, or a
 * negative errno.
 */
ssize_t read_small_file(const char *path, char *buf, size_t size);

/* Writes all bytes; 0 or a negative errno. */
int write_all(int fd, const void *buf, size_t len);
