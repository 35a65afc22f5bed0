/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The server looks again. NFS-Ganesha answers from memory what a file is like, for Attr_Expiration_Time, a minute
 * unless it is configured otherwise. What is written past it, to the backing file, it does not notice: for all that
 * time its other clients see the file as it was, a new one as empty. Ganesha 4.3 looks at a file again after COMMIT of
 * it, also by who may not write the file (FSAL_MDCACHE mdcache_commit2); GETATTR, ACCESS, READ and a SETATTR of nothing
 * do not make it look. The kernel's server needs none of this, since it asks the filesystem each time.
 *
 * Close-to-open: the COMMIT is answered before close, fsync and truncate(2) are. And before this mount itself asks the
 * server about a file that it has changed so.
 *
 * What the daemon and the sidecar change is counted. What the kernel writes to a backing file the daemon does not see:
 * a file that is open for that, or may be mapped so, may have changed each time that it is closed or made stable.
 * Nobody learns of what is written through a mapping behind that.
 *
 * A refresh that fails is counted and nobody's error: the data is where it belongs. It is not waited for when there is
 * no connection to the server, which has lost its memory when it died, nor longer than a few seconds. Any thread.
 */
#pragma once

#include "fuse/writes/write_log.h"
#include "io/server.h"

struct fs;
struct inode;

struct server_refresh {
	struct nfs_call call;
	struct fs *fs;
	struct inode *inode;   /* a reference, until it is answered */
	uint32_t changed_past; /* the inode's, which the server sees */
	struct patience patience;
	void (*done)(struct server_refresh *r);
};

/* The file was changed past the server, or may have been. Takes the inode's lock. */
void server_refresh_changed(struct inode *i);

/* True if the server may have an old idea of the file. Takes the inode's lock. */
bool server_refresh_needed(const struct fs *fs, struct inode *i);

/* True if nobody has asked it to look since the last change that was counted. Takes the inode's lock. */
bool server_refresh_owed(const struct fs *fs, struct inode *i);

/*
 * Makes the server look, and calls done() when it has or will not; at once when there is no connection. The caller
 * keeps r until then. The credential is anybody's.
 */
void server_refresh_start(struct server_refresh *r, struct fs *fs, struct inode *i, const struct nfs_cred *cred);

/* Calls then() when the server has no old idea of the file, or will not look: at once where it has none. */
void server_refresh_then(struct fs *fs, struct inode *i, const struct nfs_cred *cred, struct patience patience,
	void (*then)(void *arg), void *arg);

/*
 * The same without anybody who waits: it is on its way. False when too many are, or there is no memory: then the caller
 * had better wait.
 */
bool server_refresh_unwaited(struct fs *fs, struct inode *i, const struct nfs_cred *cred);
