/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The backing ids, and descriptors, of a mount that no open file uses: kept on their inodes for the next open, given
 * back after BACKING_IDS_IDLE_MS at most, since each pins the server's filesystem, or when there are more
 * than BACKING_IDS_IDLE; and the ids of sessions that have ended, which the next session closes.
 *
 * A file that is opened and closed all the time costs no lock but its inode's: what became idle stays listed when it
 * is used again, and is looked at when its turn comes, every BACKING_IDS_LOOK_MS.
 *
 * An id is closed only through here, and only at open count 0 (open_mode_registered()): closing one
 * that has open files would make every new open of that file EIO. The lock is taken inside an
 * inode's lock, never around one.
 */
#pragma once

#include "fuse/node/inode_table.h"
#include "probe/probe.h"

#define BACKING_IDS_IDLE    1024 /* or a quarter of the descriptors that the daemon may have, if that is less */
#define BACKING_IDS_LOOK_MS 15000
#define BACKING_IDS_IDLE_MS (2 * BACKING_IDS_LOOK_MS)

struct backing_ids;

int backing_ids_new(struct inode_table *inodes, struct backing_ids **ret);
struct backing_ids *backing_ids_free(struct backing_ids *b);

/* The probe through which ids are closed; set once, before the first open. */
void backing_ids_set_probe(struct backing_ids *b, struct probe *probe);

/* The sidecar registered an id for this mount: counted until it confirms that it closed it. */
void backing_ids_registered(struct backing_ids *b);

/* With the inode's lock: its id or descriptor has no open file any more, or has one again. */
void backing_ids_idle(struct backing_ids *b, struct inode *i);
void backing_ids_busy(struct backing_ids *b, struct inode *i);

/*
 * Closes an id that no open file uses: now, or when there is a session again. 0 is no id. A negative one is
 * the number of a descriptor, which is closed already.
 */
void backing_ids_close(struct backing_ids *b, int id);

/*
 * With the inode's lock: the descriptor by which the daemon reads it, or NULL. Returns the one that was there, to
 * be given up without the lock. The list of those inodes is kept here, so that the end of a session finds them.
 */
struct granted_file;
struct granted_file *backing_ids_set_granted(struct backing_ids *b, struct inode *i, struct granted_file *g);

/* A descriptor more or fewer. */
void backing_ids_descriptors(struct backing_ids *b, int change);

/* Whether there is room for one more: others need descriptors, too. */
bool backing_ids_may_have_descriptor(const struct backing_ids *b);

/* Gives up the descriptors of all sessions but this one (0: there is none); without any inode's lock. */
void backing_ids_end_sessions_but(struct backing_ids *b, uint64_t generation);

/* Gives idle ids back until the limit holds; without any inode's lock. */
void backing_ids_trim(struct backing_ids *b);

/*
 * Gives back what was idle for too long; without any inode's lock. The milliseconds until the next
 * one is due, -1 when none is idle.
 */
int backing_ids_expire(struct backing_ids *b);

/* A new session: closes what the last one left, and idle ids that it did not register. */
void backing_ids_new_session(struct backing_ids *b);

/* An inode that is about to be freed gives up its id. */
void backing_ids_inode_freed(struct backing_ids *b, struct inode *i);

/* All ids that are registered; among them the idle ones, and those that wait for a session. */
void backing_ids_counts(struct backing_ids *b, size_t *ret_held, size_t *ret_idle, size_t *ret_left_over);
