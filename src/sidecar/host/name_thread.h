/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The thread that asks name services. NSS modules keep descriptors in variables, and in a session's own descriptor
 * table such a number is another file; and some functions are not thread-safe (innetgr(3) for example). So a single
 * thread asks, one job after the other.
 *
 * The process has one such thread, which the main thread starts before the first session. A mutex guards its queue.
 */
#pragma once

/* 0, or a negative errno if no thread can be made. */
int name_thread_start(void);

/* Runs f(arg) on the name thread and waits for its end. Before name_thread_start(), f runs on the calling thread. */
void name_thread_run(void (*f)(void *arg), void *arg);
