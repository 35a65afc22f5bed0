/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * The inode: one file that the kernel knows of this mount. It is a set of plain values; the header of each says what it
 * means, and who else may touch it.
 *
 * The table (inode_table.h) makes and frees inodes, and its lock guards the hash and the lookup count. The inode's own
 * lock guards the rest. Whoever takes both takes the inode's lock first.
 */
#pragma once

#include <stdatomic.h>
#include <sys/stat.h>

#include "table/hash_table.h"
#include "fuse/node/attr_memory.h"
#include "fuse/node/named.h"
#include "fuse/node/open_mode.h"
#include "fuse/writes/write_behind.h"
#include "io/server.h"

struct granted_file;
struct backing_sync;

/* True if the kernel asks nobody when it opens a file of this type. */
static inline bool is_special_file(mode_t mode)
{
	return !S_ISREG(mode) && !S_ISDIR(mode) && !S_ISLNK(mode);
}

/* What is known without asking the server. The functions of fuse/known/known.h own it. */
struct known {
	unsigned changing;    /* changes of ours that are not answered */
	unsigned writers;     /* opens for writing: size and times are anybody's guess */
	uint64_t changed;     /* attr_clock() when the last change was answered */
	uint64_t doubted;     /* attr_clock() when what was known was so no more */
	uint64_t asked;       /* attr_clock() when the attributes that are kept were asked for */
	uint64_t epoch;       /* of a directory */
	uint64_t expired;     /* attr_clock(): what was asked for earlier may be told, and not believed */
	uint64_t openers;     /* of a file: goes on when who may open it may have changed */
	bool no_acl;          /* in this epoch */
	bool asks_acl;        /* somebody should ask: known_asks_acl() */
	unsigned walks;       /* in this epoch, or since an answer was dropped: names looked for */
	uint64_t believed_ms; /* until then the kernel walks through it, or may */
	uint64_t named_ms;    /* until then it believes a name of it, or may */
	uint64_t tellings;    /* how often it was told attributes to believe */
	uint64_t trusts_ms;   /* until then it does, or may; 0 when they were taken back since */
	bool mixed;           /* it was told different attributes in that time, and may believe any of them */
};

/* What is known of a directory's default ACL; default_acl.h. */
struct default_acl {
	bool there;
	uint32_t mode;    /* that it allows */
	uint64_t until;   /* ms: when it is to be asked for again; 0: it is not known */
	uint64_t version; /* counts how often it was forgotten */
};

/* Where a file lies under its .nfs name, and who removes it. Few files have one, and inodes are many. */
struct silly_place {
	struct nfs_fh dir;
	struct nfs_cred cred;
	char name[32];
};

/*
 * What the kernel has open. A mount that ends may take its last releases along: then the inode's end is
 * theirs.
 */
struct opened {
	struct list node;
	void (*free)(struct opened *o);
	uint64_t number; /* of fs.opened */
};

struct inode {
	/* Constant. */
	struct nfs_fh fh;
	uint64_t number;     /* the FUSE node id; given to another inode when this inode is freed */
	uint64_t generation; /* unlike that of any other inode of this mount */
	uint64_t fileid;
	uint32_t type; /* S_IFMT bits */
	bool decoy;
	uint32_t decoy_uid; /* whose it is */

	/* Under the table's lock. */
	struct list all;
	struct hash_node by_handle; /* in the table while hashed is set */
	uint64_t lookups;
	bool hashed;

	atomic_uint refs;

	/* Under the inode's lock. */
	pthread_mutex_t lock;
	struct open_mode mode;
	struct backing_sync *syncing;             /* NULL: none is under way */
	uint32_t written_locally, synced_locally; /* granted_file_changed(): how often; up to which all is stable */
	/* server_refresh.h: how often past the server; up to which it was asked to look, and has looked. */
	uint32_t changed_past, asked_past, looked_past;
	struct granted_file *granted; /* NULL, or what the daemon reads and writes the file by; to change it also the
					lock of its list */
	struct attr_memory attrs;
	struct known known;
	struct named named;
	struct default_acl default_acl;
	struct list granted_node; /* in a list of idle_ids.h while granted is not NULL */
	struct list idle;         /* in a list of idle_ids.h; that list's lock alone */
	uint64_t listed_ms;       /* since then; the same */
	bool listed;              /* it is there, or somebody has it from there */
	uint64_t idle_since;      /* ms; 0: nothing of it is idle */
	struct write_behind behind;
	struct list appends; /* O_APPEND writes that wait for their turn */
	bool appending;
	struct silly_place *silly; /* NULL: the file has no .nfs name */
	unsigned opening;          /* OPENs on their way */
	unsigned taking;           /* requests on their way that give it a .nfs name */
	unsigned removing;         /* requests on their way that take a name from it */
	struct list held;          /* OPENs that wait for those: struct open_hold.node */
	struct list opened;        /* struct opened.node */

	struct write_log writes; /* has a lock of its own */
};
