/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * A refresh makes the server look at a file again. NFS-Ganesha sends a file's attributes from memory for
 * Attr_Expiration_Time, a minute unless it is configured otherwise. Ganesha does not notice data that is written past
 * it, to the backing file: for all that time its other clients see the old file, and a new file as empty. GETATTR,
 * ACCESS, READ, LOOKUP, READDIRPLUS and a SETATTR of nothing do not make it look. The kernel's server needs no refresh,
 * since it asks the filesystem each time.
 *
 * GETACL makes Ganesha 4.3 look at a file or directory, for any caller, at the cost of a GETATTR: the request wants an
 * ACL, and a Ganesha without ACLs has none in memory to answer from (FSAL_MDCACHE mdcache_test_attrs_trust). A Ganesha
 * with ACLs may have one. The answer tells them apart: it has no entries exactly where the server has no ACLs, because
 * an ACL has three at least.
 *
 * COMMIT makes every Ganesha look, also for any caller (mdcache_commit2), so the mount uses COMMIT from the first
 * answer with an ACL, or without NFSACL, on. But COMMIT of a file is an fsync, and leaves the file open for writing in
 * Ganesha, so that the host cannot execute it (ETXTBSY). On a directory COMMIT fails with -EISDIR after the look.
 *
 * Close-to-open: the refresh is answered before close, fsync and truncate(2) are, and before this mount itself asks the
 * server about a file that the mount has changed past the server. With commit=fsync no close and no truncation waits:
 * the server looks within milliseconds (shortcut_written()).
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

/* The changes that a look will see. Plain value. */
struct server_view {
	struct inode *inode;   /* a reference, until the answer; NULL: the mount does not know the file */
	uint32_t changed_past; /* the inode's count of changes that the server will have seen */
};

struct server_refresh {
	struct nfs_call call;
	struct fs *fs;
	struct server_view view;
	struct patience patience;
	void (*done)(struct server_refresh *r);
};

/* Makes the call a request for which the server looks at call->fh: sets the procedure and its arguments. */
void server_look(const struct fs *fs, struct nfs_call *call);

/*
 * The server has answered such a call. 0: the server has looked. -EAGAIN: the request was the wrong one for this
 * server; the call is another now, to be submitted again. -ESTALE: the file is gone, and the server has forgotten it.
 * Other errors: the server may not have looked. Any thread.
 */
int server_looked(struct fs *fs, struct nfs_call *call);

/* A look at the file is about to be sent, on behalf of anybody. Takes the inode's lock. */
void server_view_begin(struct fs *fs, const struct nfs_fh *fh, struct server_view *ret);

/*
 * The look has ended, by this request and with this result of server_looked(). If the server had not seen all changes
 * before, its earlier answers about the file are in doubt. Drops the reference. Takes the inode's lock.
 */
void server_view_end(struct fs *fs, struct server_view *v, enum nfs_proc proc, int error);

/* The file was changed past the server, or may have been. Takes the inode's lock. */
void server_refresh_changed(struct inode *i);

/* True if the server may have an old idea of the file. Takes the inode's lock. */
bool server_refresh_needed(const struct fs *fs, struct inode *i);

/* True if no look was sent since the last counted change. Takes the inode's lock. */
bool server_refresh_owed(const struct fs *fs, struct inode *i);

/*
 * Makes the server look, and calls done() when the server has looked or will not; at once when there is no connection.
 * The caller keeps r until then. Any credential will do.
 */
void server_refresh_start(struct server_refresh *r, struct fs *fs, struct inode *i, const struct nfs_cred *cred);

/* Calls then() when the server has no old idea of the file, or will not look: at once if the server has none. */
void server_refresh_then(struct fs *fs, struct inode *i, const struct nfs_cred *cred, struct patience patience,
	void (*then)(void *arg), void *arg);
