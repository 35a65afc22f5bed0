/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * What clients may hold of the sidecar and, by backing ids, of the kernel's memory: sessions and ids, in all, per
 * uid and per client.
 *
 * A client is what one cgroup is: the first directory on the way from the root of the v2 hierarchy to that of the
 * process which connected that is not root's, or its own when all are. Nobody leaves that without being root: below
 * it a user may make cgroups as he likes, and pid and user namespaces cost nothing, so they are not looked at.
 * Whose cgroup cannot be told (the process is of a pid namespace that the sidecar does not see, or there is no v2
 * hierarchy) is of one client with all others of whom it cannot. A connection whose process has ended already is
 * refused. So what can be told apart: containers, system services, the logins of one user from those of another,
 * whatever subuids he has. What cannot: two uids that share a cgroup, but as uids; what a root that may write to
 * cgroupfs has moved to another cgroup. uid 0 and all others are counted apart, half of all for each of the two, so
 * that nobody who has only subuids can take a place of root's. All containers have uid 0: those that have it are told
 * apart as clients alone.
 *
 * An id counts until it is given back or its FUSE connection is gone. For that each connection has a witness, an
 * empty, sealed and nameless file that is registered as the first id and that nobody but the connection holds: the
 * kernel drops the ids when it frees the connection, later than the mount's end when somebody keeps a /dev/fuse
 * descriptor, and then tells the inotify instance that watches the file (IN_DELETE_SELF). Nothing is guessed, and
 * no descriptor of the client's is kept, which would turn the death of its daemon into a hang. A witness costs as
 * much as ACCOUNT_CONNECTION ids.
 *
 * A later session of the same connection counts with the first. The same it is when the kernel says so of the
 * descriptor (/proc/PID/fdinfo, "fuse_connection:", a device number that is used again once the mount has gone),
 * the directory of that number in fusectl is the same inode, and the connection is not aborted after that was read:
 * so the mount is still there, and its number nobody else's. Where the kernel does not say, each session is a
 * connection of its own, and what a later one gives back for an earlier counts until the connection is gone. Ids of
 * an earlier sidecar are not known: they do not count, and when they are given back that is taken for one that
 * does.
 *
 * Any thread; the mutex guards everything below it and the counts in sessions. Never held across a call that can
 * wait.
 */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/list.h"
#include "base/util.h"

#define ACCOUNT_SESSIONS      256   /* half of them uid 0's, and of each half ... */
#define ACCOUNT_SESSIONS_ONE  112   /* ... at most these one client's, and one uid's other than 0 */
#define ACCOUNT_UNMATCHED_ONE 32    /* of one uid, of uid 0 one client's, before their match */
#define ACCOUNT_IDS           65536 /* in the same way; 700 bytes of the kernel's memory each */
#define ACCOUNT_IDS_ONE       28672
#define ACCOUNT_CONNECTION    32 /* ids that one FUSE connection counts as */

struct account {
	int inotify_fd; /* watches the witnesses; -1: ids cannot be counted, none are given */
	int fusectl_fd; /* a private instance of fusectl; -1: this kernel does not tell connections apart */
	pthread_mutex_t lock;
	struct list tallies;
	struct list connections;
	unsigned sessions[2], ids[2]; /* [1]: of uid 0 */
};

/* One session's part in it; whoever has the session owns it. */
struct account_session {
	uid_t uid; /* of the peer when it connected, SO_PEERCRED */
	pid_t pid;
	bool matched;
	unsigned held; /* places that are neither given back nor ids */
	struct tally *of_uid, *of_client;
	struct account_connection *connection; /* what its ids belong to; NULL: it gets none */
};

/* Always succeeds; what cannot be had is logged. Before threads. */
void account_init(struct account *a);

/*
 * Sets *ret from the connected socket, and counts it. 0; -EUSERS when that would be too many, -ESRCH when the process
 * has ended, -ENOMEM: nothing is counted.
 */
int account_begin(struct account *a, int socket, struct account_session *ret);
void account_matched(struct account *a, struct account_session *s);
/* The session is over and its descriptor closed. Its ids go on counting. */
void account_end(struct account *a, struct account_session *s);

/*
 * The session's thread, whose descriptor table must have both descriptors of the account under their numbers: the
 * session registers ids on this descriptor from now on, which fuse_device_identify() has taken for a mount's. 0;
 * -ENOTCONN when the mount has gone; or it gets no ids: -EUSERS, -ENOMEM, or an errno of the kernel's.
 */
int account_connect(struct account *a, struct account_session *s, int fuse_fd);

/* Before an id is registered or a descriptor sent away: a place for it, the session's until it ends. 0, or -EUSERS. */
int account_take(struct account *a, struct account_session *s);
void account_give(struct account *a, struct account_session *s);

/* The place has become an id: it is the connection's from now on. */
void account_keep(struct account *a, struct account_session *s);
/* An id was closed; own: one that this session had registered. */
void account_closed(struct account *a, struct account_session *s, bool own);

/* True for a number that clients cannot give back, because a witness has it. */
bool account_is_witness(struct account *a, const struct account_session *s, int32_t id);
