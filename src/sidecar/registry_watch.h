/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Makes a registry again that was removed while the sidecar runs: without it no mount can become local any more.
 * inotify reports that the directory, the socket or the file is gone. Then the broker's listener is closed, and a
 * thread of its own makes all anew (registry_make.h), since a hostile process can delay that for TIME_LIMIT_MS.
 * Sessions go on. A registry is made at most every REGISTRY_WATCH_MS; after a failure SIGHUP tries again.
 *
 * Containers' bind mounts follow the inode: they have the old directory until they are started again.
 *
 * Main thread only; the threads touch nothing but the result of their own registry.
 */
#pragma once

#include "sidecar/broker/broker.h"
#include "sidecar/sidecar_options.h"

#define REGISTRY_WATCH_MS  3000
#define REGISTRY_SETTLE_MS 1000 /* after its end: rm -r is over then */

struct registry_watched {
	struct broker *broker;
	const char *path;
	uid_t uid;
	gid_t gid;
	int watch;        /* inotify's; -1: none */
	uint64_t next_ms; /* now_ms() of the next attempt, at the earliest */
	bool gone;        /* to be made again */
	bool failed;      /* ... at SIGHUP */
	bool runs;        /* the thread */
	pthread_t thread;
	struct wake done; /* of struct registry_watch */
	/* the thread's result, which the main thread reads when ended is true */
	atomic_bool ended;
	int result;
	struct registry_made made;
	struct registry_fault fault;
};

struct registry_watch {
	int inotify_fd;   /* to be polled; -1: nothing is watched */
	struct wake done; /* to be polled */
	struct registry_watched list[SIDECAR_REGISTRIES];
	unsigned count;
};

/* 0 or a negative errno. */
int registry_watch_start(struct registry_watch *w);
/* Watches a registry that was just made, of a broker that was just started. */
void registry_watch_add(struct registry_watch *w, struct broker *b, uid_t uid, gid_t gid);
/* Call when one of the descriptors is readable, and when the time of registry_watch_wait() is over. */
void registry_watch_event(struct registry_watch *w);
/* SIGHUP: tries again what has failed. */
void registry_watch_retry(struct registry_watch *w);
/* The time until the next call of registry_watch_event() in milliseconds, or -1. */
int registry_watch_wait(const struct registry_watch *w);
