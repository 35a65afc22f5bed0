/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Makes the registry at the sidecar's start (registry_layout.h): the directory, the file of slots, and the listening
 * socket, each with its mark. A directory of the registry's user is kept, since the bind mounts of containers follow
 * the inode; the file and the socket are always new.
 *
 * A process that may write to the directory, or list it, can hold its lock for ever. So a child process, with the
 * credentials of the registry's user and within a time limit, makes everything, and the sidecar itself makes, removes
 * and renames nothing in the directory: after its end a socket remains, which refuses connections. The file and
 * the socket get their final names last. The first name of the socket cannot be guessed, and before the child marks the
 * inode, it connects to the inode and checks that it is itself the listener. So no other process can get a mark on its
 * own socket.
 *
 * Called before the first thread, and again when the registry was removed. No state; any thread, while no other thread
 * makes the same registry.
 */
#pragma once

#include <sys/types.h>

#include "wire/registry.h"

#ifndef SO_PASSRIGHTS
#define SO_PASSRIGHTS 83 /* Linux 6.16, include/uapi/asm-generic/socket.h */
#endif

struct registry_made {
	int listener;                /* the broker's listening socket; non-blocking */
	struct registry_mark socket; /* the socket's inode */
	struct registry_file *file;  /* mapped; the caller unmaps it */
};

/* 0, or a negative errno with *fault; -EADDRINUSE: another sidecar listens on the registry's socket. */
int registry_make(const char *path, uid_t uid, gid_t gid, struct registry_made *ret, struct registry_fault *fault);
