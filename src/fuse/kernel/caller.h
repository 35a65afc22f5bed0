/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What /proc says of the thread that made a FUSE request: whether it still wants its answer, and its groups,
 * which FUSE does not tell.
 *
 * The kernel waits for a request that the daemon has read until it is answered, SIGKILL or not
 * (fs/fuse/dev.c request_wait_answer); it tells of the first signal by FUSE_INTERRUPT, whatever that
 * signal is, and of no later one. So /proc must be asked, and now and then again. Any thread.
 *
 * FUSE_INTERRUPT is a hint to ask /proc, no more. The kernel does not send it for asynchronous reads and writes, nor
 * for close at exit. So struct server (io/server.h) asks for each call that has waited for a second
 * (nfs_call.given_up).
 */
#pragma once

#include "base/util.h"

enum caller_state {
	CALLER_WAITS,
	CALLER_KILLED,  /* SIGKILL is pending, as for every signal that ends a process (fatal_signal_pending) */
	CALLER_EXITING, /* closes its files: no signal comes through any more (PF_EXITING) */
	CALLER_UNKNOWN, /* its /proc cannot be seen from here, as of another pid namespace */
};

/* pid is a thread's, as FUSE has it; 0 is one that is not known. */
enum caller_state caller_state(pid_t pid);

/* Whether a signal waits for it that would end its waiting, were it a local filesystem that it waits for. */
bool caller_signalled(pid_t pid);

/*
 * Its supplementary groups, in the kernel's order, as many as there is room for: their number, or a negative errno. Not
 * fuse_req_getgroups(), which has /proc write the same text twice, as its buffer is too small for it.
 */
int caller_groups(pid_t pid, gid_t *ret, int room);
