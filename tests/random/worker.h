/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A thread that works as a user below a root directory. It has its own credentials, root directory, working directory
 * and umask, and shares descriptors and memory. A fork(2) for each change of user would take most of the time.
 *
 * One thread uses a worker and waits for each result.
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

/* 0, or a negative errno if the thread cannot be made, reach the root directory, or become the user. */
int worker_new(const struct user *user, const char *root, struct worker **ret);

/* Runs fn(arg) on the worker, and returns when fn has returned. */
void worker_run(struct worker *w, void (*fn)(void *arg), void *arg);

/* Takes NULL; returns NULL. */
struct worker *worker_free(struct worker *w);
