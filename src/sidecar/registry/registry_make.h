/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The registry as the sidecar makes it at its start (registry_layout.h): the directory, the file of slots, and the
 * socket on which it listens, each with its mark. The directory is kept where it is this sidecar's user's, since the
 * bind mounts of containers follow the inode; file and socket are new each time.
 *
 * Whoever may write in the directory, or list it, can hold its lock for ever. So a child process does all this, with a
 * time limit, as the registry's own user, and nothing is made, removed or renamed there afterwards: a socket
 * that is left behind refuses connections. File and socket get their names when all else is done. The socket's first
 * name cannot be guessed, and the child connects to the inode that it is about to mark and finds itself
 * behind it: nobody can have a socket of his own marked.
 *
 * Once, before the first thread.
 */
#pragma once

#include <sys/types.h>

#include "wire/registry.h"

#ifndef SO_PASSRIGHTS
#define SO_PASSRIGHTS 83 /* Linux 6.16, include/uapi/asm-generic/socket.h */
#endif

struct registry_made {
	int listener;                /* the broker's socket, which listens; non-blocking */
	struct registry_mark socket; /* its inode */
	struct registry_file *file;  /* mapped for as long as the process lives */
};

/* 0, or a negative errno and *fault; -EADDRINUSE: another sidecar listens there. */
int registry_make(const char *path, uid_t uid, gid_t gid, struct registry_made *ret, struct registry_fault *fault);
