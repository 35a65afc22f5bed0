/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Whether a file has an access ACL: BROKER_ATTR_NO_ACL if the filesystem has none for the file, else 0, as the sidecar
 * tells its clients, and as a daemon that the sidecar trusts finds out by itself. NFS-Ganesha without ACLs goes by the
 * mode also where there is an ACL, so 0 decides nothing. No state; any thread. May wait for a disk.
 */
#pragma once

#include <stdint.h>

/* Of the directory behind this descriptor, which may be O_PATH. */
uint32_t access_acl_of_directory(int fd);

/* Of any file, at the cost of a path. */
uint32_t access_acl_of_file(int fd);
