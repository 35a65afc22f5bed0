/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The backing ids and descriptors of inodes. An id or descriptor is idle if no open file uses it. Idle ones are kept
 * for the next open of the file, but at most for IDLE_IDS_MS, since each pins the server's filesystem, and at most
 * IDLE_IDS_MAX of them. The looker of a directory (granted_file.h) is always idle, since its last use; of these there
 * are at most IDLE_IDS_DIRECTORIES.
 *
 * A file that is opened and closed again and again takes no other lock than its inode's: an inode that became idle
 * stays in the list when its id is used again. The list is checked every IDLE_IDS_LOOK_MS.
 *
 * The mount owns one struct idle_ids. Its lock guards both lists. The lock may be taken inside an inode's lock, never
 * around one. The inode's lock guards the inode's id and descriptor. Any thread.
 */
#pragma once

#include "fuse/local/backing_ids.h"
#include "fuse/node/inode_table.h"

/*
 * Of files, and of directories; or a quarter and an eighth of the descriptors that the daemon may have, if less. More
 * files would be opened again without a question, but 14 mounts that keep this number use up what one client may have
 * (ACCOUNT_IDS_ONE).
 */
#define IDLE_IDS_MAX         2048
#define IDLE_IDS_DIRECTORIES 1024
#define IDLE_IDS_LOOK_MS     15000
#define IDLE_IDS_MS          (2 * IDLE_IDS_LOOK_MS)

struct fs;
struct granted_file;
struct setting;
struct idle_ids;

/* ids: takes the ids and descriptors that are given back. */
int idle_ids_new(struct inode_table *inodes, struct backing_ids *ids, struct idle_ids **ret);

/* d may be NULL. Returns NULL. */
struct idle_ids *idle_ids_free(struct idle_ids *d);

/*
 * After a change of the inode's opens: without open files its backing id or descriptor is idle. The caller holds the
 * inode's lock.
 */
void idle_ids_opens_changed(struct idle_ids *d, struct inode *i);

/*
 * Sets the granted file of an inode; NULL for none. Returns the previous one, which the caller unrefs after it has
 * released the lock. Lists the inode, so that the end of a session finds it. The caller holds the inode's lock.
 */
struct granted_file *idle_ids_set_granted(struct idle_ids *d, struct inode *i, struct granted_file *g);

/*
 * Gives up the granted files of all other sessions, with 0 of all sessions, and the lookers of all directories. The
 * caller holds no inode's lock.
 */
void idle_ids_end_sessions_but(struct idle_ids *d, uint64_t generation);

/*
 * Gives the directory a looker in place of the one that it has, by the descriptor that the session has sent; takes *fd,
 * which may be -1. setting: what may be changed by it; NULL: nothing. The second tells that the looker was used. The
 * caller holds no inode's lock.
 */
void idle_ids_take_looker(struct fs *fs, struct inode *dir, uint64_t session, const struct setting *setting, int *fd);
void idle_ids_looked(struct inode *dir);

/* Gives idle ids back until the limit holds. The caller holds no inode's lock. */
void idle_ids_trim(struct idle_ids *d);

/*
 * Gives back ids that were idle for too long. Returns the milliseconds until the next check, or -1 if no id is idle.
 * The caller holds no inode's lock.
 */
int idle_ids_expire(struct idle_ids *d);

/* A new session has begun: gives back the idle ids of earlier sessions. */
void idle_ids_new_session(struct idle_ids *d);

/* An inode that is about to be freed gives up its id and descriptor. */
void idle_ids_inode_freed(struct idle_ids *d, struct inode *i);

/* The idle inodes that are no directories: the idle ids and descriptors by which files are read. */
size_t idle_ids_count(const struct idle_ids *d);
