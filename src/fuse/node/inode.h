/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The inode: one file of this mount that the kernel knows. An inode is a set of plain values; the header of each value
 * says what the value means and which code changes it.
 *
 * The table (inode_table.h) makes and frees inodes, and the table's lock guards the hash and the lookup count. The
 * inode's own lock guards the other members, except where a comment names another lock. A thread that needs both locks
 * takes the inode's lock first.
 */
#pragma once

#include <stdatomic.h>
#include <sys/stat.h>

#include "table/hash_table.h"
#include "table/number_set.h"
#include "fuse/node/attr_memory.h"
#include "fuse/node/named.h"
#include "fuse/node/open_mode.h"
#include "fuse/writes/write_behind.h"
#include "io/server.h"

struct granted_file;
struct backing_sync;

/* True if the kernel opens files of this type without asking the daemon. */
static inline bool is_special_file(mode_t mode)
{
	return !S_ISREG(mode) && !S_ISDIR(mode) && !S_ISLNK(mode);
}

/* The names that a directory may have in one epoch, which this mount has made: other names it has not. */
struct known_whole {
	uint64_t epoch;
	struct number_set names; /* keyed hashes */
};

/* Knowledge that needs no question to the server. Only the functions of fuse/known/known.h change it. */
struct known {
	unsigned changing; /* changes by this mount that the server has not answered yet */
	unsigned writers;  /* opens for writing: with any, nobody knows the file's size and times */
	uint64_t changed;  /* attr_clock() when the last change was answered */
	uint64_t doubted;  /* attr_clock() when the knowledge last became doubtful */
	uint64_t asked;    /* attr_clock() when the request for the remembered attributes was sent */
	uint64_t epoch;    /* of a directory: number of its present epoch (known.h) */
	uint64_t
		expired; /* attr_clock(): attributes requested earlier get the timeout 0 when the kernel is told them */
	uint64_t openers; /* of a file: advances when the set of users who may open the file may have changed */
	uint64_t lease;   /* of a directory: the lease (fs.leased) in which notices of its changes come; 0: none */
	bool no_acl : 1;  /* it has no ACL in this epoch */
	bool owner_searches : 1; /* of a directory in a mount for one user (fs.one_user), its owner: may search it in
				    this epoch */
	bool born : 1;           /* of a directory: lease is one of fs.born, as no answer has said that it is watched */
	bool asks_acl : 1;       /* the server should be asked for the directory's ACL: known_asks_acl() */
	bool mixed : 1;          /* the kernel was told different attributes meanwhile, and may believe any of them */
	bool company_noticed : 1; /* a notice told of that change; else notices have begun within that time */
	uint8_t foreign;          /* of a directory: changes by others since foreign_ms, up to UINT8_MAX */
	unsigned walks;       /* names looked for in the directory in this epoch, or since an ACL answer was dropped */
	uint64_t believed_ms; /* until then the kernel may walk through the directory without asking */
	uint64_t believed_at; /* attr_clock() when the kernel was last told so */
	uint64_t unrest_ms;   /* until then the kernel is not told so, since others change the directory much */
	uint64_t foreign_ms;  /* now_ms() of a change by others, the first in KNOWN_UNREST_MS */
	uint64_t company_ms;  /* until then the NFS server may still be about a change by others */
	uint64_t named_ms;    /* until then the kernel may believe a name of this file without asking */
	uint64_t tellings;    /* how often the kernel was told attributes with a timeout */
	uint64_t trusts_ms;   /* until then the kernel may believe those attributes; 0: they were taken back */
	struct known_whole *whole; /* of a directory that is known whole; or NULL */
};

/* The remembered facts of a directory's default ACL; default_acl.h. */
struct default_acl {
	uint64_t until;   /* ms: from then on the server is asked again; 0: nothing is remembered */
	uint32_t version; /* counts how often the facts were forgotten */
	uint16_t mode;    /* the mode that the ACL allows */
	bool there;
};

/* The place of a file under its .nfs name, and whose credential removes it. Apart, as few inodes have a .nfs name. */
struct silly_place {
	struct nfs_fh dir;
	struct nfs_cred cred;
	char name[32];
};

/*
 * An open file or directory of the kernel, as part of the object behind it. When a mount ends, the last RELEASE
 * requests may not arrive: then the end of the inode frees these objects.
 */
struct opened {
	struct list node;
	void (*free)(struct opened *o);
	uint64_t number; /* of fs.opened */
};

struct inode {
	/* Constant. */
	struct nfs_fh fh;
	uint32_t type;       /* S_IFMT bits */
	uint64_t number;     /* the FUSE node id; given to another inode when this inode is freed */
	uint64_t generation; /* unlike that of any other inode of this mount */
	uint64_t fileid;
	uint32_t decoy_uid; /* the only user who gets this decoy */
	bool decoy;

	/* Under the inode's lock; here they take no room. */
	bool appending;
	bool listed;           /* in the list of idle inodes, or just taken from there; that list's lock guards it */
	uint8_t listing_parts; /* enum listing_parts: what the kernel's listing of the directory was made from */

	/* Under the table's lock. */
	struct list all;
	struct hash_node by_handle; /* in the table's hash while hashed is set */
	uint64_t lookups;
	bool hashed;

	atomic_uint refs;

	/* Under the inode's lock. */
	pthread_mutex_t lock;
	struct open_mode mode;
	struct backing_sync *syncing; /* NULL: no fsync of the backing file is under way */
	/* granted_file_changed() counts local changes in the first; those up to the second are stable. */
	uint32_t written_locally, synced_locally;
	/*
	 * server_refresh.h: counts changes past the server; up to which of them the server was asked to look at the
	 * file, and has looked.
	 */
	uint32_t changed_past, asked_past, looked_past;
	unsigned opening;             /* OPEN requests in progress */
	struct granted_file *granted; /* the descriptor by which the daemon reads and writes the backing file, or NULL;
					changes need the list's lock too */
	struct granted_file *looks;   /* a descriptor that tells the attributes of the backing file or directory only,
					 or NULL; that of a file goes with the backing id */
	struct attr_memory attrs;
	struct known known;
	struct named named;
	struct default_acl default_acl;
	uint64_t listing;         /* known_state() of the kernel's listing; fuse/listings/listing.h */
	struct list granted_node; /* in a list of idle_ids.h while granted is not NULL */
	struct list idle;         /* in the list of idle inodes in idle_ids.h; only that list's lock guards it */
	uint64_t listed_ms;       /* now_ms() when the inode came into that list; the list's lock guards it */
	uint64_t idle_since;      /* now_ms() when its id or descriptor became idle, or a directory's looker was used
				     last; 0: none is idle */
	struct write_behind behind;
	struct list appends;       /* O_APPEND writes that wait for their turn */
	struct silly_place *silly; /* NULL: the file has no .nfs name */
	unsigned taking;           /* requests in progress that rename the file to a .nfs name */
	unsigned removing;         /* requests in progress that take a name from the file */
	struct list held;          /* OPENs that wait until removing is 0: struct open_hold.node */
	struct list opened;        /* struct opened.node */

	struct write_log writes; /* has a lock of its own */
};
