/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The backing ids and descriptors that inodes keep, above all the idle ones, which no open file uses: they are kept for
 * the next open of the file, and are given back after IDLE_IDS_MS at most, since each pins the server's filesystem, or
 * when there are more than IDLE_IDS_MAX.
 *
 * A file that is opened and closed all the time costs no lock but its inode's: an inode that became idle stays listed
 * when it is used again. The list is looked at every IDLE_IDS_LOOK_MS.
 *
 * The mount owns one struct idle_ids. Its lock guards both lists, and is taken inside an inode's lock, never around
 * one. The inode's lock guards the inode's id and descriptor. Any thread.
 */
#pragma once

#include "fuse/local/backing_ids.h"
#include "fuse/node/inode_table.h"

#define IDLE_IDS_MAX     1024 /* or a quarter of the descriptors that the daemon may have, if that is less */
#define IDLE_IDS_LOOK_MS 15000
#define IDLE_IDS_MS      (2 * IDLE_IDS_LOOK_MS)

struct granted_file;
struct idle_ids;

/* ids: to which they are given back. */
int idle_ids_new(struct inode_table *inodes, struct backing_ids *ids, struct idle_ids **ret);

/* Takes NULL; returns NULL. */
struct idle_ids *idle_ids_free(struct idle_ids *d);

/* The inode's id or descriptor has no open file any more, or has one again. The caller holds the inode's lock. */
void idle_ids_idle(struct idle_ids *d, struct inode *i);
void idle_ids_busy(struct idle_ids *d, struct inode *i);

/*
 * Sets the granted file of an inode; NULL for none. Returns the one before, which the caller gives up without the lock.
 * The inode is listed, so that the end of a session finds it. The caller holds the inode's lock.
 */
struct granted_file *idle_ids_set_granted(struct idle_ids *d, struct inode *i, struct granted_file *g);

/* Gives up the granted files of all sessions but this one (0: of all). The caller holds no inode's lock. */
void idle_ids_end_sessions_but(struct idle_ids *d, uint64_t generation);

/* Gives idle ids back until the limit holds. The caller holds no inode's lock. */
void idle_ids_trim(struct idle_ids *d);

/*
 * Gives back ids that were idle for too long. Returns the milliseconds until the next one is due, -1 when none is idle.
 * The caller holds no inode's lock.
 */
int idle_ids_expire(struct idle_ids *d);

/* A new session: gives back the idle ids, which an earlier session has registered. */
void idle_ids_new_session(struct idle_ids *d);

/* An inode that is about to be freed gives up its id and descriptor. */
void idle_ids_inode_freed(struct idle_ids *d, struct inode *i);

size_t idle_ids_count(const struct idle_ids *d);
