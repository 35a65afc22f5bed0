/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The broker protocol between localiofs (the client) and localiofs-sidecar, over the AF_UNIX SOCK_SEQPACKET socket
 * broker.sock in the registry. Layouts and constant values; localiofs-broker(7) is the page for people, and
 * wire/broker_messages.c has the table of the messages.
 *
 * Both ends are on one host (the socket is a file on that host's tmpfs), so every integer is in host byte order. One
 * packet is one message: a struct broker_header, and a body whose layout and length depend on the type alone. A packet
 * of another length ends the session. Each request has an id, which its reply repeats; many requests may be in flight,
 * and replies come in any order. One descriptor travels with PROVE, and one may travel with HELLO, and with the reply
 * of OPEN: when its backing_id is negative.
 *
 * The connection is the session. The order of messages is ANNOUNCE, MATCHED (from the sidecar), PROVE (from privileged
 * clients), HELLO, then all others. A message out of order ends the session. At least every recheck_s seconds the
 * client repeats ANNOUNCE, with a new nonce, and UUID_IS_LOCAL (local_rpc.h) with that nonce.
 *
 * All versions of the protocol share the header, the type of ANNOUNCE, the version at the start of its body, and
 * GOODBYE. The sidecar answers the ANNOUNCE of another version by GOODBYE(REASON_VERSION), whatever the rest of the
 * body.
 */
#pragma once

#include <stdint.h>

#define BROKER_VERSION     7
#define BROKER_SOCKET_NAME "broker.sock"
#define BROKER_MAX_FH      128 /* bytes: NFSv4's limit, NFSv3's is 64 */
#define BROKER_MAX_GROUPS  16  /* AUTH_UNIX's limit, RFC 5531 appendix A */
#define BROKER_MAX_MESSAGE 512
#define BROKER_MAX_NAME    255 /* bytes */
#define BROKER_PEER_LEN    56  /* "[address]:port" and its NUL */

enum broker_type {
	/* requests, from the client */
	BROKER_ANNOUNCE = 1, /* struct broker_announce -> broker_announced */
	BROKER_HELLO = 2,    /* struct broker_hello -> broker_hello_reply; with the mount's /dev/fuse descriptor, unless
				the kernel cannot register ids on it */
	BROKER_OPEN = 3,     /* struct broker_open -> broker_open_reply */
	BROKER_RELEASE = 4,  /* struct broker_release -> broker_status */
	BROKER_COMMIT = 5,   /* struct broker_commit -> broker_status */
	BROKER_PING = 6,     /* no body -> broker_status */
	BROKER_FALLOCATE = 7, /* struct broker_range -> broker_status */
	BROKER_SEEK = 8,      /* struct broker_range -> broker_amount */
	BROKER_COPY = 9,      /* struct broker_copy -> broker_amount */
	BROKER_TRUNCATE = 10, /* struct broker_truncate -> broker_truncated */
	BROKER_SYNC_DIR = 11, /* struct broker_sync_dir -> broker_status */
	BROKER_PROVE = 12,    /* no body -> broker_status; with a memfd that has OWNER_PROOF (registry_layout.h) */

	BROKER_LOOKUP = 13, /* struct broker_lookup -> broker_found */

	/* the type of a reply is the request's type with this bit */
	BROKER_REPLY = 0x100,

	/* from the sidecar, unasked; the id is 0 */
	BROKER_MATCHED = 0x201, /* struct broker_matched */
	BROKER_REVOKE = 0x202,  /* struct broker_revoke */
	BROKER_GOODBYE = 0x203, /* struct broker_status: the reason why the session ends */
};

struct broker_header {
	uint32_t type;   /* enum broker_type */
	uint32_t length; /* bytes of the whole packet, header included */
	uint64_t id;     /* the client's choice; the reply has the same */
};

struct broker_fh {
	uint32_t length;             /* 1..BROKER_MAX_FH */
	uint8_t data[BROKER_MAX_FH]; /* bytes past length are zero */
};

/* The AUTH_UNIX credential of the corresponding NFS call. */
struct broker_cred {
	uint32_t uid;
	uint32_t gid;
	uint32_t ngroups; /* 0..BROKER_MAX_GROUPS */
	uint32_t groups[BROKER_MAX_GROUPS];
};

/* The attributes of a file in the backing filesystem; the fields of fattr3, RFC 1813 2.6. */
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
 * The client's half of a nonce. The nonce is made of both halves (wire/nonce.h), so neither side can choose a nonce, or
 * bring back an old nonce.
 */
struct broker_announce {
	uint32_t version; /* BROKER_VERSION */
	uint32_t reserved;
	uint8_t uuid[16]; /* random */
};

struct broker_announced {
	int32_t error;
	uint32_t reason;
	uint32_t slot; /* of the file "registry"; the slot already holds the nonce's hash when this reply is sent */
	uint32_t probeport;    /* the TCP port for UUID_IS_LOCAL; 0 while the NFS server does not listen */
	uint32_t recheck_s;    /* the session ends when its last match is older than so many seconds */
	uint32_t session;      /* the sidecar's number of this connection, for both logs; 0: it does not say */
	uint8_t uuid[16];      /* the sidecar's half of the nonce, random */
	uint8_t challenge[16]; /* the challenge for OWNER_PROOF; random, one per connection */
};

/* The body of most replies. */
struct broker_status {
	int32_t error;   /* 0, or a negative errno */
	uint32_t reason; /* enum reason, if error is not 0 */
};

/* UUID_IS_LOCAL arrived with this session's nonce, and passed all checks. */
struct broker_matched {
	char peer[BROKER_PEER_LEN]; /* the source of the RPC, as the sidecar saw it: the session's auth domain */
	uint32_t reserved_port;     /* 1 if that source port was below 1024 */
	uint32_t reserved;
};

struct broker_hello {
	uint32_t version;      /* BROKER_VERSION */
	struct broker_fh root; /* the file handle that MOUNT returned */
};

struct broker_hello_reply {
	int32_t error;
	uint32_t reason;
	struct broker_attr root;   /* for comparison with the server's GETATTR of the same handle */
	char export_path[128];     /* for people: the export's path on the server's host, truncated */
	uint32_t server_remembers; /* 1 if the server answers GETATTR from a cache; the client must then tell the server
				when it has written to a file directly */
	uint32_t pad;
};

enum broker_open_flags {
	BROKER_OPEN_WANT_ID = 1,    /* register a backing id if the rules allow an id */
	BROKER_OPEN_ATTR = 2,       /* attributes only, as GETATTR gives them to any credential */
	BROKER_OPEN_WANT_FD = 4,    /* send a descriptor; together with WANT_ID: if the kernel refuses the id */
	BROKER_OPEN_WANT_WRITE = 8, /* with WANT_FD: a descriptor for reading and writing, if the rules allow it */
};

struct broker_open {
	struct broker_fh fh;
	struct broker_cred cred;
	uint32_t flags; /* enum broker_open_flags */
};

struct broker_open_reply {
	int32_t error;      /* of the open: -ESTALE, -EACCES (the export is not for this peer)... */
	uint32_t reason;    /* of the error, or why the reply has no id */
	uint32_t access;    /* enum nfs_access (nfs_access.h): the bits that the server grants this credential */
	int32_t backing_id; /* > 0: an id, registered on the session's fuse descriptor; < 0: the number of the
				descriptor that travels with the reply, and an id for the requests below; 0: neither */
	uint32_t writable;  /* 1 if the id may be opened for writing, or the descriptor is O_RDWR instead of O_RDONLY */
	uint32_t root;      /* 1 if the credential is uid 0 after the squash, which may use reserved blocks */
	uint32_t any_groups; /* 1 if access does not depend on the credential's other groups */
	uint32_t pad;
	struct broker_attr attr;
};

/*
 * An id > 0: no open file uses the id any more, and the sidecar closes it on the session's fuse connection. The id may
 * be from an earlier session of the same mount, since all ids of the fuse connection belong to the mount. An id < 0:
 * the client has closed the descriptor of that number; -ENOENT for a number of another session.
 */
struct broker_release {
	int32_t backing_id;
	uint32_t pad;
};

/* fsync(2) of the file behind an id of this session; -ENOENT for an id of an earlier session. */
struct broker_commit {
	int32_t backing_id;
	uint32_t pad;
};

/* A range of the file behind an id of this session; -ENOENT for an id of an earlier session. */
struct broker_range {
	int32_t backing_id;
	uint32_t how; /* FALLOCATE: the mode of fallocate(2), -EBADF if the id is not writable.
			     SEEK: SEEK_DATA or SEEK_HOLE of lseek(2) */
	uint64_t offset;
	uint64_t length; /* FALLOCATE */
};

/* copy_file_range(2) between the files behind two ids of this session; the second id must be writable. */
struct broker_copy {
	int32_t from;
	int32_t to;
	uint64_t from_offset;
	uint64_t to_offset;
	uint64_t length;
};

/*
 * Sets the size of a file, as ACCESS and SETATTR at the server would with this credential. On any error the size is
 * unchanged, and the client asks the server.
 */
struct broker_truncate {
	struct broker_fh fh;
	struct broker_cred cred;
	uint64_t size;
};

struct broker_truncated {
	int32_t error;
	uint32_t reason;
	struct broker_attr attr; /* after the change */
};

/*
 * fsync(2) of a directory. The credential needs no permission on the directory; the server must serve it. An error
 * without a reason, or with REASON_LIMIT, means that the directory's names are not stable. An error with another reason
 * means that the sidecar may not sync this directory for the client.
 */
struct broker_sync_dir {
	struct broker_fh fh;
	struct broker_cred cred;
};

/* A name in a directory, as the corresponding NFS call names it. */
struct broker_lookup {
	struct broker_fh dir;
	struct broker_cred cred;
	char name[256]; /* BROKER_MAX_NAME bytes at most, and a NUL; bytes past the NUL are zero */
};

/*
 * The error is 0 or -ENOENT, and then the reason is 0: that is the server's answer, too. Otherwise only the NFS server
 * can answer, as the reason says.
 */
struct broker_found {
	int32_t error;
	uint32_t reason;
	struct broker_fh fh; /* byte for byte the server's handle of the file */
	uint32_t pad;
	struct broker_attr attr; /* of the file */
	struct broker_attr dir;  /* of the directory, from before the name was looked up */
};

struct broker_amount {
	int32_t error;
	uint32_t reason;
	uint64_t amount; /* SEEK: the offset; COPY: the number of copied bytes, possibly less than requested */
};

/*
 * The client must not use any grant from before this message for a new open. The message names no export: the session
 * continues, and the client requests the grants again that it may still have.
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
BROKER_ASSERT(broker_lookup, 464);
BROKER_ASSERT(broker_found, 320);
#undef BROKER_ASSERT
