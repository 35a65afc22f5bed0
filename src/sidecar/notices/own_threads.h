/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The threads that make the changes of one session's client, which needs no notice of these: it has the reply, and
 * looks again where it gets none. They are threads of the sidecar, and the setter of the client (struct broker_hello).
 * Threads are added before their first change, and live as long as the listener. All members are atomic; any thread.
 *
 * The client knows the directories that its setter makes, without a reply: so they are watched from the beginning, by
 * the event of their making, which comes before all events of the new directory itself.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <sys/types.h>

#define OWN_THREADS 19 /* the session's two, its workers, and one of the client's */

struct own_threads {
	atomic_uint count;
	atomic_int ids[OWN_THREADS];
	atomic_int setter; /* one of these; 0: none */
};

/* Adds a thread, by its number in this process's pid namespace. If there are too many, its changes are noticed. */
void own_threads_add(struct own_threads *own, pid_t thread);
void own_threads_add_setter(struct own_threads *own, pid_t thread);

bool own_threads_have(const struct own_threads *own, pid_t thread);
bool own_threads_have_setter(const struct own_threads *own);
bool own_threads_is_setter(const struct own_threads *own, pid_t thread);
