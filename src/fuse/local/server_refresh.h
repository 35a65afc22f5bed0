/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A refresh makes the server look at a file again. NFS-Ganesha sends a file's attributes from memory for
 * Attr_Expiration_Time, a minute unless it is configured otherwise. Ganesha does not notice data that is written past
 * it, to the backing file: for all that time its other clients see the old file, and a new file as empty. Ganesha 4.3
 * looks at a file again after COMMIT of the file, also by a caller that may not write the file (FSAL_MDCACHE
 * mdcache_commit2). GETATTR, ACCESS, READ and a SETATTR of nothing do not make it look. The kernel's server needs no
 * refresh, since it asks the filesystem each time.
 *
 * Close-to-open: the COMMIT is answered before close, fsync and truncate(2) are, and before this mount itself asks the
 * server about a file that the mount has changed past the server.
 *
 * Changes by the daemon and the sidecar are counted. The daemon does not see the kernel's writes to a backing file: a
 * file that is open for passthrough writes, or may be mapped for them, may have changed each time that it is closed or
 * made stable. A write through a mapping after that goes unnoticed.
 *
 * A refresh that fails is counted and is no error of any caller: the data is in the backing file. A caller does not
 * wait for a refresh without a connection to the server, which has lost its memory when it died, nor longer than a few
 * seconds. Any thread. The inode's lock guards the inode's counts.
 */
#pragma once

#include "fuse/writes/write_log.h"
#include "io/server.h"

struct fs;
struct inode;

struct server_refresh {
	struct nfs_call call;
	struct fs *fs;
	struct inode *inode;   /* a reference, until the answer */
	uint32_t changed_past; /* the inode's count of changes that the server will have seen */
	struct patience patience;
	void (*done)(struct server_refresh *r);
};

/* The file was changed past the server, or may have been. Takes the inode's lock. */
void server_refresh_changed(struct inode *i);

/* True if the server may have an old idea of the file. Takes the inode's lock. */
bool server_refresh_needed(const struct fs *fs, struct inode *i);

/* True if no refresh was sent since the last counted change. Takes the inode's lock. */
bool server_refresh_owed(const struct fs *fs, struct inode *i);

/*
 * Makes the server look, and calls done() when the server has looked or will not; at once when there is no connection.
 * The caller keeps r until then. Any credential will do.
 */
void server_refresh_start(struct server_refresh *r, struct fs *fs, struct inode *i, const struct nfs_cred *cred);

/* Calls then() when the server has no old idea of the file, or will not look: at once if the server has none. */
void server_refresh_then(struct fs *fs, struct inode *i, const struct nfs_cred *cred, struct patience patience,
	void (*then)(void *arg), void *arg);

/*
 * Sends a refresh that no caller waits for. False if too many are on their way, or without memory: then the caller
 * should wait for a refresh.
 */
bool server_refresh_unwaited(struct fs *fs, struct inode *i, const struct nfs_cred *cred);
