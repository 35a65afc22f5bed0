/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The account of all clients: counts and limits sessions and backing ids (which use kernel memory), in total, per uid
 * and per client.
 *
 * A client is a cgroup: on the way from the root of the v2 hierarchy to the cgroup of the connecting process, the first
 * directory that does not belong to root; if all belong to root, the process's own cgroup. Only root can leave this
 * cgroup. Cgroups below it, pid namespaces and user namespaces can be made without limit, so they do not count. All
 * processes with an unknown cgroup (in a pid namespace that the sidecar does not see, or without a v2 hierarchy) are
 * one client. A connection whose process has already ended is refused.
 *
 * So containers, system services and the logins of different users are different clients, whatever subuids they have.
 * Two uids in one cgroup are one client. A root that may write to cgroupfs can move processes to other clients. uid 0
 * and all other uids have separate counts, each with one half of the limits, so that users with subuids cannot use up
 * root's half. uid 0 exists in all containers, so processes with uid 0 are limited per client only.
 *
 * An id counts until the client gives it back, or until its FUSE connection is freed. To see the latter, each
 * connection has a witness: an empty, sealed file without a name, which is registered as the first id, so that only the
 * connection refers to it. The kernel drops the ids when it frees the connection (later than the mount's end, if a
 * process keeps a /dev/fuse descriptor), and inotify then reports IN_DELETE_SELF for the witness. The sidecar keeps no
 * /dev/fuse descriptor for this: with such a descriptor, the mount of a dead daemon would hang. A witness counts as
 * ACCOUNT_CONNECTION ids.
 *
 * Later sessions of the same FUSE connection share its count. Two sessions have the same connection if the kernel
 * reports the same number for their descriptors (/proc/PID/fdinfo, "fuse_connection:"; a device number, which is reused
 * after the mount's end), if the directory of that number in fusectl is the same inode, and if the connection is not
 * aborted afterwards: then the mount still exists, and the number has not been reused. If the kernel reports no number,
 * each session counts as a connection of its own, and ids that a later session gives back count until the connection is
 * freed. Ids of an earlier sidecar process are unknown: they do not count, and when the client gives such an id back,
 * the count decreases nevertheless.
 *
 * Any thread. The mutex guards all fields below it and the counts in sessions. It is never held across a call that can
 * wait.
 */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/list.h"
#include "base/util.h"

#define ACCOUNT_SESSIONS      480   /* in total: one half for uid 0, the other half for all other uids */
#define ACCOUNT_SESSIONS_ONE  208   /* of one client, and of one uid other than 0, in its half */
#define ACCOUNT_UNMATCHED_ONE 32    /* before their match: of one uid, or of one client with uid 0 */
#define ACCOUNT_IDS           65536 /* as ACCOUNT_SESSIONS; each id costs 700 bytes of kernel memory */
#define ACCOUNT_IDS_ONE       28672 /* as ACCOUNT_SESSIONS_ONE */
#define ACCOUNT_CONNECTION    32    /* a FUSE connection counts as so many ids */

struct account {
	int inotify_fd; /* watches the witnesses; -1: ids cannot be counted, so the sidecar gives none */
	int fusectl_fd; /* a private instance of fusectl; -1: FUSE connections cannot be identified */
	pthread_mutex_t lock;
	struct list tallies;
	struct list connections;
	unsigned sessions[2], ids[2]; /* [1]: of uid 0; [0]: of all other uids */
};

/* One session's part of the account. Belongs to the session's owner. */
struct account_session {
	uid_t uid; /* of the client when it connected, SO_PEERCRED */
	pid_t pid;
	bool matched;
	unsigned held; /* places from account_take() that were neither given back nor became ids */
	struct tally *of_uid, *of_client;
	struct account_connection *connection; /* the FUSE connection of the session's ids; NULL: it gets no ids */
};

/* Cannot fail: the log says which parts are missing. Call before the first thread. */
void account_init(struct account *a);

/*
 * Counts a session for the process that connected the socket, and sets *ret. 0; without counting: -EUSERS at a limit
 * (with ret->uid and ret->pid), -ESRCH if the process has ended, -ENOMEM.
 */
int account_begin(struct account *a, int socket, struct account_session *ret);
/* The session has its match, and counts no longer as unmatched. */
void account_matched(struct account *a, struct account_session *s);
/* Ends the session, whose /dev/fuse descriptor is closed already. Its ids still count. */
void account_end(struct account *a, struct account_session *s);

/*
 * Connects the session's ids with fuse_fd, which fuse_device_identify() has accepted. For a session's thread, whose
 * descriptor table must have both descriptors of the account under the same numbers. 0; -ENOTCONN if the mount is gone;
 * -EUSERS, -ENOMEM or another errno: the session gets no ids.
 */
int account_connect(struct account *a, struct account_session *s, int fuse_fd);

/* Takes a place for an id or a descriptor, before it is made. The place counts for the session. 0 or -EUSERS. */
int account_take(struct account *a, struct account_session *s);
/* Gives a place back. */
void account_give(struct account *a, struct account_session *s);

/* A place has become an id, which counts for the connection from now on. */
void account_keep(struct account *a, struct account_session *s);
/* An id was closed. own: this session had registered it. */
void account_closed(struct account *a, struct account_session *s, bool own);

struct account_totals {
	unsigned sessions[2], ids[2]; /* [1]: of uid 0; [0]: of all other uids */
};

/* The present counts. */
void account_totals(struct account *a, struct account_totals *ret);

/* True if the id is a witness's, which clients must not close. */
bool account_is_witness(struct account *a, const struct account_session *s, int32_t id);
