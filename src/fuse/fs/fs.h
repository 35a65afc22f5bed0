/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The mount: the state that all handlers share. The thread that mounts fills it before the first request; it is
 * constant afterwards, except for the atomic members and for the objects behind its pointers, which have their own
 * locks.
 */
#pragma once

#define FUSE_USE_VERSION FUSE_MAKE_VERSION(3, 18)
#include <fuse_lowlevel.h>

#include "fuse/fs/namespaces.h"
#include "fuse/node/inode_table.h"
#include "io/server.h"
#include "io/uring.h"
#include "mount/options.h"
#include "probe/probe.h"
#include "table/keyed_hash.h"
#include "table/slots.h"

struct backing_ids;
struct cache;
struct idle_ids;
struct lease;
struct locks;
struct operations;
struct setter;
struct settings;
struct shortcut;

#define FS_RETRIES 256

/* localioctl status shows these counters; localiofs-status(7) explains them. */
struct fs_counters {
	atomic_uint_fast64_t opens[OPEN_PATH_COUNT];
	atomic_uint_fast64_t opens_retired; /* opens answered ESTALE for a fresh inode */
	atomic_uint_fast64_t opens_hot;     /* local opens that needed no question about permission (known.h) */
	atomic_uint_fast64_t
		opens_uring; /* opens whose reads, or reads and writes, the daemon serves by a descriptor */
	atomic_uint_fast64_t opens_shared;  /* opens that are remote because the file was open remotely already */
	atomic_uint_fast64_t requests_read; /* FUSE READ requests that reached the daemon */
	atomic_uint_fast64_t requests_write;
	atomic_uint_fast64_t requests_astray; /* those of passthrough opens, which the kernel should serve itself */
	atomic_uint_fast64_t bytes_read, bytes_written; /* by READ and WRITE requests */
	atomic_uint_fast64_t lookups_known;             /* lookups answered without the server */
	atomic_uint_fast64_t listings_repeated;         /* readings again, since the digest was another */
	atomic_uint_fast64_t doubts;                    /* changes without the sidecar's reply */
	atomic_uint_fast64_t notices;                   /* of the sidecar */
	atomic_uint_fast64_t notices_forgets;           /* how often the kernel forgot all names for them */
	atomic_uint_fast64_t requests_flush;            /* FLUSH requests */
	atomic_uint_fast64_t requests_xattr;            /* requests about extended attributes */
	atomic_uint_fast64_t grants_denied;             /* local opens without a backing id */
	atomic_uint last_denial;                        /* enum reason of the last denied grant */
	atomic_uint_fast64_t opens_walked;              /* opens answered ESTALE, so that the kernel walks again */
	atomic_uint_fast64_t refreshes;                 /* server_refresh.h: answered requests */
	atomic_uint_fast64_t refreshes_failed;
	atomic_uint_fast64_t refreshes_touched; /* memory.h: directories that were touched for a look */
	atomic_uint_fast64_t groups_unknown;    /* callers whose groups were not visible */
};

struct fs {
	/* Those of this moment, which are constant; settings.h changes the pointer. */
	_Atomic(const struct mount_options *) options;
	const char *defaults;      /* those that the defaults file gave */
	struct server *server;     /* the shortcut's, in front of the NFS server's */
	struct shortcut *shortcut; /* freed with the server */
	struct inode_table *inodes;
	struct slots opened; /* struct opened of files and directories, by the number that the kernel has */
	struct cache *names, *rights, *own_names;       /* known.h */
	atomic_uint_fast64_t links_changed, went_stale; /* known.h: attr_clock() */
	atomic_uint_fast64_t moved;                     /* attr_clock() when a name last went to another directory */
	atomic_uint_fast64_t groups_asked; /* the last session whose sidecar has refused a change without groups */
	struct lease *lease;               /* NULL: the kernel cannot be made to forget names, or there is no probe */
	atomic_uint_fast64_t forgot;       /* attr_clock() right before the kernel last forgot all names */
	atomic_uint_fast64_t leased;       /* lease.h: the number of the present lease; 0: there is none */
	/*
	 * lease.h: the lease of directories that the daemon has made, without an answer that they are watched; 0: there
	 * is none. Whether there are any.
	 */
	atomic_uint_fast64_t born;
	atomic_bool has_born;
	atomic_uint_fast64_t leased_from; /* attr_clock(): answers to questions from before count for no lease */
	/*
	 * Found by the opener's thread id: the inode.generation for which an open has made the thread walk again, then
	 * the inode.generation that the thread has found; 0: none.
	 */
	atomic_uint_fast64_t retries[FS_RETRIES];
	struct backing_ids *ids;
	struct idle_ids *idle;
	struct locks *locks;
	struct operations *operations; /* the requests in numbers */
	struct setter *setter;         /* NULL: this process cannot act as other users, or the mount is never local */
	struct settings *settings;     /* the options of earlier moments */
	struct probe *probe;           /* NULL with local=off */
	struct uring *uring;           /* NULL if the daemon must not, or cannot, read and write locally */
	struct namespaces namespaces;
	struct fuse_session *session;
	struct inode *root;
	struct hash_key listing_key;             /* of fuse/listings/listing.h */
	_Atomic(struct kept_batch *) kept_batch; /* fuse/listings/batch.h; or NULL */
	char spec[2048];                         /* SERVER:/EXPORT as the user gave it */
	char server_address[64];
	unsigned server_port;
	char device[32];         /* major:minor, empty until mounted */
	uid_t owner;             /* the user who mounted */
	int64_t started;         /* seconds since the epoch */
	uint32_t rsize, wsize;   /* bytes of one request */
	uint64_t max_file_size;  /* bytes, from FSINFO */
	uint64_t fsid;           /* the NFS fsid of the export */
	bool has_acls;           /* the server has ACLs and NFSACL, and the mount may use them */
	bool forgets_names;      /* kernel and libfuse have FUSE_NOTIFY_INC_EPOCH */
	bool passthrough;        /* kernel and libfuse offer passthrough, and the options do not forbid it */
	unsigned ring_reason;    /* enum ring_reason: why FUSE requests do not travel over io_uring */
	unsigned ring_depth;     /* entries per queue */
	atomic_uint *ring_waits; /* kernel_ring.h: per queue, the entries of requests that wait for other requests */
	bool allow_other;
	bool one_user;          /* the kernel lets only processes with the owner's uid and gid in (fs/fuse/dir.c
				   fuse_permissible_uidgid) */
	atomic_bool has_locked; /* the daemon has got a lock request, and has logged that locks are local */
	atomic_size_t open_files;
	atomic_size_t opening;          /* OPEN requests in progress */
	atomic_uint refreshes_unwaited; /* server_refresh.h */
	atomic_bool looks_by_commit;    /* server_refresh.h: GETACL does not make the server look */
	struct fs_counters counters;
};

/* The pid of the request's caller; 0 if the number would mean another process here. */
static inline pid_t fs_caller_pid(const struct fs *fs, fuse_req_t req)
{
	return fs->namespaces.sees_callers ? fuse_req_ctx(req)->pid : 0;
}

/* The thread that made a request, and its ids then, as the request has them. */
struct caller {
	pid_t pid; /* 0: the number would mean another process here */
	uid_t uid; /* of the filesystem, as the gid */
	gid_t gid;
};

/* The credential that requests about an open file or directory use, and who opened it. */
struct opened_as {
	struct nfs_cred cred; /* as the server gets the ids */
	bool has_groups;      /* cred includes the groups; an open that nobody's groups decide needs none */
	struct caller opener;
};

/* The open file or directory of a request. */
static inline struct opened *fs_opened(const struct fs *fs, const struct fuse_file_info *fi)
{
	return slots_at(&fs->opened, fi->fh);
}

/* The inode of a node id that the kernel has not forgotten. */
static inline struct inode *fs_inode(struct fs *fs, fuse_ino_t ino)
{
	return inode_table_numbered(fs->inodes, ino);
}

/*
 * Makes the kernel ask for an inode's attributes before it shows them again. The pages stay, so the call takes no lock
 * in the kernel and does not wait. -ENOENT if the kernel does not have the inode; the answer that tells the kernel of
 * the inode may still be on its way.
 */
static inline int fs_invalidate_attributes(const struct fs *fs, const struct inode *i)
{
	return fuse_lowlevel_notify_inval_inode(fs->session, i->number, -1, 0);
}

/* True if this mount can have local opens at all. */
static inline bool fs_may_be_local(const struct fs *fs)
{
	return fs->probe && (fs->passthrough || fs->uring);
}

/* The number of the session with the sidecar; 0 if there is none. */
static inline uint64_t fs_generation(const struct fs *fs)
{
	return fs->probe ? probe_generation(fs->probe) : 0;
}

/* The entry of fs->retries for a thread. */
static inline atomic_uint_fast64_t *fs_retry_of(struct fs *fs, pid_t thread)
{
	return &fs->retries[(unsigned)thread % FS_RETRIES];
}

/* True if the server answers GETATTR from its memory, so it may miss local changes; false until a sidecar says so. */
static inline bool fs_server_remembers(const struct fs *fs)
{
	return fs->probe && probe_server_remembers(fs->probe);
}

/*
 * True if each write must be stable before it is answered: option sync, and also noac, as in the kernel's client
 * (fs/nfs/fs_context.c), because with noac other clients see each change at once.
 */
static inline bool fs_is_sync(const struct fs *fs)
{
	return fs->options->sync || fs->options->noac;
}

/* True if the kernel keeps locks of this kind itself, and sends no lock requests. */
static inline bool fs_kernel_locks(const struct fs *fs, enum local_lock kind)
{
	const struct mount_options *o = fs->options;

	return o->nolock || o->local_lock == LOCAL_LOCK_ALL || o->local_lock == (unsigned)kind;
}
