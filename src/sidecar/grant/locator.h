/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * Finds the export of a file handle, the export's options for the session's peer, and the export's mount.
 *
 * Belongs to one session, whose lock guards it. Remembers the exports that the session uses: their mounts stay open
 * between requests, and a change of the export table matters only if it changes one of these exports.
 *
 * With crossmnt the filesystems that are mounted below an export belong to the export, unless a deeper export that this
 * peer may use has them. The locator chooses as mountd does, and refuses where the choice depends on mountd's past. It
 * does not look into mounts of other hosts' files or into automount points, because that could wait for ever.
 *
 * The NFS server's connection from the peer is asked for again during the session, at most once per second.
 *
 * An export's path must still lead to the mount that was opened. This is checked at the first request after a change of
 * any mount, and at the first request of each second: a renamed directory above the export changes no mount, and the
 * server itself goes on with the directory that it has open. The owner polls mounts_fd before each request, together
 * with the request, and calls locator_mounts_changed(): so no request is answered after a change of mounts by the
 * mount from before. Without /proc the check is made at each request.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "sidecar/backing/export_mount.h"
#include "sidecar/exports/export_table.h"
#include "sidecar/exports/peer.h"
#include "sidecar/exports/server_kind.h"

#define LOCATOR_MAX_MOUNTS 16 /* exports that one session uses at a time */

struct locator_slot;

struct location {
	struct nfs_handle handle;
	const struct export_entry *entry; /* belongs to the table */
	struct export_perms perms;
	struct export_mount *mount; /* belongs to the locator */
	bool crossmnt;              /* the server goes on into filesystems that are mounted below */
	struct locator_slot *slot;
};

struct locator_slot {
	struct nfs_handle handle; /* handles with the same fsid are of this export */
	const struct export_entry *entry;
	char *path; /* the entry's path, or with crossmnt a mount point below it */
	struct export_mount *mount;
	/* The running server's options for the path (server_kind.terms), at most one second old. */
	struct export_perms said;
	bool says;
	uint64_t asked_ms;   /* 0: never */
	uint64_t checked_ms; /* when the path was last seen to lead to the mount; 0: check at the next request */
};

struct locator {
	struct export_table *table;
	struct peer peer;
	uint64_t connected_ms; /* when the peer's connection to the server was last seen; 0: not connected */
	pthread_mutex_t lock;  /* guards changes of nslots and of the mounts and paths of slots from locator_look() */
	struct locator_slot slots[LOCATOR_MAX_MOUNTS];
	unsigned nslots;
	int mounts_fd; /* mountinfo: poll(2) reports POLLPRI once per change of this process's mounts; or -1 */
	bool *used;    /* one per entry of the table: the session has a grant from this export */
};

/* Takes over the reference to the table. */
int locator_init(struct locator *l, struct export_table *table);
void locator_done(struct locator *l);

/* Sets the session's peer, at the match. Waits for name services. 0 or -ENOMEM. */
int locator_set_peer(struct locator *l, const struct ip_address *address, uint16_t port);

/* mounts_fd was readable: checks the paths of all exports at their next request. */
void locator_mounts_changed(struct locator *l);

/* REASON_NONE with *ret, which is valid until the next call; or the reason why the peer gets no grant. */
enum reason locator_find(struct locator *l, const struct broker_fh *fh, struct location *ret);

/*
 * True if the NFS server sees the mounts below the export that this process sees. The answer is at most one second old.
 * *at is from the last locator_find().
 */
bool locator_same_view(struct locator *l, const struct location *at);

/*
 * Takes over the reference to a new table. 1 if an export that the session used has changed, 0 if not; -ENOMEM, and
 * keeps the old table.
 */
int locator_follow(struct locator *l, struct export_table *now);

/* Any thread: shows look() the path and the mount of each export in use, under the lock. */
void locator_look(struct locator *l, void (*look)(const char *path, const struct export_mount *m, void *arg),
	void *arg);

/* Drops the references to all mounts. */
void locator_drop_mounts(struct locator *l);
