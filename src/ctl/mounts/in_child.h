/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * System calls that a hanging mount may keep waiting, made in a child process with a time limit. No state; for programs
 * with one thread.
 */
#pragma once

#include <sys/types.h>

#define IN_CHILD_SECONDS 5

/*
 * Runs a function in a child process, without standard input and output, and takes the bytes that it writes to the
 * descriptor. Returns their number, an errno of pipe2(2) or fork(2), or -ETIMEDOUT after IN_CHILD_SECONDS: it kills the
 * child then, which ends when the mount's daemon answers or ends.
 */
ssize_t in_child(void (*run)(int to, const void *arg), const void *arg, void *buf, size_t size);
