/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The transport: how a request reaches the NFS server. One call object a request, one function to
 * submit it, one callback when it is answered. NFSv3 on libnfs (nfs3.h) implements it; nothing
 * above this header knows the NFS version.
 *
 * Ownership: the caller owns a struct nfs_call and everything it points to and keeps both until
 * done() runs, exactly once, on the transport's own loop thread. done() must not block. Results
 * that are pointers (data, target, entries, ACLs) are valid until done() returns. Whatever the server
 * answers to a call that is done is dropped.
 *
 * Errors: call->error is 0 or a negative errno. A transport waits for a server that is away, unless
 * the mount is soft (-EIO, or -ETIMEDOUT with softerr), the call has limited its patience
 * (-ETIMEDOUT), or the caller has given up (-EINTR). What was sent by then may have been done by
 * the server all the same. -ENOTCONN means that the transport is being taken down.
 */
#pragma once

#include <sys/socket.h>

#include "localiofs/nfs_access.h"
#include "base/list.h"
#include "base/util.h"

#define NFS_FH_MAX     64
#define NFS_GROUPS_MAX 16
#define NFS_NAME_MAX   255

struct nfs_fh {
	uint32_t len; /* bytes; 0 is no handle */
	uint8_t data[NFS_FH_MAX];
};

/* AUTH_UNIX, RFC 5531 appendix A. */
struct nfs_cred {
	uint32_t uid;
	uint32_t gid;
	uint32_t ngroups;
	uint32_t groups[NFS_GROUPS_MAX];
};

/* fattr3, RFC 1813 2.6; mode carries the type bits of st_mode. */
struct nfs_attr {
	uint32_t mode;
	uint32_t nlink;
	uint32_t uid;
	uint32_t gid;
	uint64_t size; /* bytes */
	uint64_t used; /* bytes on disk */
	uint64_t fsid;
	uint64_t fileid;
	uint32_t rdev_major;
	uint32_t rdev_minor;
	struct timespec atime, mtime, ctime;
};

/* wcc_data, RFC 1813 2.6: a directory right before and right after something was done in it. */
struct nfs_wcc {
	bool has_before, has_after;
	uint64_t size_before;
	struct timespec mtime_before, ctime_before;
	struct nfs_attr after;
};

enum nfs_proc {
	NFS_NULL,
	NFS_GETATTR,
	NFS_SETATTR,
	NFS_LOOKUP,
	NFS_ACCESS,
	NFS_READLINK,
	NFS_READ,
	NFS_WRITE,
	NFS_CREATE,
	NFS_MKDIR,
	NFS_SYMLINK,
	NFS_MKNOD,
	NFS_REMOVE,
	NFS_RMDIR,
	NFS_RENAME,
	NFS_LINK,
	NFS_READDIR,
	NFS_READDIRPLUS,
	NFS_FSSTAT,
	NFS_FSINFO,
	NFS_PATHCONF,
	NFS_COMMIT,
	/* NFSACL, program 100227 version 3, on the same connection. */
	NFS_GETACL,
	NFS_SETACL,
	NFS_PROC_COUNT,
};

enum nfs_stable {
	NFS_UNSTABLE = 0,
	NFS_DATA_SYNC = 1,
	NFS_FILE_SYNC = 2,
};

/* sattr3: what to set. Times: either the server's clock or the given value. */
struct nfs_sattr {
	bool set_mode, set_uid, set_gid, set_size;
	bool set_atime, set_mtime, atime_now, mtime_now;
	uint32_t mode; /* permission bits */
	uint32_t uid;
	uint32_t gid;
	uint64_t size;
	struct timespec atime, mtime;
};

struct nfs_entry {
	const char *name;
	uint64_t fileid;
	uint64_t cookie; /* names the entry after this one */
	bool has_attr;
	struct nfs_attr attr;
	struct nfs_fh fh; /* len 0 when the server sent none */
};

struct nfs_verf {
	uint8_t data[8];
};

/* What GETACL asks for and SETACL sets; NFS_ACL and its like in fs/nfs_common/nfsacl.c's header. */
enum nfs_acl_mask {
	NFS_ACL_ACCESS = 0x01,
	NFS_ACL_ACCESS_COUNT = 0x02,
	NFS_ACL_DEFAULT = 0x04,
	NFS_ACL_DEFAULT_COUNT = 0x08,
};

#define NFS_ACL_MAX      1024    /* entries of one ACL that a server may answer (NFS_ACL_MAX_ENTRIES) */
#define NFS_ACL_SETTABLE 300     /* entries of both ACLs that one SETACL has room for in libnfs */
#define NFS_ACE_DEFAULT  0x1000U /* in the tag of each entry of a default ACL */

/* An entry as it is on the wire; fuse/posix_acl.h knows what the tags mean. */
struct nfs_ace {
	uint32_t tag, id, perm;
};

/*
 * An access ACL and a default one; of the latter a count of 0 says that there is none. A file without
 * an access ACL has four entries, made of its mode, the third a mask like its group's. A count of 4
 * alone does not tell such a file from one whose mask is another.
 */
struct nfs_acls {
	uint32_t mask; /* enum nfs_acl_mask: which of them these are */
	uint32_t access_count, default_count;
	const struct nfs_ace *access, *dflt; /* GETACL: NULL where only the count was asked for */
};

/*
 * The transport's own part of a call, from submit to done. A call that is sent again is the same
 * bytes, xid included: by them the server's reply cache knows it again.
 */
struct nfs_wire {
	struct connection *connection; /* NULL until it has one; then it stays there */
	struct list tickets;           /* struct nfs3_ticket.node: one each time it was sent on this connection */
	uint32_t xid;
	uint64_t since;      /* ms: when it was submitted, or was told to come back later */
	uint64_t due;        /* ms: when it is sent again for want of an answer, or after a delay */
	unsigned timeout_ms; /* from one such time to the next */
	bool overdue;        /* it was said once that it takes too long */
};

struct nfs_call {
	struct list node;     /* struct server's, from submit to done */
	struct nfs_wire wire; /* the transport's */
	unsigned patience_ms; /* 0: as the mount says, for ever when it is hard */
	unsigned delay_ms;    /* it is not sent before so long after it was submitted */
	/*
	 * Asked on the loop thread, about once a second while the call waits, if it takes so long:
	 * whether nobody wants the answer any more. NULL: it is wanted.
	 */
	bool (*given_up)(struct nfs_call *call);
	enum nfs_proc proc;
	struct nfs_cred cred;
	struct nfs_fh fh;  /* the object, or the directory that name is in */
	struct nfs_fh fh2; /* RENAME: directory of name2; LINK: directory of name */
	const char *name;
	const char *name2; /* RENAME: new name; SYMLINK: target */
	union {
		struct nfs_sattr sattr; /* SETATTR, CREATE, MKDIR, SYMLINK, MKNOD */
		struct {
			uint32_t bits;
		} access;
		struct {
			uint64_t offset;
			uint32_t count;         /* bytes */
			enum nfs_stable stable; /* WRITE */
			const void *data;       /* WRITE */
			/* server_append(): true until offset is known. The server has none of the data before. */
			bool append;
		} io; /* READ, WRITE, COMMIT */
		struct {
			uint64_t cookie;
			struct nfs_verf verf;
			uint32_t count; /* bytes of reply wanted */
		} dir;
		struct nfs_acls acl; /* SETACL; GETACL: the mask alone */
	} args;
	/* CREATE: the call fails when the name exists, unless this call, sent again, has made the file. */
	bool exclusive;
	struct nfs_verf create_verf;     /* the server's: names an exclusive CREATE */
	uint32_t rdev_major, rdev_minor; /* MKNOD */

	int error;
	bool has_attr;
	struct nfs_attr attr; /* of the object: of the new one for LOOKUP, CREATE... */
	/* Of the directories fh and fh2, also with an error; without the state before: LOOKUP, READDIR. */
	struct nfs_wcc dir, dir2;
	struct nfs_fh new_fh; /* LOOKUP, CREATE, MKDIR, SYMLINK, MKNOD; len 0 when not sent */
	union {
		uint32_t access;
		struct {
			const void *data; /* READ */
			uint32_t count;
			bool eof;
			enum nfs_stable committed; /* WRITE */
			struct nfs_verf verf;      /* WRITE, COMMIT */
		} io;
		const char *target; /* READLINK, NUL-terminated */
		struct {
			const struct nfs_entry *entries;
			size_t count;
			bool eof;
			struct nfs_verf verf;
		} dir;
		struct {
			uint64_t tbytes, fbytes, abytes, tfiles, ffiles, afiles;
		} fsstat;
		struct {
			uint32_t rtmax, rtpref, wtmax, wtpref, dtpref;
			uint64_t maxfilesize;
		} fsinfo;
		struct {
			uint32_t linkmax, name_max;
		} pathconf;
		struct nfs_acls acl; /* GETACL: with the mask that was asked for, at least */
	} res;

	/*
	 * server_create(), where it takes several procedures: on the loop thread, the file is made, and dir and
	 * new_fh are known. Its attributes are not set yet; done() follows. May be NULL.
	 */
	void (*made)(struct nfs_call *call);
	void (*done)(struct nfs_call *call);
};

#define SERVER_CONNECTIONS_MAX 16

struct connection_stats {
	bool connected;
	unsigned port;     /* ours, 0 before the first time */
	uint64_t answered; /* calls */
};

/* What any thread may ask at any time. */
struct server_stats {
	bool connected;                 /* one connection at least */
	uint64_t calls[NFS_PROC_COUNT]; /* answered */
	uint64_t reconnects;
	struct sockaddr_storage peer; /* family 0 before the first connection */
	int last_error;               /* why the server could not be reached the last time; 0: it always was */
	unsigned nconnections;
	struct connection_stats connections[SERVER_CONNECTIONS_MAX];
};

struct server;

struct server_ops {
	void (*submit)(struct server *t, struct nfs_call *call);
	void (*create)(struct server *t, struct nfs_call *call);
	void (*append)(struct server *t, struct nfs_call *call);
	void (*stats)(struct server *t, struct server_stats *ret);
	void (*stop)(struct server *t);
	void (*free)(struct server *t);
};

struct server {
	const struct server_ops *ops;
};

/* Hands a call over; any thread; never blocks and never fails: done() brings every error. */
static inline void server_submit(struct server *t, struct nfs_call *call)
{
	t->ops->submit(t, call);
}

/* Makes a regular file: NFS_CREATE with args.sattr and exclusive. Otherwise as server_submit(). */
static inline void server_create(struct server *t, struct nfs_call *call)
{
	t->ops->create(t, call);
}

/*
 * Writes at the end that the file has at the server: NFS_WRITE with args.io.append. Two appends to one file must not be
 * under way at once. Otherwise as server_submit().
 */
static inline void server_append(struct server *t, struct nfs_call *call)
{
	t->ops->append(t, call);
}

static inline void server_stats(struct server *t, struct server_stats *ret)
{
	t->ops->stats(t, ret);
}

/*
 * Ends the loop thread. Calls that still wait, and all that come later, are done with -ENOTCONN;
 * the latter on their own thread. Takes NULL.
 */
static inline void server_stop(struct server *t)
{
	if (t)
		t->ops->stop(t);
}

/* Stops if that was not done, and frees: nobody may submit any more. Takes NULL; returns NULL. */
static inline struct server *server_free(struct server *t)
{
	if (t)
		t->ops->free(t);
	return NULL;
}

/*
 * Submits and waits: for start-up and the probe's thread, never for a FUSE handler. Sets done
 * itself. Pointers in the result are gone when it returns.
 */
int server_call(struct server *t, struct nfs_call *call);

/* The name of a procedure as RFC 1813, or NFSACL's protocol, spells it. */
const char *nfs_proc_name(enum nfs_proc proc);

static inline bool nfs_fh_equal(const struct nfs_fh *a, const struct nfs_fh *b)
{
	return a->len == b->len && __builtin_memcmp(a->data, b->data, a->len) == 0;
}
