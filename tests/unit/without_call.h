/* SPDX-License-Identifier: LGPL-2.1-or-later */
/* A process without a system call: on an old kernel, or in a container that does not allow the call. */
#pragma once

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/util.h"

/* From now on the calling process gets this error from the system call. */
static inline bool deny_call(unsigned call, int error)
{
	struct sock_filter lines[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (uint32_t)error),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog filter = {.len = ARRAY_SIZE(lines), .filter = lines};

	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
	       prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0 && syscall(call, -1, NULL, 0, 0, 0, 0) < 0 &&
	       errno == error;
}

/* True if the check holds in a child that gets this error from the system call. */
static inline bool without_call(unsigned call, int error, bool (*check)(void))
{
	int status = -1;
	pid_t child = fork();

	if (child == 0)
		_exit(deny_call(call, error) && check() ? 0 : 1);
	return child > 0 && waitpid(child, &status, 0) == child && status == 0;
}
