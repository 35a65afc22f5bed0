/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The mount: what its parts share. Made before the kernel knows of it, constant afterwards but for
 * the counters, which are atomic, and the parts, which guard themselves.
 */
#pragma once

#define FUSE_USE_VERSION FUSE_MAKE_VERSION(3, 18)
#include <fuse_lowlevel.h>

#include "fuse/node/inode_table.h"
#include "io/server.h"
#include "io/uring.h"
#include "mount/options.h"
#include "probe/probe.h"
#include "table/slots.h"

struct backing_ids;
struct cache;
struct idle_ids;
struct locks;

#define FS_RETRIES 256

/* Told by localioctl status; the names there are documented in localioctl(8). */
struct fs_counters {
	atomic_uint_fast64_t opens[OPEN_PATH_COUNT];
	atomic_uint_fast64_t opens_retired; /* opens answered ESTALE for a fresh inode */
	atomic_uint_fast64_t opens_hot;     /* local ones for which nobody was asked */
	atomic_uint_fast64_t opens_uring;   /* that the daemon serves by a descriptor, their reads at least */
	atomic_uint_fast64_t opens_shared;  /* remote ones, as the file was open so already */
	atomic_uint_fast64_t requests_read; /* FUSE READ requests that reached the daemon */
	atomic_uint_fast64_t requests_write;
	atomic_uint_fast64_t requests_astray; /* of both, those of passthrough opens: the kernel serves these */
	atomic_uint_fast64_t bytes_read, bytes_written; /* by these requests */
	atomic_uint_fast64_t lookups_known;             /* answered without the server */
	atomic_uint_fast64_t requests_flush;            /* closes that the kernel asked about */
	atomic_uint_fast64_t requests_xattr;            /* about extended attributes */
	atomic_uint_fast64_t grants_denied;             /* local opens without a backing id */
	atomic_uint last_denial;                        /* enum reason of the last one */
	atomic_uint_fast64_t opens_walked;              /* opens that were sent to walk their name again */
	atomic_uint_fast64_t refreshes;                 /* server_refresh.h: answered */
	atomic_uint_fast64_t refreshes_failed;
	atomic_uint_fast64_t groups_unknown; /* callers whose groups were not visible */
};

struct fs {
	const struct mount_options *options;
	struct server *server;
	struct inode_table *inodes;
	struct slots opened;          /* struct opened of files and directories, by the number that the kernel has */
	struct cache *names, *rights; /* known.h */
	atomic_uint_fast64_t links_changed, went_stale; /* known.h: attr_clock() */
	atomic_uint_fast64_t moved;                     /* attr_clock() when a name last went to another directory */
	/*
	 * By the opener's thread: the inode.generation for which an open has sent it to walk again, then that which it
	 * has found; 0: none.
	 */
	atomic_uint_fast64_t retries[FS_RETRIES];
	struct backing_ids *ids;
	struct idle_ids *idle;
	struct locks *locks;
	struct probe *probe; /* NULL with local=off */
	struct uring *uring; /* NULL when the daemon must not read and write locally, or cannot */
	struct fuse_session *session;
	struct inode *root;
	char spec[2048]; /* as it was given */
	char server_address[64];
	unsigned server_port;
	char device[32];         /* major:minor, empty until mounted */
	uid_t owner;             /* who mounted */
	uint32_t rsize, wsize;   /* bytes of one request */
	uint64_t max_file_size;  /* bytes, by FSINFO */
	uint64_t fsid;           /* of the export, NFS's */
	bool nfsacl;             /* the server has ACLs and NFSACL, and the mount may use it */
	bool forgets_names;      /* kernel and libfuse have FUSE_NOTIFY_INC_EPOCH */
	bool passthrough;        /* kernel and libfuse offer it, and it is to be used */
	unsigned ring_reason;    /* enum ring_reason: why FUSE requests do not travel over io_uring */
	unsigned ring_depth;     /* requests of a queue */
	atomic_uint *ring_waits; /* kernel_ring.h, one a queue: entries of who waits for others */
	bool allow_other;
	atomic_bool has_locked; /* somebody has asked the daemon for a lock, and that it is local was said */
	atomic_size_t open_files;
	atomic_size_t opening;          /* OPENs on their way */
	atomic_uint refreshes_unwaited; /* server_refresh.h */
	struct fs_counters counters;
};

/* The open file or directory of a request. */
static inline struct opened *fs_opened(const struct fs *fs, const struct fuse_file_info *fi)
{
	return slots_at(&fs->opened, fi->fh);
}

/* The inode of a node id, which the kernel has not forgotten. */
static inline struct inode *fs_inode(struct fs *fs, fuse_ino_t ino)
{
	return inode_table_numbered(fs->inodes, ino);
}

/*
 * Makes the kernel ask for an inode's attributes before it shows them next. Its pages stay: so this takes
 * no lock in the kernel, and waits for nothing. -ENOENT when it does not have the inode, which may be on its way to it.
 */
static inline int fs_invalidate_attributes(const struct fs *fs, const struct inode *i)
{
	return fuse_lowlevel_notify_inval_inode(fs->session, i->number, -1, 0);
}

/* Whether this mount may have a local path at all. */
static inline bool fs_may_be_local(const struct fs *fs)
{
	return fs->probe && (fs->passthrough || fs->uring);
}

/* The session with the sidecar, 0 when there is none. */
static inline uint64_t fs_generation(const struct fs *fs)
{
	return fs->probe ? probe_generation(fs->probe) : 0;
}

/* Where it is remembered that a thread was sent to walk again. */
static inline atomic_uint_fast64_t *fs_retry_of(struct fs *fs, pid_t thread)
{
	return &fs->retries[(unsigned)thread % FS_RETRIES];
}

/* Whether the server answers from memory what files are like; false until a sidecar has said so. */
static inline bool fs_server_remembers(const struct fs *fs)
{
	return fs->probe && probe_server_remembers(fs->probe);
}

/* noac means it, too, as for the kernel's client (fs/nfs/fs_context.c): others see each change at once. */
static inline bool fs_is_sync(const struct fs *fs)
{
	return fs->options->sync || fs->options->noac;
}

/* Whether locks of this kind are the kernel's own, which no request tells of. */
static inline bool fs_kernel_locks(const struct fs *fs, enum local_lock kind)
{
	const struct mount_options *o = fs->options;

	return o->nolock || o->local_lock == LOCAL_LOCK_ALL || o->local_lock == (unsigned)kind;
}
