/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A thread that is some user below some root directory: credentials, root, working directory and
 * umask are its own, descriptors and memory are shared. Threads, because forking for each change of
 * user would take most of the time. Used by one thread, which waits for whatever it asks.
 */
#pragma once

#include <sys/types.h>

struct user {
	const char *name;
	uid_t uid;
	gid_t gid;
	gid_t groups[4];
	unsigned ngroups;
};

struct worker;

/* Negative errno when the thread cannot be made, reach the root, or become the user. */
int worker_new(const struct user *user, const char *root, struct worker **ret);

/* Runs fn(arg) on the worker and returns when it has. */
void worker_run(struct worker *w, void (*fn)(void *arg), void *arg);

/* Takes NULL; returns NULL. */
struct worker *worker_free(struct worker *w);
