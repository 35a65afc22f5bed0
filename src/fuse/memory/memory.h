/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The memory of the NFS server: the files and directories that the sidecar has changed past a server that remembers
 * (fs_server_remembers()), and at which the server has not looked since (fuse/local/server_refresh.h). They are behind.
 *
 * Each is looked at within MEMORY_TICK_MS by itself, about once in that time at most, so that the server's other
 * clients see the change then. The looks of a burst are sent together: that needs half of the CPU time. And at once
 * when a call of this mount touches it, or when a change is not to be answered before the other clients can see it
 * (change.c). That call waits for the look, so this mount sees its own changes also in answers of the server. A call
 * waits no longer than its caller wants to, nor without a connection to the server: it goes to the server without the
 * look then.
 *
 * A look that fails is made again later, the failures doubling the time. After MEMORY_FAILURES failures in a row, and
 * while MEMORY_BEHIND_MAX are behind, changes must go to the NFS server itself. A file that is gone (-ESTALE) is behind
 * no more. A server that was restarted remembers nothing; the looks then cost it a little, and the mount need not know.
 *
 * Any credential makes the server look, so the looks use the daemon's own. No look opens a file in the server, unless
 * the server has ACLs (COMMIT). Three things no look repairs, so the caller leaves them to the NFS server: the ".." of
 * a directory that gets another parent, the space of a removed file that the server has open, and a second change of a
 * directory within one tick of the filesystem's clock, which leaves its mtime as it was: Ganesha keeps a listing as
 * long as the mtime is the same. Linux 6.13 gives both changes their own time.
 *
 * The last MEMORY_RECENT_MAX files that the server has looked at are remembered, too, for answers that were on their
 * way.
 *
 * Ganesha drops the names that it remembers of a directory when it sees a new mtime. But after a change of its own,
 * which another client has asked for, it takes the new mtime over and drops none (FSAL_MDCACHE
 * mdcache_refresh_attrs_no_invalidate()). If the sidecar takes a name away in that moment, Ganesha goes on to find the
 * name, for as long as nothing else changes, and a look does not help. So the taker touches such a directory: it gets
 * the present time as its mtime once more, and the server looks again. A change whose answer waits for the look finds
 * out by a LOOKUP whether that is necessary (fuse/shortcut/sight.c). For the others it is done if the look tells a
 * later mtime than this mount's last change has left, or if others were noticed to change the directory within
 * KNOWN_COMPANY_MS; and again, up to MEMORY_TOUCHES times, while the look after the touch tells a later mtime than the
 * touch has left. Listings were always right (test-two-writers), and new names are found
 * since Ganesha believes no absent name.
 *
 * struct memory belongs to the shortcut. Any thread; its lock guards it, and no other lock is taken within. An entry
 * has about 320 bytes, and about a kilobyte during its look.
 */
#pragma once

#include <pthread.h>

#include "base/list.h"
#include "fuse/fs/fs.h"
#include "fuse/memory/looks.h"
#include "localiofs/reason.h"
#include "table/hash_table.h"

#define MEMORY_TICK_MS    100
#define MEMORY_CLOSED_MS  10 /* of a file that was written and closed, and whose size others wait for */
#define MEMORY_BEHIND_MAX 4096
#define MEMORY_RECENT_MAX 1024
#define MEMORY_LOOKS_MAX  16 /* under way, besides those for which calls wait */
#define MEMORY_LOOKS_LOW  8  /* while more are under way, none begins by itself: some begin together */
#define MEMORY_FAILURES   5
#define MEMORY_FLUSH_MS   2000 /* of an unmount */
#define MEMORY_TOUCHES    5    /* of one directory in a row */

struct memory {
	struct fs *fs;
	struct server *nfs;
	struct looks sender;
	pthread_mutex_t lock;
	pthread_cond_t emptied;
	struct hash_table behind;
	struct list idle;   /* entries without a look under way, the first due first */
	struct list recent; /* files that were behind, the oldest look first */
	unsigned nrecent;
	uint64_t horizon;     /* attr_clock() of the last look that is not among the recent any more */
	unsigned looks;       /* under way */
	atomic_uint failures; /* in a row */
	atomic_size_t count;  /* of the files that are behind */
	/* Touches a directory, without waiting; false: not now. Set before the first session. */
	bool (*touch)(void *toucher, const struct nfs_fh *dir, const struct nfs_cred *taker);
	void *toucher;
};

/* The state of a directory after a change by the sidecar. Plain value. */
struct memory_directory {
	struct timespec mtime, ctime;
	const struct nfs_cred *taker; /* who has taken a name away, if nobody waits for the look; or NULL */
};

/*
 * Hands a call to the NFS server: server_submit(), server_create() or server_append(); or answers a call that the
 * sidecar has made.
 */
typedef void (*memory_submit_fn)(struct server *nfs, struct nfs_call *call);

void memory_init(struct memory *m, struct fs *fs, struct server *nfs);

/* After the end of the server's thread and of the probe's. */
void memory_done(struct memory *m);

/*
 * The sidecar has changed this file or directory, or may have. Before the change is answered, so that the caller's next
 * call finds it. Without memory the change stays unknown, and the log says so.
 */
void memory_changed(struct memory *m, const struct nfs_fh *fh);

/* The same for a directory in which the sidecar has made a change, or whose attributes it has set. */
void memory_directory_changed(struct memory *m, const struct nfs_fh *fh, const struct memory_directory *d);

/* True if the server's last look told this mtime of the directory. */
bool memory_has_seen(struct memory *m, const struct nfs_fh *fh, const struct timespec *mtime);

/* Data of the file was changed past the server: the look comes within MEMORY_CLOSED_MS if none came lately. */
void memory_written(struct memory *m, const struct nfs_fh *fh);

/* The sidecar has removed the file's last name: no look is needed any more. */
void memory_gone(struct memory *m, const struct nfs_fh *fh);

/* REASON_NONE, or why the sidecar must not make changes now. Asked before each change. */
enum reason memory_reason(struct memory *m);

/* Submits a call of this mount to the NFS server, after the looks that it needs. Never blocks. */
void memory_submit(struct memory *m, struct nfs_call *call, memory_submit_fn submit);

/*
 * True if an answer of the server may have attributes of the file from before a change, for example a listing: no call
 * waits for looks at files that its answer may name. asked: attr_clock() when the call was made.
 */
bool memory_is_behind(struct memory *m, const struct nfs_fh *fh, uint64_t asked);

/* Starts the looks that are due. Returns the milliseconds until the next is, or -1 if none will be. */
int memory_housekeep(struct memory *m);

/* The session has ended: all looks are due. */
void memory_hurry(struct memory *m);

/* The same, and waits up to MEMORY_FLUSH_MS until nothing is behind. Not on the thread of the server. */
void memory_flush(struct memory *m);
