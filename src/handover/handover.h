/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The handover of a FUSE descriptor from the program that mounts (localiofs-mounter) to the daemon, which then needs
 * neither /dev/fuse nor a privilege. The mounter listens on an AF_UNIX stream socket, and the daemon connects:
 *
 *	mounter to daemon    "localiofs-fuse 1 PID-NAMESPACE USER-NAMESPACE\n", with the descriptor (SCM_RIGHTS)
 *	daemon to mounter    HANDOVER_TAKEN
 *
 * The mounter keeps its own descriptor until HANDOVER_TAKEN: a daemon that ends before it has the descriptor does not
 * take the mount along. Both keep the connection open until one of them ends, so each learns of the other's end.
 *
 * The mounter checks the uid of the connecting process (SO_PEERCRED), and the mode of the socket lets all users
 * connect. The daemon checks that the descriptor is one of /dev/fuse with a mount. The pids and ids in FUSE requests
 * are those of the mounter's namespaces, so the mounter names them as /proc/self/ns does, and the daemon compares them
 * with its own.
 *
 * No state; any thread. All functions return 0 or a descriptor, or a negative errno and a sentence for people.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define HANDOVER_OFFER "localiofs-fuse 1 "
#define HANDOVER_TAKEN 'T'

struct handover {
	int fuse_fd;        /* the caller's */
	bool foreign_users; /* the mount was made in another user namespace than the daemon's */
	bool foreign_pids;  /* ... in another pid namespace */
};

/* Listens on the path. Replaces a socket at this path on which no process listens any more. */
int handover_listen(const char *path, char *sentence, size_t size);

/* Closes the listener, and removes its socket from the path, unless the path has another file by now. */
void handover_end(int listener, const char *path);

/*
 * Waits until a process of this uid has taken the descriptor; closes the connections of other users. Returns the
 * connection; -ETIMEDOUT after timeout_ms (-1: never); -ECANCELED when stop_fd becomes readable.
 */
int handover_give(int listener, int fuse_fd, uid_t uid, int timeout_ms, int stop_fd, char *sentence, size_t size);

/*
 * Connects to the path, and waits up to timeout_ms until a mounter listens there and has sent the descriptor of a
 * mount. Returns the connection, which the caller keeps open.
 */
int handover_take(const char *path, int timeout_ms, struct handover *ret, char *sentence, size_t size);
