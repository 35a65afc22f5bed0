/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Change notices: one fanotify(7) group for the whole sidecar, with a mark on each filesystem that a session uses. The
 * group has a thread, which needs no capability and has none. A session has a listener: a filter of the objects that
 * the session knows (told.h), and a queue of what has happened to them, which the session sends (tell.h).
 *
 * The marks have no FAN_MODIFY, which would make a 4K write 3 times as expensive; so notices are complete for names,
 * mode, owner and ACL, and not for size and times. The kernel queues an event before the system call that changed
 * something returns. Whoever reads events from the group distributes them to all listeners while holding the lock:
 * after listener_drain() a session has in its queue all that had happened before the call.
 *
 * Events say which thread made the change, and the kernel merges no events of two threads. So a session gets no notice
 * of what its own client has asked for. After events that concern nobody the group's thread pauses, and reads all that
 * come in the meantime at once: else each change by a session would wake it up.
 *
 * The group's queue has 16384 events. When events were lost, all listeners are in doubt; after NOTICES_OVERFLOWS of
 * these within a minute nothing is watched for NOTICES_REST_MS, and so the clients use the timeouts of an NFS client.
 *
 * The descriptors of the group and of its wake-up have the same numbers in the descriptor tables of all sessions.
 * The mutex guards everything in struct notices and in the listeners. It is held across reads of the group, which never
 * wait, and never across a call on a client's file or socket.
 */
#pragma once

#include <sys/types.h>

#include "net/wake.h"
#include "sidecar/backing/export_mount.h"
#include "sidecar/notices/own_threads.h"
#include "sidecar/notices/told.h"

#define NOTICES_QUEUE     256 /* waiting notices of a session, in 140 KB; with more it is in doubt */
#define NOTICES_OVERFLOWS 3
#define NOTICES_REST_MS   30000
#define NOTICES_PAUSE_MS  1 /* after events that concern nobody */

struct notices;
struct listener;

/* Makes the group and starts its thread. A negative errno where the kernel or the privileges do not suffice. */
int notices_new(struct notices **ret);
/* Ends the thread. No listener is left. Takes NULL; returns NULL. */
struct notices *notices_free(struct notices *n);

/* The descriptors that a session's table must keep; -1 for NULL. Constant. */
int notices_group_fd(const struct notices *n);
int notices_wake_fd(const struct notices *n);

/* The work of the notices, for localioctl(8) and for the metrics. */
struct notices_state {
	bool watching;        /* false: the kernel or the privileges do not suffice, or changes come too fast */
	unsigned sessions;    /* that asked for notices */
	unsigned filesystems; /* that are watched */
	size_t objects;       /* files and directories that sessions were told, a session's own each */
	uint64_t events;      /* of the kernel */
	uint64_t overflows;   /* how often the kernel lost events */
};

/* Any thread. Takes NULL. */
void notices_look(struct notices *n, struct notices_state *ret);

/* A session's listener; wake is the session's own, and own are its threads. -ENOMEM. */
int listener_new(struct notices *n, struct wake wake, const struct own_threads *own, struct listener **ret);
/* With the session's lock, as all functions below. Takes NULL; returns NULL. */
struct listener *listener_free(struct listener *l);

/*
 * The session is about to be told of the object h, by the NFS handle fh. True if the listener notices all changes of a
 * directory from now on. Of a file only the next change is noticed, until listener_watch() is called again: the client
 * asks again for what it does not know any more. A file system whose timestamps do not tell each change from the one
 * before is not watched. Keeps a reference to the mount until listener_forget(). Takes NULL.
 */
bool listener_watch(struct listener *l, struct export_mount *m, const struct nfs_handle *h, const struct broker_fh *fh,
	bool directory);

/* True if all changes of the directory are noticed, since an earlier listener_watch(). Takes NULL. */
bool listener_watches(struct listener *l, const struct export_mount *m, const struct nfs_handle *h);

/* Watches nothing any more: the next notice is BROKER_NOTICE_DOUBT, if the session was told that it may trust any. */
void listener_forget(struct listener *l);

/* Distributes the events that the group has queued at this moment. Takes NULL. */
void listener_drain(struct listener *l);

/* A change that concerns the session. */
struct change {
	uint32_t kind;  /* enum broker_notice_kind; NAME: the name has not been judged yet */
	uint32_t state; /* enum broker_name_state */
	struct broker_fh fh;
	uint32_t fsid[2]; /* of fh and child */
	int child_type;
	uint32_t child_length; /* ATTR: 0, or the change is the child's in the directory fh, and is not judged yet */
	uint8_t child[NFS_HANDLE_MAX_KERNEL];
	uint8_t names; /* enum told_names, of fh */
	uint32_t turn; /* of fh */
	uint32_t dir_length;
	int dir_type;
	uint8_t dir[NFS_HANDLE_MAX_KERNEL];
	char name[256];
};

/* Takes the oldest change from the queue. False if there is none. Takes NULL. */
bool listener_take(struct listener *l, struct change *ret);

/* The names of the change's directory are open to the peer, or secret, until the directory's attributes change. */
void listener_judge(struct listener *l, const struct change *c, bool open);
