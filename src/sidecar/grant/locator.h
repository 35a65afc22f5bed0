/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * From a file handle to its export, the terms on which this session's peer has it, and its mount.
 *
 * Belongs to one session and its thread. Remembers which exports the session uses: their mounts stay
 * open between requests, and a change of the export table that concerns none of them goes unnoticed.
 *
 * With crossmnt the filesystems that are mounted below an export belong to the export, unless a deeper export that this
 * peer may use has them. The locator chooses as mountd does, and refuses where the choice depends on mountd's past. It
 * does not look into mounts of other hosts' files or into automount points, because that could wait for ever.
 *
 * The NFS server's connection from the peer is asked for again during the session, at most once per second.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "sidecar/backing/export_mount.h"
#include "sidecar/exports/export_table.h"
#include "sidecar/exports/peer.h"
#include "sidecar/exports/server_kind.h"

#define LOCATOR_MAX_MOUNTS 16 /* exports that one session uses at a time */

struct location {
	struct nfs_handle handle;
	const struct export_entry *entry; /* the table's */
	struct export_perms perms;
	struct export_mount *mount; /* the locator's */
};

struct locator_slot {
	struct nfs_handle handle; /* that led here: its fsid does so again */
	const struct export_entry *entry;
	char *path; /* the entry's, or with crossmnt a mount below */
	struct export_mount *mount;
	/* What the running server had for the path, and when it was asked; at most a second old. */
	struct export_perms said;
	bool says;
	uint64_t asked_ms; /* 0: never */
};

struct locator {
	struct export_table *table;
	struct peer peer;
	uint64_t connected_ms; /* when the peer was last seen to be connected to the server */
	struct locator_slot slots[LOCATOR_MAX_MOUNTS];
	unsigned nslots;
	bool *used; /* one an entry of the table: something was granted under it */
};

/* Takes over the reference to the table. */
int locator_init(struct locator *l, struct export_table *table);
void locator_done(struct locator *l);

/* The match: who the session's client is. Waits for name services; -ENOMEM. */
int locator_set_peer(struct locator *l, const struct ip_address *address, uint16_t port);

/* REASON_NONE with *ret, good until the next call; or why there is nothing to grant. */
enum reason locator_find(struct locator *l, const struct broker_fh *fh, struct location *ret);

/*
 * Takes over the reference to the table that holds from now on. 1 when an export that was used is
 * not what it was, 0 when not, -ENOMEM (then the old one stays).
 */
int locator_follow(struct locator *l, struct export_table *now);

/* Lets go of all mounts; what holds a reference keeps them. */
void locator_drop_mounts(struct locator *l);
