/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Files by their names in a directory, as the sidecar opens them, and the daemon what it has made. No state; any
 * thread. May wait for a disk.
 */
#pragma once

#include <stdint.h>

/*
 * Opens the file that has the plain name in the directory, with the thread's present credentials: an O_PATH descriptor,
 * which opens no device, follows no symbolic link and waits for no lease. -EXDEV for a mount point, or another negative
 * errno.
 */
int names_open(int dir, const char *name);

/*
 * Opens the directory of that name for reading, as names_open() does, with O_NOATIME. -EPERM without CAP_FOWNER.
 */
int names_open_directory(int dir, const char *name);

/* BROKER_ATTR_EMPTY, if the directory behind this descriptor, which is not O_PATH, has no name; or 0. */
uint32_t names_directory_empty(int fd);
