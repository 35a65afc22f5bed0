/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The lease: while the sidecar sends notices of changes, names and rights of the directories that it watches need no
 * question (known.h), and the kernel believes names for KNOWN_WATCHED_MS. A PING at the begin of a session asks for
 * notices. The lease begins with the answer to a PING that was sent because an answer of the sidecar says that it
 * watches, and is renewed by a PING each LEASE_PING_MS, until no such answer has come for so long that the kernel
 * believes nothing more. It ends before when a PING has no answer within LEASE_PATIENCE_MS, with the session, when the
 * sidecar has lost notices, and when too many foreign changes come. With the end of the lease the kernel forgets all
 * names, and the timeouts are those of the options until the next lease. A lease has a number (fs.leased), so its end
 * takes no walk through inodes.
 *
 * Why no answer is believed that is older than a change: the sidecar watches a directory before it looks at it, and all
 * its messages travel in one order. A change after the look causes a notice, which arrives before the answer, or after
 * it. If it arrives before, the directory was in doubt since the question (known_is_outdated()), or, if the kernel did
 * not know the directory, the answer was asked for before fs.leased_from. If it arrives after, the notice takes back
 * what the answer said. A notice thus needs no comparison of numbers.
 *
 * A directory that the daemon itself has made is watched from the event of its making, without an answer that says so
 * (own_threads.h), and has a lease of its own (fs.born): the daemon takes what had the name right after for the new
 * directory. Somebody may have put another one there. So that lease ends, for all of these directories, with each
 * foreign change of names, and with each notice of an unknown directory, which may be the one that the daemon is
 * making.
 *
 * The kernel is made to forget by FUSE_NOTIFY_INC_EPOCH alone, at most once per LEASE_FORGET_MS. It takes no lock.
 * FUSE_NOTIFY_INVAL_ENTRY would spare the other names, but waits for the lock of the directory, which a user can hold
 * for ever, with a getdents(2) into memory that never comes.
 *
 * A notice of a change by this mount itself takes nothing back (known_noticed). If the change has no answer yet, the
 * notice waits for it, at most LEASE_LATER_MS.
 *
 * lease_want(), lease_is_watched() and lease_change_ended() may be called on any thread; all other functions run on the
 * probe's thread, which owns struct lease. Atomic members only are shared.
 */
#pragma once

#include "fuse/fs/fs.h"

#define LEASE_PING_MS     1000
#define LEASE_BEGIN_MS    50 /* from one PING to the next that may begin a lease */
#define LEASE_PATIENCE_MS 2000
#define LEASE_SPARE_MS    20000 /* for the kernel, whose timeouts begin when it notes an answer */
#define LEASE_REST_MS     1000  /* after the loss of notices */
#define LEASE_FORGET_MS   5
#define LEASE_LATER_MS    20
#define LEASE_LATER       256  /* notices that wait */
#define LEASE_CHANGES     2000 /* foreign changes per second; with more the lease ends for LEASE_STORM_MS */
#define LEASE_STORM_MS    5000

/* Sets fs->lease; -ENOMEM. */
int lease_new(struct fs *fs);
/* The probe's thread has ended. Takes NULL; returns NULL. */
struct lease *lease_free(struct lease *l);

/* An answer of the sidecar says that it watches a directory, or the option notices was set. */
void lease_want(struct fs *fs);

/* True if the sidecar has said in this session that it watches a directory. Any thread. */
bool lease_is_watched(const struct fs *fs);

/* A change by this mount was answered: notices may wait for it. */
void lease_change_ended(struct fs *fs);

/* The session has begun, or ended. */
void lease_session(struct fs *fs, bool up);

void lease_notice(struct fs *fs, const struct broker_notice *n);

/* As probe_options.housekeep: the milliseconds until the next call, or -1. */
int lease_housekeep(struct fs *fs);
