/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The broker protocol between localiofs (the client) and localiofs-sidecar, over the AF_UNIX SOCK_SEQPACKET socket
 * broker.sock in the registry. Layouts and constant values; localiofs-broker(7) is the page for people, and
 * wire/broker_messages.c has the table of the messages.
 *
 * Both ends are on one host (the socket is a file on that host's tmpfs), so every integer is in host byte order. One
 * packet is one message: a struct broker_header, and a body whose layout and length depend on the type alone; but
 * behind the body of the reply to LIST come entries. A packet of another length ends the session. Each request has an
 * id, which its reply repeats; many requests may be in flight, and replies come in any order. One descriptor travels
 * with PROVE, and one may travel with HELLO, and with the replies of OPEN and MAKE (struct broker_open_reply).
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

#define BROKER_VERSION       14
#define BROKER_SOCKET_NAME   "broker.sock"
#define BROKER_MAX_FH        128 /* bytes: NFSv4's limit, NFSv3's is 64 */
#define BROKER_MAX_GROUPS    16  /* AUTH_UNIX's limit, RFC 5531 appendix A */
#define BROKER_GROUPS_UNTOLD UINT32_MAX
#define BROKER_MAX_MESSAGE   1024  /* bytes; but for the reply to LIST */
#define BROKER_MAX_LISTED    65536 /* bytes of the reply to LIST */
#define BROKER_MAX_NAME      255   /* bytes */
#define BROKER_MAX_RELEASE   31    /* ids per message */
#define BROKER_MAX_DIGEST    65536 /* names of a directory, some 20 ms of a worker */
#define BROKER_MAX_TARGET    511   /* bytes: longer targets of symbolic links go to the NFS server */
#define BROKER_PEER_LEN      56    /* "[address]:port" and its NUL */

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

	BROKER_LOOKUP = 13,  /* struct broker_lookup -> broker_found */
	BROKER_MAKE = 14,    /* struct broker_make -> broker_made */
	BROKER_SYMLINK = 15, /* struct broker_symlink -> broker_made */
	BROKER_REMOVE = 16,  /* struct broker_remove -> broker_changed */
	BROKER_RENAME = 17,  /* struct broker_rename -> broker_changed */
	BROKER_LINK = 18,    /* struct broker_link -> broker_changed */
	BROKER_SETATTR = 19, /* struct broker_setattr -> broker_changed */
	BROKER_DIGEST = 20,  /* struct broker_digest -> broker_digested */
	BROKER_LIST = 21,    /* struct broker_list -> broker_listed, and a struct broker_entry per name */

	/* the type of a reply is the request's type with this bit */
	BROKER_REPLY = 0x100,

	/* from the sidecar, unasked; the id is 0 */
	BROKER_MATCHED = 0x201, /* struct broker_matched */
	BROKER_REVOKE = 0x202,  /* struct broker_revoke */
	BROKER_GOODBYE = 0x203, /* struct broker_status: the reason why the session ends */
	BROKER_NOTICE = 0x204,  /* struct broker_notice */
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

/*
 * The AUTH_UNIX credential of the corresponding NFS call. A client that has not read the caller's groups says so. The
 * sidecar does what the request asks if no groups could change the answer: after the squash the credential is uid 0 or
 * has no groups, or its uid owns the file of an OPEN or the one directory of a LOOKUP, MAKE, SYMLINK, REMOVE or RENAME,
 * or the server looks up the groups itself. Else the reason is groups.
 */
struct broker_cred {
	uint32_t uid;
	uint32_t gid;
	uint32_t ngroups; /* 0..BROKER_MAX_GROUPS, or BROKER_GROUPS_UNTOLD */
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
	uint32_t flags; /* BROKER_ATTR_ */
};

/*
 * Of a directory: that of LOOKUP or OPEN if the request asks; and one of which the client gets notices, when it is made
 * by MAKE, and after a change of its names. Of a regular file in the reply to LIST, if the request asks.
 */
#define BROKER_ATTR_NO_ACL 1U /* its mode alone says who may do what */
#define BROKER_ATTR_EMPTY  2U /* MAKE: it had no name when it was watched already */

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
	int32_t setter;        /* the thread of the client's process that makes changes by itself (WANT_SET), as
				  gettid(2): its changes are the client's own, of which no notice tells; 0: none */
};

struct broker_hello_reply {
	int32_t error;
	uint32_t reason;
	struct broker_attr root;   /* for comparison with the server's GETATTR of the same handle */
	char export_path[128];     /* for people: the export's path on the server's host, truncated */
	uint32_t server_remembers; /* 1 if the server answers GETATTR from a cache; the client must then tell the server
				when it has written to a file directly */
	uint32_t mounts;           /* the inode number of the sidecar's /proc/self/ns/mnt, or 0: a client that has
				another one leaves names to the sidecar (BROKER_SET_NAMES), as a mount point of the one may
				be a plain directory to the other */
};

enum broker_open_flags {
	BROKER_OPEN_WANT_ID = 1,    /* register a backing id if the rules allow an id */
	BROKER_OPEN_ATTR = 2,       /* attributes only, as GETATTR gives them to any credential */
	BROKER_OPEN_WANT_FD = 4,    /* send a descriptor; together with WANT_ID: if the kernel refuses the id */
	BROKER_OPEN_WANT_WRITE = 8, /* with WANT_FD: a descriptor for reading and writing, if the rules allow it */
	BROKER_OPEN_WANT_LOOK = 16, /* if the reply has no other descriptor: one with O_PATH, by which a client that the
				       sidecar trusts sees the file's attributes for as long as it has an id; or those
				       of a directory */
	BROKER_OPEN_WATCH = 32,     /* of a directory: notices begin before the attributes are read, which tell
				       BROKER_ATTR_NO_ACL */
	BROKER_OPEN_WANT_SET = 64, /* with WANT_LOOK, and a credential: attributes may be set by the descriptor, too, as
				      may_set of the reply tells */
};

struct broker_open {
	struct broker_fh fh;
	struct broker_cred cred;
	uint32_t flags; /* enum broker_open_flags */
};

struct broker_open_reply {
	int32_t error;      /* of the open: -ESTALE, -EACCES (the export is not for this peer)... */
	uint32_t reason;    /* of the error, or why the reply has no id */
	uint32_t access;    /* enum nfs_access (nfs_access.h): the bits that the server grants this credential; of a
				directory READ and LOOKUP alone, which it may grant also where they are not here */
	int32_t backing_id; /* > 0: an id, registered on the session's fuse descriptor; < 0: the number of the
				descriptor that travels with the reply, and an id for the requests below; 0: neither.
				With an id, or with 0, a descriptor that travels is that of WANT_LOOK. */
	uint32_t writable;  /* 1 if the id may be opened for writing, or the descriptor is O_RDWR instead of O_RDONLY */
	uint32_t root;      /* 1 if the credential is uid 0 after the squash, which may use reserved blocks */
	uint32_t any_groups; /* 1 if access does not depend on the credential's other groups */
	uint32_t watched;    /* BROKER_OPEN_ATTR, BROKER_OPEN_WATCH, and MAKE of a directory: 1 if the sidecar sends
				notices of its changes. BROKER_OPEN_ATTR of a directory that is not watched begins that,
				for later requests unless BROKER_OPEN_WATCH is set. */
	/*
	 * Which kinds of attributes (enum broker_set) the client may change by WANT_SET's descriptor, in place of
	 * SETATTR with BROKER_CHANGE_LAZY: for callers with the credential's uid and gid, as a thread with the
	 * filesystem ids set_uid and set_gid and no other groups. An error is no answer: then SETATTR gives the answer,
	 * as for all changes of files with set-id bits or without a name.
	 *
	 * The same with BROKER_SET_NAMES of a directory, as long as set_uid owns it: REMOVE, and RENAME inside it. With
	 * BROKER_SET_MKDIR also mkdir(2), by the thread of HELLO alone: while the directory is watched, notices of the
	 * new one are complete from its beginning.
	 */
	uint32_t may_set;
	uint32_t set_uid, set_gid;
	uint32_t owner; /* 1 if the credential is the file's owner after the squash */
	struct broker_attr attr;
};

/*
 * An id > 0: no open file uses the id any more, and the sidecar closes it on the session's fuse connection. The id may
 * be from an earlier session of the same mount, since all ids of the fuse connection belong to the mount. An id < 0:
 * the client has closed the descriptor of that number; -ENOENT for a number of another session. The error in the reply
 * is that of the last id that has one; the others are closed all the same.
 */
struct broker_release {
	uint32_t count;                          /* 1..BROKER_MAX_RELEASE */
	int32_t backing_ids[BROKER_MAX_RELEASE]; /* those past count are ignored */
};

/* fsync(2) of the file behind an id of this session; -ENOENT for an id of an earlier session. */
struct broker_commit {
	int32_t backing_id;
	uint32_t data_only; /* 1: fdatasync(2) */
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
	char name[256];    /* BROKER_MAX_NAME bytes at most, and a NUL; bytes past the NUL are zero */
	uint32_t asks_acl; /* 1: the reply tells BROKER_ATTR_NO_ACL of the directory */
};

/*
 * The error is 0 or -ENOENT, and then the reason is 0: that is the server's answer, too. Otherwise only the NFS server
 * can answer, as the reason says.
 */
struct broker_found {
	int32_t error;
	uint32_t reason;
	struct broker_fh fh;     /* byte for byte the server's handle of the file */
	uint32_t watched;        /* 1 if the sidecar sends notices of changes of the directory */
	struct broker_attr attr; /* of the file */
	struct broker_attr dir;  /* of the directory, from before the name was looked up */
};

/*
 * Which names a directory has, as one number: so a client can tell whether a listing by the NFS server is right. The
 * number is the sum, modulo 2^64, of siphash_of_pair() (table/keyed_hash.h) for each name but "." and "..": of the
 * fileid that the directory has for the name, and the name. The key is the client's secret: nobody can make names whose
 * numbers are chosen.
 */
struct broker_digest {
	struct broker_fh dir;
	struct broker_cred cred; /* which must have the right to read the directory */
	uint64_t key[2];
};

/* After any error the client knows nothing about the directory. -E2BIG: it has more than BROKER_MAX_DIGEST names. */
struct broker_digested {
	int32_t error;
	uint32_t reason;
	uint32_t watched; /* 1 if the sidecar sends notices of changes of the directory */
	uint32_t pad;
	uint64_t digest;
	struct broker_attr dir; /* of the directory, from before the names were read */
};

/* All names of a directory, as READDIR or READDIRPLUS gives them. */
struct broker_list {
	struct broker_fh dir;
	struct broker_cred cred; /* which must have the rights to read and to search the directory */
	uint32_t plus;           /* 1: with handles and attributes */
	uint32_t asks_acl;       /* 1: with plus, the attributes of files have BROKER_ATTR_NO_ACL */
};

/*
 * A reply without an error is the server's answer, too. After any error only the NFS server can answer; -E2BIG: the
 * directory has more names than a reply has room for.
 */
struct broker_listed {
	int32_t error;
	uint32_t reason;
	uint32_t watched;       /* 1 if the sidecar sends notices of changes of the directory */
	uint32_t count;         /* of the entries, which follow; with an error 0 */
	struct broker_attr dir; /* of the directory, from before the names were read */
};

/*
 * A name, "." and ".." included. Behind this struct come the bytes of the handle, those of the name, and 1 to 8 NULs,
 * up to a multiple of 8.
 */
struct broker_entry {
	uint64_t cookie; /* where the next entry begins, as telldir(3) */
	uint64_t fileid;
	struct broker_attr attr; /* with plus; of "." and ".." the mode tells the type alone */
	uint32_t fh_length;      /* 1..BROKER_MAX_FH with plus; 0 without it, and of "." and ".." */
	uint32_t name_length;    /* 1..BROKER_MAX_NAME */
};

/*
 * Changes of names and attributes. The sidecar does for the credential what the NFS server would do, and as stably:
 * where the server makes names stable before it answers, so does the sidecar, unless BROKER_CHANGE_LAZY is set.
 *
 * A reply with reason 0 is the server's answer, too, whether error is 0 or a negative errno. With another reason
 * nothing was changed, and only the NFS server can answer. A change for which the connection ends before its reply may
 * have been made; after the end of the connection none is made any more.
 */
enum broker_change_flags {
	BROKER_CHANGE_LAZY = 1,      /* the caller makes names stable by SYNC_DIR */
	BROKER_CHANGE_EXCLUSIVE = 2, /* MAKE of a regular file: -EEXIST if the name exists; else the server decides */
	BROKER_CHANGE_DIRECTORY = 4, /* REMOVE: a directory, as RMDIR */
};

/* CREATE, MKDIR and MKNOD, by the type in mode. A regular file is opened, too, as by OPEN for reading and writing. */
struct broker_make {
	struct broker_fh dir;
	struct broker_cred cred;
	uint32_t flags;      /* enum broker_change_flags */
	uint32_t open_flags; /* BROKER_OPEN_WANT_ flags, of a regular file */
	uint32_t mode;       /* st_mode: type and permissions; the client has applied its umask */
	uint32_t rdev_major; /* of a device */
	uint32_t rdev_minor;
	char name[256]; /* as in struct broker_lookup */
};

struct broker_symlink {
	struct broker_fh dir;
	struct broker_cred cred;
	uint32_t flags;
	char name[256];
	char target[512]; /* BROKER_MAX_TARGET bytes at most, and a NUL; bytes past the NUL are zero */
};

struct broker_remove {
	struct broker_fh dir;
	struct broker_cred cred;
	uint32_t flags;
	char name[256];
};

struct broker_rename {
	struct broker_fh dir;
	struct broker_fh dir2; /* the directory of name2 */
	struct broker_cred cred;
	uint32_t flags;
	char name[256];
	char name2[256]; /* the new name */
};

struct broker_link {
	struct broker_fh fh; /* the file */
	struct broker_fh dir;
	struct broker_cred cred;
	uint32_t flags;
	char name[256];
};

enum broker_set {
	BROKER_SET_MODE = 1,
	BROKER_SET_UID = 2,
	BROKER_SET_GID = 4,
	BROKER_SET_ATIME = 8,  /* to atime_sec and atime_nsec */
	BROKER_SET_MTIME = 16, /* to mtime_sec and mtime_nsec */
	BROKER_SET_ATIME_NOW = 32,
	BROKER_SET_MTIME_NOW = 64,
	/* No kinds of attributes, only of may_set: the names of a directory, and new directories in it. */
	BROKER_SET_NAMES = 128,
	BROKER_SET_MKDIR = 256,
};

struct broker_setattr {
	struct broker_fh fh;
	struct broker_cred cred;
	uint32_t flags; /* enum broker_change_flags */
	uint32_t set;   /* enum broker_set */
	uint32_t mode;  /* permissions */
	uint32_t uid;
	uint32_t gid;
	uint32_t atime_nsec, mtime_nsec;
	uint32_t pad;
	int64_t atime_sec, mtime_sec;
};

/* The part of a directory's attributes before a change by which the client knows its state; wcc_attr, RFC 1813 2.6. */
struct broker_version {
	uint64_t size;
	int64_t mtime_sec, ctime_sec;
	uint32_t mtime_nsec, ctime_nsec;
};

/* A directory around a change; wcc_data, RFC 1813 2.6. */
struct broker_wcc {
	uint32_t has_before;
	uint32_t has_after;
	struct broker_version before;
	struct broker_attr after;
};

struct broker_made {
	int32_t error;
	uint32_t reason;
	struct broker_fh fh; /* of the new file */
	uint32_t pad;
	struct broker_wcc dir;
	struct broker_open_reply open; /* as in the reply to OPEN, of the new file; also after an error, if the names
					are made but could not be made stable */
};

struct broker_changed {
	int32_t error;
	uint32_t reason;
	struct broker_fh fh; /* REMOVE, RENAME, with NFS-Ganesha: of a file that has lost a name and has others */
	uint32_t has_attr;
	struct broker_attr attr; /* LINK, SETATTR: of the file; REMOVE, RENAME: of that file */
	struct broker_wcc dir;   /* the directory of name; SETATTR: none */
	struct broker_wcc dir2;  /* RENAME: the directory of name2 */
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

/*
 * From the first PING of a session after HELLO on:
 *
 * A change in the server's filesystem, of an object whose handle this session was told: the directories and files in
 * replies to LOOKUP, the directories of DIGEST and LIST, and the objects of OPEN with BROKER_OPEN_ATTR. Notices are
 * complete from before the system calls of a reply with watched = 1, until BROKER_NOTICE_DOUBT; those of names, mode,
 * owner and ACL, that is, and not those of data. A reply that was requested before a notice arrived may be older than
 * the change.
 *
 * A notice carries a name only if some credential that this client may claim may read the directory now. The same holds
 * for notices of mode, owner and ACL of the files in such a directory whose handles were not told: the client may know
 * them from a listing.
 */
enum broker_notice_kind {
	BROKER_NOTICE_DOUBT = 1,     /* notices were lost: any object may have changed, and none is watched any more */
	BROKER_NOTICE_NAME = 2,      /* the name in the directory fh */
	BROKER_NOTICE_DIRECTORY = 3, /* some name in the directory fh */
	BROKER_NOTICE_ATTR = 4,      /* the attributes of fh */
};

/* Of a name, after the change. */
enum broker_name_state {
	BROKER_NAME_UNKNOWN = 0,
	BROKER_NAME_ABSENT = 1,
	BROKER_NAME_PRESENT = 2, /* the file of the handle child */
};

struct broker_notice {
	uint32_t kind;                 /* enum broker_notice_kind */
	uint32_t state;                /* enum broker_name_state */
	uint64_t number;               /* of the notice in this session, from 1 */
	struct broker_version version; /* of fh when the notice was sent */
	uint32_t has_version;
	struct broker_fh fh;
	struct broker_fh child;
	uint32_t pad;
	char name[256];
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
BROKER_ASSERT(broker_hello, 140);
BROKER_ASSERT(broker_hello_reply, 232);
BROKER_ASSERT(broker_open, 212);
BROKER_ASSERT(broker_open_reply, 136);
BROKER_ASSERT(broker_release, 128);
BROKER_ASSERT(broker_commit, 8);
BROKER_ASSERT(broker_range, 24);
BROKER_ASSERT(broker_copy, 32);
BROKER_ASSERT(broker_amount, 16);
BROKER_ASSERT(broker_truncate, 216);
BROKER_ASSERT(broker_truncated, 96);
BROKER_ASSERT(broker_revoke, 8);
BROKER_ASSERT(broker_sync_dir, 208);
BROKER_ASSERT(broker_lookup, 468);
BROKER_ASSERT(broker_found, 320);
BROKER_ASSERT(broker_digest, 224);
BROKER_ASSERT(broker_digested, 112);
BROKER_ASSERT(broker_list, 216);
BROKER_ASSERT(broker_listed, 104);
BROKER_ASSERT(broker_entry, 112);
BROKER_ASSERT(broker_make, 484);
BROKER_ASSERT(broker_symlink, 980);
BROKER_ASSERT(broker_remove, 468);
BROKER_ASSERT(broker_rename, 856);
BROKER_ASSERT(broker_link, 600);
BROKER_ASSERT(broker_setattr, 256);
BROKER_ASSERT(broker_version, 32);
BROKER_ASSERT(broker_wcc, 128);
BROKER_ASSERT(broker_made, 408);
BROKER_ASSERT(broker_changed, 488);
BROKER_ASSERT(broker_notice, 576);
#undef BROKER_ASSERT
