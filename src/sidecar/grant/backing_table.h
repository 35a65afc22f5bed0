/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The backing ids that a session has granted, each with a descriptor of the file (for COMMIT and so on), and with a
 * reference to the export's mount. The granted descriptors are in the table, too, under their negative numbers. The
 * session's lock guards the table, and the mutex its changes from backing_table_look() of any other thread. The mutex
 * is not held while a file is closed.
 *
 * The attributes of a file that has an id are read from the id's descriptor, without opening the file by its handle.
 */
#pragma once

#include <pthread.h>
#include <stdint.h>

#include "localiofs/broker_protocol.h"
#include "sidecar/backing/export_mount.h"
#include "table/hash_table.h"

/* One id, or the number of one descriptor. */
struct backing {
	struct hash_node by_id, by_handle; /* the table's */
	int32_t id;
	int fd;                  /* the table owns it */
	bool writable;           /* the session may change the file */
	bool lent;               /* the table's: backing_table_lend() */
	struct broker_cred cred; /* the credential with which the kernel writes to the file */
	struct export_mount *mount;
	uint32_t handle_length; /* the table's */
	uint8_t handle[];       /* the table's: the NFS handle by which the client asked */
};

struct backing_table {
	pthread_mutex_t lock;
	struct hash_table by_id;     /* struct backing.by_id */
	struct hash_table by_handle; /* struct backing.by_handle; needs no mutex */
};

void backing_table_init(struct backing_table *t);
void backing_table_done(struct backing_table *t); /* closes every descriptor */

/* The number of ids and descriptors that the session has. */
size_t backing_table_count(const struct backing_table *t);

/*
 * Adds a copy of what, with the handle and a reference to its mount, and takes over its fd. Replaces an entry with the
 * same id. -ENOMEM: the caller keeps fd.
 */
int backing_table_add(struct backing_table *t, const struct backing *what, const struct broker_fh *fh);
/* The entry of an id, or NULL. */
const struct backing *backing_table_find(const struct backing_table *t, int32_t id);
/*
 * An entry of the file with this handle on this mount, or NULL. The mount counts, since another filesystem with the
 * same handles may have been mounted in its place.
 */
const struct backing *backing_table_find_file(const struct backing_table *t, const struct broker_fh *fh,
	const struct export_mount *mount);
/*
 * A duplicate of the descriptor of a file's entry, on the export's own mount, which saves the search for the handle; -1
 * if there is none. The file may have lost its name.
 */
int backing_table_copy(const struct backing_table *t, const struct broker_fh *fh, const struct export_mount *mount);

/*
 * A duplicate of the descriptor of a file's entry, for a change that takes a lease of it; -1 if there is none. A lease
 * belongs to the descriptor and all its duplicates, so that of two changes the first to end would take it from the
 * other: each entry is lent once.
 */
int backing_table_lend(struct backing_table *t, const struct broker_fh *fh, const struct export_mount *mount);
/* Any thread: shows look() all entries, under the mutex. The descriptors are open in the session's descriptor table. */
void backing_table_look(struct backing_table *t, void (*look)(const struct backing *b, void *arg), void *arg);
/* After a REVOKE: makes all entries not writable. */
void backing_table_withdraw(struct backing_table *t);
/* Removes an entry, and closes its descriptor. 0 or -ENOENT. */
int backing_table_remove(struct backing_table *t, int32_t id);
