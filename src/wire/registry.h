/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The client's view of the registry (registry_layout.h): the checks that a client makes before it trusts a registry.
 *
 * Every user may write to /dev/shm, so any user may have made the directory, or may have mounted a filesystem on it
 * that never answers. Therefore the mount table must show that the directory lies on tmpfs, before any call that a
 * filesystem answers; all later calls are answered by this kernel, at once. A mark proves that a sidecar made the
 * directory, the socket or the file. All further calls are relative to the checked descriptors, and a client connects
 * to the socket through the checked descriptor, since a name could lead to another inode by then.
 *
 * The functions return a descriptor or 0, or a negative errno with *fault: the reason, and a sentence with the path,
 * the value that was found, and the value that was expected. No state; any thread.
 */
#pragma once

#include <sys/types.h>
#include <sys/un.h>

#include "localiofs/reason.h"
#include "localiofs/registry_layout.h"

struct registry_fault {
	enum reason reason;
	char text[256];
};

/*
 * An O_PATH descriptor of a directory on tmpfs, of any owner. The directory itself must not be a symbolic link, and no
 * part of the path may be a magic link of /proc. -ENOENT with REASON_NO_REGISTRY, else REASON_BAD_REGISTRY or
 * REASON_NO_PROC.
 */
int registry_open_place(const char *path, struct registry_fault *fault);

/* The same for a directory that a sidecar made, and that only its owner may write to. */
int registry_open(const char *path, struct registry_fault *fault);

/*
 * An O_PATH descriptor of the sidecar's socket, and the socket's mark. registry_socket_address() gives the address to
 * connect to. -ENOENT with REASON_NO_BROKER, else REASON_BAD_BROKER, REASON_NO_PERMISSION, REASON_NO_PROC.
 */
int registry_open_socket(int registry, struct registry_mark *ret_mark, struct registry_fault *fault);

/* The address of the socket behind an O_PATH descriptor of this process. Valid while the descriptor is open. */
void registry_socket_address(int socket, struct sockaddr_un *ret);

/* Reads one slot of the file "registry". 0, or a negative errno with REASON_BAD_REGISTRY. */
int registry_read_slot(int registry, uint32_t slot, struct registry_slot *ret, struct registry_fault *fault);

/* The valid mark of an inode, made from its fstat(2). */
int registry_mark_of(int fd, struct registry_mark *ret);

/* The kernel's boot id in binary, as the header of the file "registry" has it. */
int boot_id_read(uint8_t ret[16]);
