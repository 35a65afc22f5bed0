/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The registry as a client sees it (registry_layout.h): what makes it worth trusting, before a client says anything.
 *
 * /dev/shm is open to everyone, so anyone could have made the directory first, or could have mounted a file system of
 * his own on it that answers nothing. So the mount table says that the directory lies on tmpfs before any call
 * that a file system could answer; from then on each call is answered by this kernel, at once. A mark says
 * that a sidecar made the directory, the socket and the file. What follows is done relative to the descriptors, and
 * a socket is connected to through the descriptor that was looked at: a name can be given to something else.
 *
 * Functions return a descriptor or a negative errno, and then *fault says why: the reason that
 * travels and is shown, and a sentence with the path, what was found and what would be right.
 * No state; safe from any thread.
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
 * O_PATH descriptor of a directory on tmpfs, whoever made it; no symbolic link, and no link of /proc on the way there.
 * -ENOENT and REASON_NO_REGISTRY, else REASON_BAD_REGISTRY or REASON_NO_PROC.
 */
int registry_open_place(const char *path, struct registry_fault *fault);

/* The same of a directory that a sidecar made, and that nobody else may write. */
int registry_open(const char *path, struct registry_fault *fault);

/*
 * O_PATH descriptor of the socket of a sidecar, to be connected to by registry_socket_address(), and the mark that it
 * carries. -ENOENT and REASON_NO_BROKER, else REASON_BAD_BROKER, REASON_NO_PERMISSION, REASON_NO_PROC.
 */
int registry_open_socket(int registry, struct registry_mark *ret_mark, struct registry_fault *fault);

/* The address of what a descriptor of this process is: good while that is open. */
void registry_socket_address(int socket, struct sockaddr_un *ret);

/* One slot of the file "registry"; 0, or a negative errno and REASON_BAD_REGISTRY. */
int registry_read_slot(int registry, uint32_t slot, struct registry_slot *ret, struct registry_fault *fault);

/* The mark that an inode must carry, from fstat(2) of it. */
int registry_mark_of(int fd, struct registry_mark *ret);

/* The machine's boot id in binary; what the header of the file carries. */
int boot_id_read(uint8_t ret[16]);
