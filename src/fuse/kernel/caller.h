/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The state and the groups of the thread that made a FUSE request, read from /proc: whether the thread still waits for
 * the answer, and its supplementary groups, which FUSE requests do not carry.
 *
 * Once the daemon has read a request, the calling thread waits for its answer even after SIGKILL (fs/fuse/dev.c
 * request_wait_answer). The kernel sends one FUSE_INTERRUPT for the first signal, whichever signal that is, and none
 * for later signals. So FUSE_INTERRUPT is only a hint to read /proc, and the daemon must read /proc again from time to
 * time. The kernel sends no FUSE_INTERRUPT for asynchronous reads and writes, nor for close at exit. So struct server
 * asks for each call that has waited for a second (nfs_call.given_up).
 *
 * Any thread may call the functions. The only state is a descriptor per thread that has asked for groups.
 */
#pragma once

#include "base/util.h"

enum caller_state {
	CALLER_WAITS,
	CALLER_KILLED,  /* SIGKILL is pending, as for every signal that ends a process (fatal_signal_pending) */
	CALLER_EXITING, /* exits and closes its files: no signal reaches it any more (PF_EXITING) */
	CALLER_UNKNOWN, /* the daemon cannot see its /proc, for example in another pid namespace */
};

/* pid: the thread id in the FUSE request; 0 if the kernel does not know it. */
enum caller_state caller_state(pid_t pid);

/* True if a pending signal would interrupt the caller's wait on a local filesystem. */
bool caller_signalled(pid_t pid);

/*
 * True if the caller has CAP_SYS_ADMIN in this process's user namespace, and is in this process's pid namespace. False
 * if its /proc is not visible. The caller waits for an answer, so that the pid is its own until then.
 *
 * The daemon may not read a link below /proc/PID/ns of a process with more capabilities, so the user namespace is known
 * by its map of uids. Making another namespace with the same map needs CAP_SETUID in this one (new_idmap_permitted in
 * kernel/user_namespace.c). Who does that inside this pid namespace may also end this process by kill(2).
 */
bool caller_is_admin(pid_t pid);

/*
 * Reads the caller's supplementary groups, in the kernel's order, room of them at most. Returns their number, or a
 * negative errno. fuse_req_getgroups() is slower: its buffer is too small for the file, so /proc writes the text twice,
 * and it opens the file for each request.
 */
int caller_groups(pid_t pid, gid_t *ret, int room);

/*
 * The same for the caller of an earlier request, who had these filesystem ids. -ESRCH if the thread has others by now:
 * then the number may be another's. A thread of the same user and group may stand for one that has ended.
 */
int caller_groups_if(pid_t pid, uid_t uid, gid_t gid, gid_t *ret, int room);
