/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The thread that asks name services. They may keep descriptors in variables of their own (NSS
 * modules do), and a session's thread has a descriptor table of its own where such a number is
 * something else; they need not be thread-safe either (innetgr(3) is not).
 *
 * One for the process, started by the main thread before the first session; one job at a time.
 */
#pragma once

int name_thread_start(void);

/* Runs f(arg) there and waits until it has returned. Without the thread: here. */
void name_thread_run(void (*f)(void *arg), void *arg);
