/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The broker protocol: what localiofs and localiofs-sidecar say to each other over the AF_UNIX
 * SOCK_SEQPACKET socket broker.sock in the registry.
 *
 * Both ends are on one host by construction (the socket is a file on its tmpfs), so every integer
 * is in host byte order. One packet is one message: a struct broker_header and one fixed body,
 * chosen by the type. A packet of another length than its type has is a protocol error and ends
 * the session. Requests carry an id which the reply repeats; many may be in flight, and replies
 * come in any order. Of requests only PROVE and HELLO carry a descriptor, one; of replies OPEN's does when its
 * backing_id is negative.
 *
 * The session is the connection. Order on it: ANNOUNCE, MATCHED (from the sidecar), PROVE where the client
 * can, HELLO, then the rest. Anything out of order ends the session. A session repeats ANNOUNCE, with a nonce
 * of its own each time, and the question of local_rpc.h behind it, at least every recheck_s seconds.
 *
 * Of every version alike are: the header, ANNOUNCE's type and the version at the start of its body, and GOODBYE. To a
 * client of another version the sidecar says GOODBYE(REASON_VERSION), whatever else is in its ANNOUNCE.
 *
 * The page for people is localiofs-broker(7).
 */
#pragma once

#include <stdint.h>

#define BROKER_VERSION     6
#define BROKER_SOCKET_NAME "broker.sock"
#define BROKER_MAX_FH      128 /* bytes: NFSv4's limit, NFSv3's is 64 */
#define BROKER_MAX_GROUPS  16  /* AUTH_UNIX's limit, RFC 5531 appendix A */
#define BROKER_MAX_MESSAGE 512
#define BROKER_PEER_LEN    56 /* "[address]:port" and its NUL */

enum broker_type {
	/* requests of the client */
	BROKER_ANNOUNCE = 1,  /* struct broker_announce -> broker_announced */
	BROKER_HELLO = 2,     /* struct broker_hello, with the /dev/fuse descriptor of a mount on which ids
				 can be registered -> broker_hello_reply */
	BROKER_OPEN = 3,      /* struct broker_open -> broker_open_reply */
	BROKER_RELEASE = 4,   /* struct broker_release -> broker_status */
	BROKER_COMMIT = 5,    /* struct broker_commit -> broker_status */
	BROKER_PING = 6,      /* no body -> broker_status */
	BROKER_FALLOCATE = 7, /* struct broker_range -> broker_status */
	BROKER_SEEK = 8,      /* struct broker_range -> broker_amount */
	BROKER_COPY = 9,      /* struct broker_copy -> broker_amount */
	BROKER_TRUNCATE = 10, /* struct broker_truncate -> broker_truncated */
	BROKER_SYNC_DIR = 11, /* struct broker_sync_dir -> broker_status */
	BROKER_PROVE = 12,    /* no body, with a memfd that carries OWNER_PROOF (registry_layout.h) -> broker_status */

	/* replies: the request's type with this bit */
	BROKER_REPLY = 0x100,

	/* from the sidecar, unasked; id is 0 */
	BROKER_MATCHED = 0x201, /* struct broker_matched */
	BROKER_REVOKE = 0x202,  /* struct broker_revoke */
	BROKER_GOODBYE = 0x203, /* struct broker_status: why the service ends (enum reason) */
};

struct broker_header {
	uint32_t type;   /* enum broker_type */
	uint32_t length; /* bytes of the whole packet, this header included */
	uint64_t id;     /* chosen by the client, repeated in the reply */
};

struct broker_fh {
	uint32_t length;             /* 1..BROKER_MAX_FH */
	uint8_t data[BROKER_MAX_FH]; /* bytes past length are zero */
};

/* The AUTH_UNIX credential that the client would have put into the same NFS call. */
struct broker_cred {
	uint32_t uid;
	uint32_t gid;
	uint32_t ngroups; /* 0..BROKER_MAX_GROUPS */
	uint32_t groups[BROKER_MAX_GROUPS];
};

/* A file's attributes as the backing filesystem has them: what fattr3 says, RFC 1813 2.6. */
struct broker_attr {
	uint64_t fileid;
	uint64_t size; /* bytes */
	uint64_t used; /* bytes on disk */
	int64_t atime_sec, mtime_sec, ctime_sec;
	uint32_t atime_nsec, mtime_nsec, ctime_nsec;
	uint32_t mode; /* st_mode: type and permissions */
	uint32_t nlink;
	uint32_t uid;
	uint32_t gid;
	uint32_t rdev_major;
	uint32_t rdev_minor;
	uint32_t pad;
};

/*
 * The client's half of a nonce. The nonce is made of both halves (probe/nonce.h), so neither side can choose it, and
 * nobody can have used it before.
 */
struct broker_announce {
	uint32_t version; /* BROKER_VERSION */
	uint32_t reserved;
	uint8_t uuid[16]; /* random */
};

struct broker_announced {
	int32_t error;
	uint32_t reason;
	uint32_t slot;      /* of the file "registry": holds the nonce's hash from before this answer on */
	uint32_t probeport; /* where to ask UUID_IS_LOCAL; 0 while the NFS server does not listen */
	uint32_t recheck_s; /* a session whose last match is older than so many seconds ends */
	uint32_t reserved;
	uint8_t uuid[16];      /* the sidecar's half of the nonce, random */
	uint8_t challenge[16]; /* random, the same for the whole connection: what OWNER_PROOF is to contain */
};

/* What every plain reply says. */
struct broker_status {
	int32_t error;   /* 0 or a negative errno */
	uint32_t reason; /* enum reason when error is not 0 */
};

/* UUID_IS_LOCAL arrived with this session's nonce and everything about it was right. */
struct broker_matched {
	char peer[BROKER_PEER_LEN]; /* the RPC's source as the sidecar saw it: the session's auth domain */
	uint32_t reserved_port;     /* 1 when that source port was below 1024 */
	uint32_t reserved;
};

struct broker_hello {
	uint32_t version;      /* BROKER_VERSION */
	struct broker_fh root; /* the handle that MOUNT returned */
};

struct broker_hello_reply {
	int32_t error;
	uint32_t reason;
	struct broker_attr root;   /* to be compared with what GETATTR says of the same handle */
	char export_path[128];     /* for people: the export as the server's host names it, truncated */
	uint32_t server_remembers; /* 1 when the server may answer from memory what a file was like, so that it must be
				told of what was written past it */
	uint32_t pad;
};

enum broker_open_flags {
	BROKER_OPEN_WANT_ID = 1,    /* register a backing id when the rules allow one */
	BROKER_OPEN_ATTR = 2,       /* nothing but the attributes, which anybody may have: GETATTR */
	BROKER_OPEN_WANT_FD = 4,    /* send a descriptor, with WANT_ID only where the kernel registers no id */
	BROKER_OPEN_WANT_WRITE = 8, /* with WANT_FD: for reading and writing, where the rules allow that */
};

/* The access of the reply is enum nfs_access (nfs_access.h). */
struct broker_open {
	struct broker_fh fh;
	struct broker_cred cred;
	uint32_t flags; /* enum broker_open_flags */
};

struct broker_open_reply {
	int32_t error;      /* of the open itself: -ESTALE, -EACCES (export not for this peer)... */
	uint32_t reason;    /* with error, or why there is no id */
	uint32_t access;    /* enum nfs_access: what the server would grant this credential */
	int32_t backing_id; /* > 0: registered on this session's fuse descriptor; < 0: a descriptor comes along, and
				this is its number, which serves as an id in the requests below; 0: neither */
	uint32_t writable;  /* 1 when the id may be opened for writing too, or the descriptor is O_RDWR, not O_RDONLY */
	uint32_t root;      /* 1 when the credential is uid 0 after the squash: it may use reserved blocks */
	uint32_t any_groups; /* 1 when access would be the same whatever other groups the credential had */
	uint32_t pad;
	struct broker_attr attr;
};

/*
 * Closes an id on the session's fuse connection, when no open file uses it any more. An id of an
 * earlier session of the same mount is closed too: it can only be this connection's. Or says that the
 * descriptor of that number is closed; -ENOENT for another session's.
 */
struct broker_release {
	int32_t backing_id;
	uint32_t pad;
};

/* fsync of the file behind an id of this session; -ENOENT for an id of an earlier one. */
struct broker_commit {
	int32_t backing_id;
	uint32_t pad;
};

/* Of the file behind an id of this session; -ENOENT for an id of an earlier one. */
struct broker_range {
	int32_t backing_id;
	uint32_t how; /* FALLOCATE: fallocate(2)'s mode; -EBADF when the id is not writable.
			     SEEK: SEEK_DATA or SEEK_HOLE of lseek(2) */
	uint64_t offset;
	uint64_t length; /* FALLOCATE */
};

/* copy_file_range(2) between the files behind two ids of this session, the second a writable one. */
struct broker_copy {
	int32_t from;
	int32_t to;
	uint64_t from_offset;
	uint64_t to_offset;
	uint64_t length;
};

/*
 * The size of a file that this credential may write to: what ACCESS and SETATTR would do. Whatever is in the way is an
 * error without a change, and the server to be asked.
 */
struct broker_truncate {
	struct broker_fh fh;
	struct broker_cred cred;
	uint64_t size;
};

struct broker_truncated {
	int32_t error;
	uint32_t reason;
	struct broker_attr attr; /* afterwards */
};

/*
 * fsync of a directory, by whoever the server serves: to have its names on the disk needs no permission. An error with
 * a reason says that it is not the sidecar's to sync; an error without one, and REASON_LIMIT, that its names are not
 * stable.
 */
struct broker_sync_dir {
	struct broker_fh fh;
	struct broker_cred cred;
};

struct broker_amount {
	int32_t error;
	uint32_t reason;
	uint64_t amount; /* SEEK: the offset; COPY: bytes, which may be fewer than were asked for */
};

/*
 * No grant made before this message may serve a new open. It names no export: the session goes on with a new
 * generation, and the client asks again for the grants that it may still have.
 */
struct broker_revoke {
	uint32_t reason; /* enum reason */
	uint32_t pad;
};

#define BROKER_ASSERT(type, bytes) _Static_assert(sizeof(struct type) == (bytes), #type " layout")
BROKER_ASSERT(broker_header, 16);
BROKER_ASSERT(broker_fh, 132);
BROKER_ASSERT(broker_cred, 76);
BROKER_ASSERT(broker_attr, 88);
BROKER_ASSERT(broker_announce, 24);
BROKER_ASSERT(broker_announced, 56);
BROKER_ASSERT(broker_status, 8);
BROKER_ASSERT(broker_matched, 64);
BROKER_ASSERT(broker_hello, 136);
BROKER_ASSERT(broker_hello_reply, 232);
BROKER_ASSERT(broker_open, 212);
BROKER_ASSERT(broker_open_reply, 120);
BROKER_ASSERT(broker_release, 8);
BROKER_ASSERT(broker_commit, 8);
BROKER_ASSERT(broker_range, 24);
BROKER_ASSERT(broker_copy, 32);
BROKER_ASSERT(broker_amount, 16);
BROKER_ASSERT(broker_truncate, 216);
BROKER_ASSERT(broker_truncated, 96);
BROKER_ASSERT(broker_revoke, 8);
BROKER_ASSERT(broker_sync_dir, 208);
#undef BROKER_ASSERT
